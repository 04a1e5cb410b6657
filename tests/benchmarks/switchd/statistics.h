// What is reported of several rounds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace cnuas::benchmark {

// Between the two values next to it where it falls between; `of_four` quarters of the values are below.
// 0 without values.
inline double quartile(std::vector<double> values, unsigned of_four) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double position = static_cast<double>((values.size() - 1) * of_four) / 4;
  const auto low = static_cast<std::size_t>(position);
  const std::size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (values[high] - values[low]) * (position - static_cast<double>(low));
}

inline double median(const std::vector<double>& values) {
  return quartile(values, 2);
}

// The middle half of the values is so wide, in parts of their median.
inline double spread(const std::vector<double>& values) {
  const double middle = median(values);
  return middle == 0 ? 0 : (quartile(values, 3) - quartile(values, 1)) / middle;
}

}  // namespace cnuas::benchmark
