#include "scenarios/sizes.h"

#include "scenarios/units.h"
#include "scenarios/workload_grammar.h"

#include <algorithm>
#include <string>

namespace cnuas::scenarios {
namespace {

std::string elements_of(ccl::DataType type) {
  return std::string(ccl::name(type)) + " elements (" + std::to_string(ccl::size_of(type)) + " B each)";
}

std::uint64_t whole_elements(std::uint64_t bytes, ccl::DataType type) {
  return bytes - bytes % ccl::size_of(type);
}

std::uint64_t read_size(const Node& node, ccl::DataType type, Diagnostics& diagnostics) {
  const auto bytes = static_cast<std::uint64_t>(node.number);
  const std::uint64_t whole = whole_elements(bytes, type);
  if (whole != bytes)
    diagnostics.warning(node.place, quoted(node.text) + " is not a whole number of " + elements_of(type) +
                                        ": rounded down to " + std::to_string(whole) + " B");
  return whole;
}

// from, from * factor or from + step, ... up to `to`. Preconditions: from <= to; a factor of at least 2 and
// from > 0, or a step above 0.
std::vector<std::uint64_t> progression(std::uint64_t from, std::uint64_t to, std::uint64_t factor,
                                       std::uint64_t step) {
  std::vector<std::uint64_t> sizes;
  for (std::uint64_t size = from; sizes.size() <= static_cast<std::size_t>(kMostSizes);) {
    sizes.push_back(size);
    const bool last = factor > 0 ? size > to / factor : step > to - size;
    if (last) break;
    size = factor > 0 ? size * factor : size + step;
  }
  return sizes;
}

std::vector<std::uint64_t> round_range(std::vector<std::uint64_t> sizes, const Place& place,
                                       ccl::DataType type, Diagnostics& diagnostics) {
  const std::size_t all = sizes.size();
  std::size_t rounded = 0;
  for (std::uint64_t& size : sizes) {
    const std::uint64_t whole = whole_elements(size, type);
    rounded += whole != size ? 1 : 0;
    size = whole;
  }
  if (rounded == 0) return sizes;
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  diagnostics.warning(place, std::to_string(rounded) + " of " + std::to_string(all) +
                                 " sizes are not a whole number of " + elements_of(type) +
                                 " and are rounded down: " + std::to_string(sizes.size()) +
                                 " different sizes remain");
  return sizes;
}

std::vector<std::uint64_t> read_range(const Node& range, const Place& place, ccl::DataType type,
                                      Diagnostics& diagnostics) {
  const auto from = static_cast<std::uint64_t>(range.get("from")->number);
  const auto to = static_cast<std::uint64_t>(range.get("to")->number);
  const Node* factor = range.get("factor");
  const Node* step = range.get("step");
  if (from > to) {
    diagnostics.error(range.get("to")->place, "the range ends before it begins: 'to' is less than 'from'",
                      "exchange them");
    return {};
  }
  if (factor && from == 0) {
    diagnostics.error(range.get("from")->place, "a range from 0 B never grows by a factor",
                      "begin above 0, or write 'step' instead of 'factor'");
    return {};
  }
  std::vector<std::uint64_t> sizes =
      progression(from, to, factor ? static_cast<std::uint64_t>(factor->number) : 0,
                  step ? static_cast<std::uint64_t>(step->number) : 0);
  if (sizes.size() > static_cast<std::size_t>(kMostSizes)) {
    diagnostics.error(place, "the range has more than " + std::to_string(kMostSizes) + " sizes",
                      "use a larger step, or a factor");
    return {};
  }
  return round_range(std::move(sizes), place, type, diagnostics);
}

}  // namespace

std::vector<std::uint64_t> read_sizes(const Node& item, ccl::DataType type, Diagnostics& diagnostics) {
  if (const Node* size = item.get("size")) return {read_size(*size, type, diagnostics)};
  const Node* sizes = item.get("sizes");
  if (!sizes) return {};
  if (sizes->kind == Node::Kind::mapping)
    return read_range(*sizes, item.key_place("sizes"), type, diagnostics);
  std::vector<std::uint64_t> list;
  for (const Node& each : sizes->items)
    list.push_back(read_size(each, type, diagnostics));
  return list;
}

}  // namespace cnuas::scenarios
