// The vocabulary of collectives: operations, algorithms, element types, operators, and their names.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace cnuas::ccl {

using Rank = std::uint32_t;

enum class Collective : std::uint8_t { all_reduce, broadcast, all_gather, reduce_scatter, all_to_all };

enum class Algorithm : std::uint8_t {
  ring,
  chain,
  direct,
  one_shot,
  recursive_doubling,
  halving_doubling,
  halving,
  tree,
  double_tree,
  pairwise,
  bruck,
};

enum class DataType : std::uint8_t { int8, uint8, int32, uint32, int64, uint64, float32, float64 };
enum class Operator : std::uint8_t { sum, product, min, max };

std::string_view name(Collective collective);
std::string_view name(Algorithm algorithm);
std::string_view name(DataType type);
std::string_view name(Operator op);

std::optional<Collective> parse_collective(std::string_view text);
std::optional<Algorithm> parse_algorithm(std::string_view text);
std::optional<DataType> parse_data_type(std::string_view text);
std::optional<Operator> parse_operator(std::string_view text);

constexpr std::uint32_t size_of(DataType type) {
  constexpr std::uint32_t kSizes[] = {1, 1, 4, 4, 8, 8, 4, 8};
  return kSizes[static_cast<unsigned>(type)];
}

// The algorithms a collective has, in the order in which they are listed to users.
std::span<const Algorithm> algorithms_of(Collective collective);

constexpr bool reduces(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::reduce_scatter;
}

}  // namespace cnuas::ccl
