#include "live/endpoint/main/options.h"

#include "core/wire/frame.h"
#include "live/endpoint/cnuaslink.h"
#include "scenarios/units.h"

#include <cstdio>
#include <string_view>

#include <CLI/CLI.hpp>

namespace cnuas::live::endpoint {

namespace {

constexpr const char* kExamples =
    "cnuas-endpoint is one GPU at a port of a switch.\n\n"
    "  cnuas-endpoint echo --run-dir /tmp/rack1 --port 1             answers every message\n"
    "  cnuas-endpoint ping --run-dir /tmp/rack1 --to 1/1 --count 1000   how long an answer takes\n"
    "  cnuas-endpoint blast --run-dir /tmp/rack1 --to 1/1 --bytes 4KiB --seconds 5\n\n"
    "cnuas-endpoint --help lists all modes.\n";

constexpr const char* kFooter =
    "Sizes are bytes or have a unit (64, 4KiB); times have a unit (10ms, 2s); a GPU is rack/slot (1/3) or "
    "0x0103.\n"
    "SIGINT and SIGTERM end it with its summary.\n"
    "Exit codes: 0 well, 1 a check failed, 2 usage, 4 input or output, 70 internal error.";

bool all_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// CLI11 shows what a validator returns; empty means well.
std::string read_quantity(const std::string& text, scenarios::Quantity quantity, std::int64_t& out) {
  const auto value = scenarios::parse_quantity(text, quantity);
  if (!value)
    return value.error().message + (value.error().help.empty() ? "" : " (" + value.error().help + ")");
  out = *value;
  return {};
}

std::string read_size(const std::string& text, std::size_t& out) {
  std::int64_t bytes = 0;
  const std::string with_unit = all_digits(text) ? text + " B" : text;
  if (std::string wrong = read_quantity(with_unit, scenarios::Quantity::size, bytes); !wrong.empty())
    return wrong;
  if (bytes < 0 || static_cast<std::size_t>(bytes) > wire::kMaxPayloadBytes)
    return text + " is more than the " + std::to_string(wire::kMaxPayloadBytes) +
           " bytes of payload that a frame may carry";
  out = static_cast<std::size_t>(bytes);
  return {};
}

void add_time(CLI::App& app, const std::string& name, Picoseconds& out, const std::string& about) {
  app.add_option_function<std::string>(
         name,
         [&out, name](const std::string& text) {
           if (const std::string wrong = read_quantity(text, scenarios::Quantity::time, out); !wrong.empty())
             throw CLI::ValidationError(name, wrong);
         },
         about)
      ->type_name("TIME");
}

void add_gpu(CLI::App& app, const std::string& name, GpuId& out, bool all, const std::string& about) {
  app.add_option_function<std::string>(
         name,
         [&out, name, all](const std::string& text) {
           if (all && text == "all") {
             out = kBroadcast;
             return;
           }
           const Result<GpuId> id = parse_gpu_id(text);
           if (!id) throw CLI::ValidationError(name, id.error().message);
           out = *id;
         },
         about)
      ->type_name("GPU");
}

void add_sizes(CLI::App& app, Options& options, const std::string& about) {
  app.add_option_function<std::vector<std::string>>(
         "--bytes",
         [&options](const std::vector<std::string>& texts) {
           options.bytes.clear();
           for (const std::string& text : texts) {
             std::size_t bytes = 0;
             if (const std::string wrong = read_size(text, bytes); !wrong.empty())
               throw CLI::ValidationError("--bytes", wrong);
             options.bytes.push_back(bytes);
           }
         },
         about)
      ->type_name("SIZE")
      ->delimiter(',');
}

void add_limits(CLI::App& app, Options& options) {
  app.add_option("--count", options.count, "Ends after so many messages");
  app.add_option_function<double>(
         "--seconds",
         [&options](double seconds) {
           options.duration_ps = static_cast<Picoseconds>(seconds * static_cast<double>(kSecond));
         },
         "Ends after so long")
      ->check(CLI::Range(0.001, 86400.0));
}

void add_link_options(CLI::App& app, Options& options) {
  app.add_option("--run-dir", options.run_dir, "Run directory of the switch")->capture_default_str();
  app.add_option("--port", options.port, "Port of the switch")
      ->check(CLI::Range(0u, 1023u))
      ->capture_default_str();
  app.add_option("--socket", options.socket_path,
                 "Path of the port's socket, instead of --run-dir and --port");
  add_gpu(app, "--gpu", options.gpu, false,
          "Which GPU it is (default: the one that the switch expects at the port, else 1/PORT)");
  app.add_flag("--little-endian", options.little_endian, "Sends little-endian headers");
  app.add_flag("--reconnect", options.reconnect, "Waits for the switch to come back when it has gone");
  app.add_flag("--silent", options.silent, "Does not announce itself");
  add_time(app, "--wait", options.wait_ps,
           "How long to wait for the GPU of --to to be there, before the first message (default: 5s)");
  app.add_flag("--json", options.json, "Prints the summary as JSON");
  app.add_flag("--quiet", options.quiet, "Shows no progress");
}

void add_modes(CLI::App& app, Options& options) {
  const auto mode = [&](const char* name, Mode value, const char* about) {
    CLI::App* sub = app.add_subcommand(name, about);
    sub->fallthrough();
    sub->callback([&options, value] { options.mode = value; });
    add_limits(*sub, options);
    return sub;
  };
  mode("echo", Mode::echo, "Sends every message back to where it came from");

  CLI::App* blast = mode("blast", Mode::blast, "Sends messages, as fast as it goes or at a rate");
  add_gpu(*blast, "--to", options.to, true, "Receiver, or all");
  blast->get_option("--to")->required();
  add_sizes(*blast, options, "Payload, or several that take turns, separated by commas (default: 64)");
  blast->add_option("--rate", options.rate_per_s, "Messages a second (default: no limit)")
      ->check(CLI::Range(0.001, 1e9));
  blast->add_option("--batch", options.batch, "Messages that are handed to the kernel at a time")
      ->check(CLI::Range(1u, 256u))
      ->capture_default_str();

  CLI::App* sink = mode("sink", Mode::sink, "Receives and counts");
  add_time(*sink, "--idle", options.idle_ps, "Ends when nothing has come for so long");

  CLI::App* pattern = mode("pattern", Mode::pattern,
                           "Sends numbered messages of known bytes (--to), or checks them (--verify)");
  add_gpu(*pattern, "--to", options.to, true, "Receiver, or all");
  CLI::Option* verify = pattern->add_flag(
      "--verify", options.verify, "Receives, and reports what is lost, doubled, out of order or changed");
  verify->excludes(pattern->get_option("--to"));
  add_gpu(*pattern, "--from", options.from, false,
          "Checks what this GPU sends (default: the first that does)");
  add_sizes(*pattern, options, "Payload, at least 32, or several that take turns (default: 64,1500,60000)");
  add_time(*pattern, "--idle", options.idle_ps, "Ends the check when nothing has come for so long");

  CLI::App* one_slot =
      mode("one-slot", Mode::one_slot,
           "Has room for one message, as the QEMU device has: reads none until it has held one for a while");
  add_time(*one_slot, "--hold", options.hold_ps, "How long it holds each (default: 10ms)");

  CLI::App* ping = mode("ping", Mode::ping, "Measures how long a message and its echo take");
  add_gpu(*ping, "--to", options.to, false, "GPU that runs echo");
  ping->get_option("--to")->required();
  add_sizes(*ping, options, "Payload, or several that take turns (default: 64)");
  add_time(*ping, "--interval", options.interval_ps, "Between messages (default: none)");
  add_time(*ping, "--timeout", options.reply_timeout_ps, "After which an echo counts as lost (default: 1s)");
}

// kNoGpu: the switch does not say.
GpuId expected_gpu(const Options& options) {
  constexpr std::int64_t kPatienceNs = 1'000'000'000;
  std::uint16_t gpu = 0;
  if (options.socket_path.empty())
    cnuaslink_expected_gpu(options.run_dir.c_str(), options.port, &gpu, kPatienceNs);
  return GpuId{gpu};
}

// Defaults that depend on the mode; a text when something does not go together.
std::string complete(Options& options) {
  if (options.gpu == kNoGpu) options.gpu = expected_gpu(options);
  if (options.gpu == kNoGpu) options.gpu = GpuId{static_cast<std::uint16_t>(0x0100 + options.port)};
  if (options.gpu == kNoGpu || options.gpu == kBroadcast || options.port > 0xFF)
    return "--gpu is needed with a port above 255";
  if (options.to == options.gpu) return "--to is this endpoint itself";
  if (options.mode == Mode::pattern && options.to == kNoGpu && !options.verify)
    return "pattern needs --to GPU, to send, or --verify";
  if (options.bytes.empty()) {
    options.bytes = options.mode == Mode::pattern ? std::vector<std::size_t>{64, 1500, 60'000}
                                                  : std::vector<std::size_t>{64};
  }
  if (options.hold_ps == 0) options.hold_ps = 10 * kMillisecond;
  if (options.reply_timeout_ps == 0) options.reply_timeout_ps = kSecond;
  return {};
}

}  // namespace

std::optional<Options> parse_options(int argc, char** argv, int& status) {
  Options options;
  CLI::App app("Behaves as one GPU at a port of a CnuasLink switch", "cnuas-endpoint");
  app.set_version_flag("--version", std::string("cnuas-endpoint ") + cnuaslink_version());
  app.require_subcommand(1);
  app.footer(kFooter);
  add_link_options(app, options);
  add_modes(app, options);
  if (argc <= 1) {
    std::fputs(kExamples, stdout);
    status = kSuccess;
    return std::nullopt;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    status = app.exit(error) == 0 ? kSuccess : kUsage;
    return std::nullopt;
  }
  if (const std::string wrong = complete(options); !wrong.empty()) {
    std::fprintf(stderr, "error: %s\nRun with --help for more information.\n", wrong.c_str());
    status = kUsage;
    return std::nullopt;
  }
  return options;
}

}  // namespace cnuas::live::endpoint
