// What cnuasccl-perf is asked to do.
#pragma once

#include "live/ccl/cnuasccl.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cnuas::live::perf {

// Exit codes.
inline constexpr int kSuccess = 0;
inline constexpr int kWrongData = 1;
inline constexpr int kUsage = 2;
inline constexpr int kInputOutput = 4;
inline constexpr int kInternal = 70;

inline constexpr unsigned kGpuPorts = 8;  // of a switch

enum class Transport { socket, inproc };
// How the ranks' times become the one that is shown; numbers as nccl-tests has them.
enum class Average { rank_0 = 0, mean = 1, least = 2, most = 3 };

struct Options {
  std::vector<cnuasccl_collective_t> collectives;
  int ranks = 2;
  std::uint64_t least_bytes = 32 << 20;
  std::uint64_t most_bytes = 32 << 20;
  std::uint64_t step_bytes = 1 << 20;
  std::uint64_t step_factor = 1;  // 1: steps of step_bytes
  int iterations = 20;
  int warm_up = 1;
  int cycles = 1;  // of everything
  int checks = 1;  // calls whose results are compared
  std::vector<cnuasccl_type_t> types;
  std::vector<cnuasccl_op_t> operators;
  std::vector<int> roots;
  Average average = Average::mean;
  std::string json;  // file; empty: none
  Transport transport = Transport::socket;
  cnuasccl_algorithm_t algorithm = CNUASCCL_AUTO;
  bool any_order = false;
  int checksum = -1;                  // as in cnuasccl_config
  std::vector<std::string> run_dirs;  // of switches that run; empty: some of its own
  unsigned first_port = 0;
  unsigned rack = 0;  // 0: the switch knows
  std::int64_t timeout_ns = 60'000'000'000;
  std::string flight;  // folder for the ranks' flight recorders; empty: none

  unsigned ports_a_switch() const { return kGpuPorts - first_port; }
  // Switches of its own that it takes.
  unsigned racks() const { return (static_cast<unsigned>(ranks) + ports_a_switch() - 1) / ports_a_switch(); }
};

// None: the program ends with `status`; what there is to say has been said.
std::optional<Options> parse_options(int argc, char** argv, int& status);

const char* name_of(cnuasccl_collective_t collective);
const char* name_of(cnuasccl_type_t type);  // as nccl-tests has them: "float"
const char* name_of(cnuasccl_op_t op);      // "prod"
const char* name_of(Transport transport);

}  // namespace cnuas::live::perf
