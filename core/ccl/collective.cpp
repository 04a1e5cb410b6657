#include "core/ccl/collective.h"

#include <array>
#include <cstddef>

namespace cnuas::ccl {
namespace {

// Names by value of the enumeration.
constexpr std::array<std::string_view, 5> kCollectives = {"all_reduce", "broadcast", "all_gather",
                                                          "reduce_scatter", "all_to_all"};
constexpr std::array<std::string_view, 11> kAlgorithms = {
    "ring", "chain",       "direct",   "one_shot", "recursive_doubling", "halving_doubling", "halving",
    "tree", "double_tree", "pairwise", "bruck"};
constexpr std::array<std::string_view, 8> kDataTypes = {"int8",  "uint8",  "int32",   "uint32",
                                                        "int64", "uint64", "float32", "float64"};
constexpr std::array<std::string_view, 4> kOperators = {"sum", "product", "min", "max"};

template <std::size_t N>
std::string_view name_in(const std::array<std::string_view, N>& names, std::size_t value) {
  return value < N ? names[value] : std::string_view("?");
}

template <class Enum, std::size_t N>
std::optional<Enum> value_in(const std::array<std::string_view, N>& names, std::string_view text) {
  for (std::size_t i = 0; i < N; ++i)
    if (names[i] == text) return static_cast<Enum>(i);
  return std::nullopt;
}

constexpr Algorithm kAllReduce[] = {Algorithm::ring,
                                    Algorithm::chain,
                                    Algorithm::direct,
                                    Algorithm::one_shot,
                                    Algorithm::recursive_doubling,
                                    Algorithm::halving_doubling,
                                    Algorithm::tree,
                                    Algorithm::double_tree};
constexpr Algorithm kBroadcast[] = {Algorithm::tree, Algorithm::chain, Algorithm::direct};
constexpr Algorithm kAllGather[] = {Algorithm::ring, Algorithm::recursive_doubling, Algorithm::direct};
constexpr Algorithm kReduceScatter[] = {Algorithm::ring, Algorithm::direct, Algorithm::halving};
constexpr Algorithm kAllToAll[] = {Algorithm::pairwise, Algorithm::direct, Algorithm::bruck};

}  // namespace

std::string_view name(Collective collective) {
  return name_in(kCollectives, static_cast<std::size_t>(collective));
}
std::string_view name(Algorithm algorithm) {
  return name_in(kAlgorithms, static_cast<std::size_t>(algorithm));
}
std::string_view name(DataType type) {
  return name_in(kDataTypes, static_cast<std::size_t>(type));
}
std::string_view name(Operator op) {
  return name_in(kOperators, static_cast<std::size_t>(op));
}

std::optional<Collective> parse_collective(std::string_view text) {
  return value_in<Collective>(kCollectives, text);
}
std::optional<Algorithm> parse_algorithm(std::string_view text) {
  return value_in<Algorithm>(kAlgorithms, text);
}
std::optional<DataType> parse_data_type(std::string_view text) {
  return value_in<DataType>(kDataTypes, text);
}
std::optional<Operator> parse_operator(std::string_view text) {
  return value_in<Operator>(kOperators, text);
}

std::span<const Algorithm> algorithms_of(Collective collective) {
  switch (collective) {
    case Collective::all_reduce:
      return kAllReduce;
    case Collective::broadcast:
      return kBroadcast;
    case Collective::all_gather:
      return kAllGather;
    case Collective::reduce_scatter:
      return kReduceScatter;
    case Collective::all_to_all:
      return kAllToAll;
  }
  return {};
}

}  // namespace cnuas::ccl
