#include "core/ccl/schedule.h"

#include "core/ccl/verify.h"
#include "sim/commands/choice.h"
#include "sim/commands/command.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace cnuas::sim {

namespace {

using Json = nlohmann::ordered_json;

struct ScheduleArguments {
  std::string collective;
  std::string algorithm;
  ccl::Rank ranks = 0;
  std::uint64_t count = 0;  // elements; 0: as many as make every block uneven
  bool count_given = false;
  ccl::Rank root = 0;
  std::uint64_t chunks = 0;
  std::optional<ccl::Rank> only_rank;
  bool json = false;
};

std::string listed(std::span<const ccl::Algorithm> algorithms) {
  std::string text;
  for (const ccl::Algorithm each : algorithms)
    text += (text.empty() ? "" : ", ") + std::string(name(each));
  return text;
}

// Uneven blocks on purpose: they are where off-by-one errors live.
std::uint64_t default_count(ccl::Rank ranks) {
  return 2 * std::uint64_t{ranks} + (ranks > 1 ? 1 : 0);
}

// What the arguments name: one problem, or one per algorithm for "all". Empty, with a message, when they name
// nothing.
std::vector<ccl::Problem> problems(const ScheduleArguments& arguments) {
  const std::optional<ccl::Collective> collective = ccl::parse_collective(arguments.collective);
  if (!collective) {
    print_error(fmt::format(
        "there is no collective '{}': all_reduce, broadcast, all_gather, reduce_scatter, all_to_all",
        arguments.collective));
    return {};
  }
  std::vector<ccl::Algorithm> algorithms;
  const std::span<const ccl::Algorithm> available = ccl::algorithms_of(*collective);
  if (arguments.algorithm == "all") {
    algorithms.assign(available.begin(), available.end());
  } else if (const auto algorithm = ccl::parse_algorithm(arguments.algorithm)) {
    algorithms.push_back(*algorithm);
  } else {
    print_error(fmt::format("there is no algorithm '{}'; {} has: {}", arguments.algorithm,
                            arguments.collective, listed(available)));
    return {};
  }
  std::vector<ccl::Problem> result;
  for (const ccl::Algorithm algorithm : algorithms) {
    ccl::Problem problem{
        *collective,     algorithm,
        arguments.ranks, arguments.count_given ? arguments.count : default_count(arguments.ranks),
        arguments.root,  arguments.chunks};
    if (problem.chunks == 0)
      problem.chunks = std::max<std::uint64_t>(1, std::min<std::uint64_t>(problem.count, 2));
    result.push_back(problem);
  }
  return result;
}

std::string location(const ccl::Location& where, std::uint64_t count) {
  static constexpr std::string_view kNames[] = {"input", "output", "scratch"};
  const std::string_view buffer = kNames[static_cast<unsigned>(where.buffer)];
  if (count == 0) return fmt::format("{}[]", buffer);
  if (count == 1) return fmt::format("{}[{}]", buffer, where.offset);
  return fmt::format("{}[{}..{}]", buffer, where.offset, where.offset + count - 1);
}

std::string what(const ccl::Step& step) {
  const std::string src = location(step.src, step.count);
  const std::string dst = location(step.dst, step.count);
  switch (step.op) {
    case ccl::Op::nop:
      return "wait";
    case ccl::Op::send:
      return fmt::format("send {} to rank {}", src, step.peer);
    case ccl::Op::recv:
      return fmt::format("receive {} from rank {}", dst, step.peer);
    case ccl::Op::recv_reduce:
      return step.incoming_left
                 ? fmt::format("receive from rank {}, {} = received + {}", step.peer, dst, src)
                 : fmt::format("receive from rank {}, {} = {} + received", step.peer, dst, src);
    case ccl::Op::copy:
      return fmt::format("copy {} = {}", dst, src);
    case ccl::Op::reduce:
      return step.incoming_left ? fmt::format("fold {} = {} + {}", dst, src, dst)
                                : fmt::format("fold {} = {} + {}", dst, dst, src);
    case ccl::Op::switch_reduce:
      return fmt::format("contribute {} to the switch", src);
    case ccl::Op::multicast:
      return fmt::format("multicast {}", src);
  }
  return {};
}

std::string dependencies(const ccl::Step& step) {
  std::string text;
  for (const ccl::Dependency& each : step.deps) {
    if (each.steps > 0)
      text += fmt::format("{}lane {} step {}", text.empty() ? "  after " : ", ", each.lane, each.steps - 1);
  }
  if (step.channel != 0) text += fmt::format("  channel {}", step.channel);
  return text;
}

Json step_json(const ccl::Step& step) {
  static constexpr std::string_view kNames[] = {"input", "output", "scratch"};
  Json deps = Json::array();
  for (const ccl::Dependency& each : step.deps) {
    if (each.steps > 0) deps.push_back({{"lane", each.lane}, {"steps", each.steps}});
  }
  return {{"op", ccl::name(step.op)},
          {"peer", step.peer},
          {"channel", step.channel},
          {"incoming_left", step.incoming_left},
          {"src", {{"buffer", kNames[static_cast<unsigned>(step.src.buffer)]}, {"offset", step.src.offset}}},
          {"dst", {{"buffer", kNames[static_cast<unsigned>(step.dst.buffer)]}, {"offset", step.dst.offset}}},
          {"count", step.count},
          {"deps", deps}};
}

Json problem_json(const ccl::Problem& problem) {
  return {{"collective", ccl::name(problem.collective)},
          {"algorithm", ccl::name(problem.algorithm)},
          {"ranks", problem.ranks},
          {"count", problem.count},
          {"root", problem.root},
          {"chunks", problem.chunks}};
}

int refused(const Error& error) {
  print_error(error.where.empty() ? error.message : error.where + ": " + error.message);
  return kUsage;
}

void print_text(const ccl::Schedule& schedule, ccl::Rank rank) {
  fmt::print("rank {}\n", rank);
  for (ccl::Lane lane = 0; lane < schedule.lanes(); ++lane) {
    const std::uint64_t steps = schedule.steps(rank, lane);
    if (steps > 0) fmt::print("  lane {}\n", lane);
    for (std::uint64_t index = 0; index < steps; ++index) {
      const ccl::Step step = schedule.step(rank, lane, index);
      fmt::print("    {:>4}  {}{}\n", index, what(step), dependencies(step));
    }
  }
}

Json rank_json(const ccl::Schedule& schedule, ccl::Rank rank) {
  Json lanes = Json::array();
  for (ccl::Lane lane = 0; lane < schedule.lanes(); ++lane) {
    Json steps = Json::array();
    for (std::uint64_t index = 0; index < schedule.steps(rank, lane); ++index)
      steps.push_back(step_json(schedule.step(rank, lane, index)));
    lanes.push_back(std::move(steps));
  }
  return {{"rank", rank}, {"scratch_elements", schedule.scratch_elements(rank)}, {"lanes", std::move(lanes)}};
}

int print_schedule(const ScheduleArguments& arguments) {
  const std::vector<ccl::Problem> all = problems(arguments);
  if (all.empty()) return kUsage;
  if (arguments.only_rank && *arguments.only_rank >= arguments.ranks) {
    print_error(fmt::format("there is no rank {} among {} ranks", *arguments.only_rank, arguments.ranks));
    return kUsage;
  }
  Json document = {{"schema", "cnuas.schedule/1"}, {"schedules", Json::array()}};
  for (const ccl::Problem& problem : all) {
    const auto schedule = ccl::make_schedule(problem);
    if (!schedule) return refused(schedule.error());
    Json entry = problem_json(problem);
    entry["programs"] = Json::array();
    if (!arguments.json) {
      fmt::print("# {} {}: {} ranks, {} elements, {} chunk{}\n", name(problem.collective),
                 name(problem.algorithm), problem.ranks, problem.count, problem.chunks,
                 problem.chunks == 1 ? "" : "s");
    }
    const ccl::Rank first = arguments.only_rank.value_or(0);
    const ccl::Rank last = arguments.only_rank ? first + 1 : problem.ranks;
    for (ccl::Rank rank = first; rank < last; ++rank) {
      if (arguments.json) {
        entry["programs"].push_back(rank_json(**schedule, rank));
      } else {
        print_text(**schedule, rank);
      }
    }
    document["schedules"].push_back(std::move(entry));
  }
  return arguments.json ? write_output("", document.dump(2) + "\n") : static_cast<int>(kSuccess);
}

int verify_schedule(const ScheduleArguments& arguments) {
  const std::vector<ccl::Problem> all = problems(arguments);
  if (all.empty()) return kUsage;
  int status = kSuccess;
  Json document = {{"schema", "cnuas.proof/1"}, {"proofs", Json::array()}};
  for (const ccl::Problem& problem : all) {
    const auto schedule = ccl::make_schedule(problem);
    if (!schedule) return refused(schedule.error());
    const Result<ccl::Proof> proof = ccl::verify(**schedule);
    if (!proof) status = kCheckFailed;
    Json entry = problem_json(problem);
    entry["proved"] = proof.has_value();
    const std::string title = fmt::format("{} {}, {} ranks, {} elements", name(problem.collective),
                                          name(problem.algorithm), problem.ranks, problem.count);
    if (!proof) {
      entry["error"] = {{"message", proof.error().message}, {"where", proof.error().where}};
      if (!arguments.json)
        fmt::print("{}: WRONG: {}: {}\n", title, proof.error().where, proof.error().message);
    } else {
      entry["canonical"] = proof->canonical;
      entry["same_everywhere"] = proof->same_everywhere;
      entry["messages"] = proof->messages;
      entry["elements_sent"] = proof->elements_sent;
      entry["max_early_messages"] = proof->max_early_messages;
      entry["fold_order"] = proof->fold_order;
      if (!arguments.json) {
        fmt::print("{}: proved: {} messages, {} elements sent, at most {} messages held early", title,
                   proof->messages, proof->elements_sent, proof->max_early_messages);
        if (reduces(problem.collective)) {
          fmt::print("; {}, folds {}",
                     proof->canonical         ? "canonical"
                     : proof->same_everywhere ? "not canonical, same bits everywhere"
                                              : "bits differ by rank",
                     proof->fold_order);
        }
        fmt::print("\n");
      }
    }
    document["proofs"].push_back(std::move(entry));
  }
  if (arguments.json) {
    const int written = write_output("", document.dump(2) + "\n");
    if (written != kSuccess) return written;
  }
  return status;
}

void add_arguments(CLI::App* command, const std::shared_ptr<ScheduleArguments>& arguments) {
  command
      ->add_option("collective", arguments->collective,
                   "all_reduce, broadcast, all_gather, reduce_scatter or all_to_all")
      ->required();
  command->add_option("algorithm", arguments->algorithm, "ring, direct, ... or all")->required();
  command->add_option("-n,--ranks", arguments->ranks, "Number of ranks")
      ->required()
      ->check(CLI::Range(1, 65534));
  command
      ->add_option_function<std::uint64_t>(
          "--count",
          [arguments](const std::uint64_t& count) {
            arguments->count = count;
            arguments->count_given = true;
          },
          "Elements, as in the size column of a run (default: two or three a rank)")
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1} << 50));
  command->add_option("--root", arguments->root, "Root of a broadcast");
  command
      ->add_option("--chunks", arguments->chunks,
                   "Pieces a pipelined algorithm cuts the vector into (default: 2)")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 32));
  add_table_or_json(*command, arguments->json);
}

}  // namespace

void add_schedule(CLI::App& app, int& status) {
  CLI::App* command =
      app.add_subcommand("schedule", "Show what an algorithm does, or prove that it is right");
  command->require_subcommand(1);
  command->footer(
      "Examples:\n  cnuas-sim schedule print all_reduce ring --ranks 4 --rank 0\n"
      "  cnuas-sim schedule verify all_reduce all --ranks 33");

  auto print_arguments = std::make_shared<ScheduleArguments>();
  CLI::App* print = command->add_subcommand("print", "Print every rank's steps");
  add_arguments(print, print_arguments);
  print->add_option("--rank", print_arguments->only_rank, "Only this rank");
  print->callback([print_arguments, &status] { status = print_schedule(*print_arguments); });

  auto verify_arguments = std::make_shared<ScheduleArguments>();
  CLI::App* verify = command->add_subcommand(
      "verify", "Prove pairing, freedom from deadlock and hazards, and the result; tell the fold order");
  add_arguments(verify, verify_arguments);
  verify->callback([verify_arguments, &status] { status = verify_schedule(*verify_arguments); });
}

}  // namespace cnuas::sim
