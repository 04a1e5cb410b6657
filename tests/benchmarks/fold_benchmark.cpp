// What folding costs beside moving the same bytes: left = left (op) right, against memcpy from right to left
// and against std::transform, which gives the same where there are no NaNs and nothing overflows.
//   fold_benchmark [ROUNDS]      default: 25
// Sizes are those of one operand. The three take turns, and of each the best round counts, so that what else
// the machine does falls on all alike. Prints one JSON document. Exit status 1: a sum of float32 takes longer
// than it may, 1.3 times memcpy's time in cache and 1.6 times out of it.
#include "core/ccl/collective.h"
#include "core/ccl/fold_kernels.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>

#include <nlohmann/json.hpp>

namespace {

using namespace cnuas::ccl;
using Json = nlohmann::ordered_json;

struct Size {
  const char* where;
  std::size_t bytes;
  double most_of_memcpy;
};
// L1 and L2 hold both operands on every processor of the last ten years; no cache holds the last ones.
constexpr Size kSizes[] = {{"L1", 8 << 10, 1.3}, {"L2", 64 << 10, 1.3}, {"memory", 64 << 20, 1.6}};
constexpr std::size_t kMostBytes = 64 << 20;

struct FreeAligned {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<std::byte, FreeAligned>;

// Room for the operand anywhere in a page, all of it touched: else all addresses would share one page of
// zeros.
Memory make_operand() {
  constexpr std::size_t kPage = 4096;
  Memory memory(static_cast<std::byte*>(std::aligned_alloc(kPage, kMostBytes + kPage)));
  if (!memory) std::abort();
  std::memset(memory.get(), 0x01, kMostBytes + kPage);
  return memory;
}

template <class T>
void fill_with_ones(std::byte* operand, std::size_t bytes) {
  const T one{1};
  for (std::size_t at = 0; at + sizeof one <= bytes; at += sizeof one)
    std::memcpy(operand + at, &one, sizeof one);
}

// Ones add up and multiply without ever becoming denormal, which is slow on some processors.
void fill_with_ones(DataType type, std::byte* operand, std::size_t bytes) {
  if (type == DataType::float32) return fill_with_ones<float>(operand, bytes);
  if (type == DataType::float64) return fill_with_ones<double>(operand, bytes);
  switch (size_of(type)) {
    case 1:
      return fill_with_ones<std::uint8_t>(operand, bytes);
    case 4:
      return fill_with_ones<std::uint32_t>(operand, bytes);
    default:
      return fill_with_ones<std::uint64_t>(operand, bytes);
  }
}

template <class T, class Op>
void transform(std::byte* left, const std::byte* right, std::size_t bytes, Op op) {
  T* const a = reinterpret_cast<T*>(left);
  const T* const b = reinterpret_cast<const T*>(right);
  std::transform(a, a + bytes / sizeof(T), b, a, op);
}

template <class T>
void transform(Operator op, std::byte* left, const std::byte* right, std::size_t bytes) {
  switch (op) {
    case Operator::sum:
      return transform<T>(left, right, bytes, [](T a, T b) { return static_cast<T>(a + b); });
    case Operator::product:
      return transform<T>(left, right, bytes, [](T a, T b) { return static_cast<T>(a * b); });
    case Operator::min:
      return transform<T>(left, right, bytes, [](T a, T b) { return b < a ? b : a; });
    case Operator::max:
      return transform<T>(left, right, bytes, [](T a, T b) { return b > a ? b : a; });
  }
}

// Unsigned for signed, where it would overflow, which is undefined; the instructions are the same.
void transform(DataType type, Operator op, std::byte* left, const std::byte* right, std::size_t bytes) {
  const bool wraps = op == Operator::sum || op == Operator::product;
  switch (type) {
    case DataType::int8:
      return wraps ? transform<std::uint8_t>(op, left, right, bytes)
                   : transform<std::int8_t>(op, left, right, bytes);
    case DataType::uint8:
      return transform<std::uint8_t>(op, left, right, bytes);
    case DataType::int32:
      return wraps ? transform<std::uint32_t>(op, left, right, bytes)
                   : transform<std::int32_t>(op, left, right, bytes);
    case DataType::uint32:
      return transform<std::uint32_t>(op, left, right, bytes);
    case DataType::int64:
      return wraps ? transform<std::uint64_t>(op, left, right, bytes)
                   : transform<std::int64_t>(op, left, right, bytes);
    case DataType::uint64:
      return transform<std::uint64_t>(op, left, right, bytes);
    case DataType::float32:
      return transform<float>(op, left, right, bytes);
    case DataType::float64:
      return transform<double>(op, left, right, bytes);
  }
}

struct Stopwatch {
  std::size_t repeats;  // per round, so that the clock's own cost does not count
  double best_s = std::numeric_limits<double>::infinity();

