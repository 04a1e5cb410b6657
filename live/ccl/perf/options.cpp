#include "live/ccl/perf/options.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <limits>
#include <span>
#include <string_view>

#include <CLI/CLI.hpp>

namespace cnuas::live::perf {
namespace {

constexpr std::size_t kMostOwnSwitches = 2;  // a switch has one link to another
constexpr int kMostThreads = 64;
constexpr int kMostCycles = 1'000;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 32;
constexpr std::uint64_t kMostRows = 10'000;

constexpr const char* kFooter =
    "Sizes are bytes or have a unit of 1024 (8, 64K, 16M, 1G).\n"
    "Examples:\n"
    "  cnuasccl-perf all_reduce --ranks 4 -b 8 -e 16M -f 4 -d float -o sum -J out.json\n"
    "  cnuasccl-perf all_gather --ranks 2 -b 1M -e 1M --run-dir /tmp/rack1\n"
    "  cnuasccl-perf all --ranks 8 -b 64K -e 64K --transport inproc\n"
    "Exit codes: 0 well, 1 wrong data, 2 usage, 4 input or output (a rank or the switch failed), 70 internal "
    "error.";

template <class T>
struct Named {
  const char* name;
  T value;
};

constexpr Named<cnuasccl_collective_t> kCollectives[] = {
    {"all_reduce", CNUASCCL_ALL_REDUCE}, {"broadcast", CNUASCCL_BROADCAST},
    {"all_gather", CNUASCCL_ALL_GATHER}, {"reduce_scatter", CNUASCCL_REDUCE_SCATTER},
    {"all_to_all", CNUASCCL_ALL_TO_ALL}, {"alltoall", CNUASCCL_ALL_TO_ALL},
};
constexpr Named<cnuasccl_type_t> kTypes[] = {
    {"int8", CNUASCCL_INT8},       {"uint8", CNUASCCL_UINT8},    {"int32", CNUASCCL_INT32},
    {"uint32", CNUASCCL_UINT32},   {"int64", CNUASCCL_INT64},    {"uint64", CNUASCCL_UINT64},
    {"float", CNUASCCL_FLOAT32},   {"double", CNUASCCL_FLOAT64}, {"float32", CNUASCCL_FLOAT32},
    {"float64", CNUASCCL_FLOAT64},
};
constexpr Named<cnuasccl_op_t> kOperators[] = {
    {"sum", CNUASCCL_SUM}, {"prod", CNUASCCL_PRODUCT},    {"min", CNUASCCL_MIN},
    {"max", CNUASCCL_MAX}, {"product", CNUASCCL_PRODUCT},
};

template <class T, std::size_t N>
const char* name_in(const Named<T> (&table)[N], T value) {
  for (const Named<T>& each : table)
    if (each.value == value) return each.name;
  return "?";
}

// The values that a word stands for; "all" is every one once. Empty: none.
template <class T, std::size_t N>
std::vector<T> values_in(const Named<T> (&table)[N], std::string_view word) {
  std::vector<T> values;
  for (const Named<T>& each : table) {
    if (word != "all" && word != each.name) continue;
    if (std::find(values.begin(), values.end(), each.value) == values.end()) values.push_back(each.value);
  }
  return values;
}

template <class T, std::size_t N>
std::vector<std::string> words_of(const Named<T> (&table)[N]) {
  std::vector<std::string> words;
  for (const Named<T>& each : table)
    words.emplace_back(each.name);
  words.emplace_back("all");
  return words;
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  for (const std::string_view tail : {"iB", "B"})
    if (unit.size() > tail.size() && unit.ends_with(tail)) unit.remove_suffix(tail.size());
  unsigned shift = 0;
  if (unit == "K" || unit == "k") {
    shift = 10;
  } else if (unit == "M" || unit == "m") {
    shift = 20;
  } else if (unit == "G" || unit == "g") {
    shift = 30;
  } else if (!unit.empty() && unit != "B") {
    return std::nullopt;
  }
  if (value > std::numeric_limits<std::uint64_t>::max() >> shift) return std::nullopt;
  return value << shift;
}

void add_size(CLI::App& app, const std::string& names, std::uint64_t& out, const std::string& about) {
  app.add_option_function<std::string>(
         names,
         [&out, names](const std::string& text) {
           const std::optional<std::uint64_t> size = parse_size(text);
           if (!size || *size > kMostBytes)
             throw CLI::ValidationError(names, "'" + text + "' is no size from 0 to 4G");
           out = *size;
         },
         about)
      ->type_name("SIZE");
}

std::optional<cnuasccl_algorithm_t> parse_algorithm(const std::string& text) {
  if (text == "auto") return CNUASCCL_AUTO;
  for (int number = CNUASCCL_RING; number <= CNUASCCL_BRUCK; ++number) {
    const auto algorithm = static_cast<cnuasccl_algorithm_t>(number);
    if (text == cnuasccl_algorithm_name(algorithm)) return algorithm;
  }
  return std::nullopt;
}

void add_algorithm(CLI::App& app, Options& options) {
  std::string names = "auto";
  for (int number = CNUASCCL_RING; number <= CNUASCCL_BRUCK; ++number)
    names += std::string(", ") + cnuasccl_algorithm_name(static_cast<cnuasccl_algorithm_t>(number));
  app.add_option_function<std::string>(
         "--algorithm",
         [&options, names](const std::string& text) {
           const auto algorithm = parse_algorithm(text);
           if (!algorithm)
             throw CLI::ValidationError("--algorithm", "there is no '" + text + "'; there are " + names);
           options.algorithm = *algorithm;
         },
         "Algorithm of all that have it: " + names)
      ->type_name("NAME");
}

// What no single option can know. Empty: all is well.
std::string check_together(const Options& options) {
  if (options.transport == Transport::socket) {
    const std::size_t switches = options.run_dirs.empty() ? kMostOwnSwitches : options.run_dirs.size();
    if (options.racks() > switches)
      return "--ranks: " +
             std::string(switches == 1 ? "a switch has" : std::to_string(switches) + " switches have") +
             " ports for " + std::to_string(switches * options.ports_a_switch()) +
             " ranks; --transport inproc has up to " + std::to_string(kMostThreads);
  } else if (!options.run_dirs.empty()) {
    return "--run-dir: only --transport socket has a switch";
  }
  if (options.run_dirs.size() != 1 && options.rack != 0) return "--rack: is for the one switch at --run-dir";
  if (options.least_bytes > options.most_bytes) return "-b is more than -e";
  if (options.step_factor < 2 && options.step_bytes == 0 && options.least_bytes < options.most_bytes)
    return "-i: a step of 0 never gets from -b to -e";
  if (options.step_factor < 2 && options.step_bytes > 0 &&
      (options.most_bytes - options.least_bytes) / options.step_bytes > kMostRows)
    return "-i: that makes more than " + std::to_string(kMostRows) + " sizes";
  if (options.step_factor >= 2 && options.least_bytes == 0) return "-f: 0 bytes times a factor stay 0";
  for (const int root : options.roots)
    if (root >= options.ranks) return "-r: there is no rank " + std::to_string(root);
  return {};
}

struct Words {
  std::string collective;
  std::string type = "float";
  std::string op = "sum";
  std::string root = "0";
  std::string transport = "socket";
  std::optional<int> threads;
  std::optional<int> gpus;
  int average = 1;
  double timeout_s = 60;
};

void add_sizes_and_counts(CLI::App& app, Options& options, Words& words) {
  CLI::Option* ranks =
      app.add_option("--ranks", options.ranks, "Ranks, each a process with --transport socket")
          ->check(CLI::Range(1, kMostThreads))
          ->capture_default_str();
  app.add_option("-t,--nthreads", words.threads, "Ranks are -t times -g")
      ->check(CLI::Range(1, kMostThreads))
      ->excludes(ranks);
  app.add_option("-g,--ngpus", words.gpus, "As -t: with nccl-tests, GPUs a thread")
      ->check(CLI::Range(1, kMostThreads))
      ->excludes(ranks);
  add_size(app, "-b,--minbytes", options.least_bytes, "Smallest size (32M)");
  add_size(app, "-e,--maxbytes", options.most_bytes, "Largest size (32M)");
  add_size(app, "-i,--stepbytes", options.step_bytes, "From one size to the next (1M)");
  app.add_option("-f,--stepfactor", options.step_factor, "Factor from one size to the next, instead of -i")
      ->check(CLI::Range(std::uint64_t{1}, kMostBytes));
  app.add_option("-n,--iters", options.iterations, "Measured calls a size")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_option("-w,--warmup_iters", options.warm_up, "Calls before them")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  app.add_option("-N,--run_cycles", options.cycles, "Everything so many times")
      ->check(CLI::Range(1, kMostCycles))
      ->capture_default_str();
  app.add_option("-c,--check", options.checks,
                 "Calls of which every rank's results are compared with the serial fold; 0: none")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  app.add_option("-a,--average", words.average,
                 "Time shown: 0 of rank 0, 1 mean, 2 least, 3 most of all ranks")
      ->check(CLI::Range(0, 3))
      ->capture_default_str();
}

void add_what(CLI::App& app, Words& words) {
  app.add_option("collective", words.collective, "Which collective, or all")
      ->required()
      ->check(CLI::IsMember(words_of(kCollectives)));
  app.add_option("-d,--datatype", words.type, "Element type, or all")
      ->check(CLI::IsMember(words_of(kTypes)))
      ->capture_default_str();
  app.add_option("-o,--op", words.op, "Operator of reductions, or all")
      ->check(CLI::IsMember(words_of(kOperators)))
      ->capture_default_str();
  app.add_option("-r,--root", words.root, "Root of broadcasts, or all")->capture_default_str();
}

void add_how(CLI::App& app, Options& options, Words& words) {
  app.add_option("-J,--json,--output_file", options.json, "File for the results as JSON");
  app.add_option("--transport", words.transport,
                 "socket: processes over a switch; inproc: threads of one process; shm: not in this version")
      ->check(CLI::IsMember({"socket", "shm", "inproc"}))
      ->capture_default_str();
  add_algorithm(app, options);
  app.add_flag("--any-order", options.any_order, "Allow algorithms that do not fold in rank order");
  app.add_option(
         "--checksum", options.checksum,
         "1: chunks carry a CRC-32C; 0: they do not; -1: where the transport may change bytes: not here")
      ->check(CLI::Range(-1, 1))
      ->capture_default_str();
  app.add_option(
         "--run-dir", options.run_dirs,
         "Directory of a switch that runs, or of several that are linked, whose ports ranks fill one after "
         "the other. Otherwise one is started, or two for more than 8 ranks")
      ->allow_extra_args(false);
  app.add_option("--first-port", options.first_port,
                 "The first rank's port at a switch; the others have the next")
      ->check(CLI::Range(0u, 7u))
      ->capture_default_str();
  app.add_option("--rack", options.rack,
                 "Ranks are GPUs RACK/PORT, where the switch expects nobody in particular")
      ->check(CLI::Range(1u, 254u));
  app.add_option("-T,--timeout", words.timeout_s, "Seconds without progress after which a rank gives up")
      ->check(CLI::Range(0.001, 86400.0))
      ->capture_default_str();
  app.add_option("--flight", options.flight, "Folder for the ranks' flight recorders, rank_R.json");
}

// What nccl-tests has for GPUs: commands that set it work, and are told that it makes no difference.
void add_without_meaning(CLI::App& app) {
  for (const char* names : {"-m,--agg_iters", "-z,--blocking", "-G,--cudagraph", "-C,--report_cputime",
                            "-p,--parallel_init", "-R,--local_register"}) {
    app.add_option_function<int>(
           names,
           [names](const int&) {
             std::fprintf(stderr,
                          "note: %s has no meaning here; calls block, and are made one after the other\n",
                          names);
           },
           "No meaning here")
        ->group("");
  }
}

// Empty: all is well.
std::string take(const Words& words, Options& options) {
  if (words.transport == "shm") return "--transport shm: not available in this version; use socket or inproc";
  if (words.threads || words.gpus) options.ranks = words.threads.value_or(1) * words.gpus.value_or(1);
  if (options.ranks > kMostThreads)
    return "-t, -g: that makes " + std::to_string(options.ranks) + " ranks; there may be " +
           std::to_string(kMostThreads);
  options.transport = words.transport == "socket" ? Transport::socket : Transport::inproc;
  options.collectives = values_in(kCollectives, words.collective);
  options.types = values_in(kTypes, words.type);
  options.operators = values_in(kOperators, words.op);
  options.average = static_cast<Average>(words.average);
  options.timeout_ns = static_cast<std::int64_t>(words.timeout_s * 1e9);
  if (words.root == "all") {
    for (int root = 0; root < options.ranks; ++root)
      options.roots.push_back(root);
  } else {
    const std::optional<std::uint64_t> root = parse_size(words.root);
    if (!root || *root > kMostThreads) return "-r: '" + words.root + "' is no rank";
    options.roots.push_back(static_cast<int>(*root));
  }
  return check_together(options);
}

}  // namespace

std::optional<Options> parse_options(int argc, char** argv, int& status) {
  Options options;
  Words words;
  CLI::App app("Times collectives and checks their results, one process a rank over a CnuasLink switch",
               "cnuasccl-perf");
  app.set_version_flag("--version", std::string("cnuasccl-perf ") + cnuasccl_version());
  app.footer(kFooter);
  add_what(app, words);
  add_sizes_and_counts(app, options, words);
  add_how(app, options, words);
  add_without_meaning(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    status = app.exit(error) == 0 ? kSuccess : kUsage;
    return std::nullopt;
  }
  if (const std::string wrong = take(words, options); !wrong.empty()) {
    std::fprintf(stderr, "error: %s\n", wrong.c_str());
    status = kUsage;
    return std::nullopt;
  }
  return options;
}

const char* name_of(cnuasccl_collective_t collective) {
  return name_in(kCollectives, collective);
}
const char* name_of(cnuasccl_type_t type) {
  return name_in(kTypes, type);
}
const char* name_of(cnuasccl_op_t op) {
  return name_in(kOperators, op);
}
const char* name_of(Transport transport) {
  return transport == Transport::socket ? "socket" : "inproc";
}

}  // namespace cnuas::live::perf