  template <class Work>
  void take(const Work& work) {
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < repeats; ++i) {
      work();
      asm volatile("" ::: "memory");
    }
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    best_s = std::min(best_s, spent.count() / static_cast<double>(repeats));
  }
};

struct Operands {
  Memory left = make_operand();
  Memory right = make_operand();
};

struct Case {
  const FoldLevel& level;
  DataType type;
  Operator op;
  Size size;
  std::size_t offset;  // of both operands from a page's beginning, in bytes
};

// The time of the fold, in times of memcpy.
double measure(const Operands& operands, const Case& what, unsigned rounds, Json& row) {
  std::byte* const left = operands.left.get() + what.offset;
  // Half a page further: loads that agree with an earlier store in the last 12 bits of their address wait for
  // it.
  std::byte* const right = operands.right.get() + what.offset + (what.size.bytes < kMostBytes ? 2048 : 0);
  const std::size_t bytes = what.size.bytes;
  const std::uint64_t count = bytes / size_of(what.type);
  const FoldKernel kernel =
      what.level.kernels[static_cast<unsigned>(what.type)][static_cast<unsigned>(what.op)];
  const bool aligned = what.offset % size_of(what.type) == 0;

  fill_with_ones(what.type, right, bytes);
  const std::size_t repeats = std::max<std::size_t>(1, (std::size_t{1} << 20) / bytes);
  Stopwatch copy{repeats};
  Stopwatch transformed{repeats};
  Stopwatch folded{repeats};
  for (unsigned round = 0; round < rounds; ++round) {
    copy.take([&] { std::memcpy(left, right, bytes); });
    folded.take([&] { kernel(left, right, left, count); });
    if (aligned) transformed.take([&] { transform(what.type, what.op, left, right, bytes); });
  }
  const double ratio = folded.best_s / copy.best_s;
  row = {{"level", what.level.name},
         {"type", name(what.type)},
         {"operator", name(what.op)},
         {"where", what.size.where},
         {"size_bytes", bytes},
         {"offset_bytes", what.offset},
         {"memcpy_bytes_per_s", static_cast<double>(bytes) / copy.best_s},
         {"fold_bytes_per_s", static_cast<double>(bytes) / folded.best_s},
         {"time_to_memcpy", ratio},
         {"time_to_transform", aligned ? Json(folded.best_s / transformed.best_s) : Json(nullptr)}};
  return ratio;
}

}  // namespace

int main(int argc, char** argv) {
  const unsigned rounds = argc > 1 ? static_cast<unsigned>(std::strtoul(argv[1], nullptr, 10)) : 25;
  if (rounds == 0) {
    std::fprintf(stderr, "usage: fold_benchmark [ROUNDS]\n");
    return 2;
  }
  const FoldLevels levels = fold_levels();
  const FoldLevel& fastest = levels.fastest();
  const Operands operands;
  Json document = {{"schema", "cnuas.benchmark/1"},
                   {"benchmark", "fold"},
                   {"level", fastest.name},
                   {"float32_sum", Json::array()},
                   {"all", Json::array()}};
  bool ok = true;
  for (const Size& size : kSizes) {
    for (const std::size_t offset : {0, 4, 16, 1}) {
      for (const FoldLevel* level : levels) {
        Json row;
        const double ratio =
            measure(operands, {*level, DataType::float32, Operator::sum, size, offset}, rounds, row);
        if (level == &fastest && offset != 1) {
          row["most_to_memcpy"] = size.most_of_memcpy;
          ok = ok && ratio <= size.most_of_memcpy;
        }
        document["float32_sum"].push_back(row);
      }
    }
    for (const DataType type : {DataType::int8, DataType::uint8, DataType::int32, DataType::uint32,
                                DataType::int64, DataType::uint64, DataType::float32, DataType::float64}) {
      for (const Operator op : {Operator::sum, Operator::product, Operator::min, Operator::max}) {
        Json row;
        measure(operands, {fastest, type, op, size, 0}, rounds, row);
        document["all"].push_back(row);
      }
    }
  }
  std::printf("%s\n", document.dump(2).c_str());
  return ok ? 0 : 1;
}
