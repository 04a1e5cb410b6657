// Every level of the fold kernels against one element at a time, bit by bit.
#include "core/ccl/fold.h"

#include "core/ccl/fold_kernels.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>
#include <sstream>

#include <gtest/gtest.h>

namespace cnuas::ccl {
namespace {

constexpr DataType kTypes[] = {DataType::int8,  DataType::uint8,  DataType::int32,   DataType::uint32,
                               DataType::int64, DataType::uint64, DataType::float32, DataType::float64};
constexpr Operator kOperators[] = {Operator::sum, Operator::product, Operator::min, Operator::max};

// --- The reference: elements are bits, in the low end of 64 of them -----------------------------------

using Bits = std::uint64_t;

bool is_float(DataType type) {
  return type == DataType::float32 || type == DataType::float64;
}
bool is_signed(DataType type) {
  return type == DataType::int8 || type == DataType::int32 || type == DataType::int64;
}
Bits all_ones(DataType type) {
  return ~Bits{0} >> (64 - 8 * size_of(type));
}

// The layout of IEEE 754: sign, exponent, mantissa.
unsigned mantissa_bits(DataType type) {
  return type == DataType::float32 ? 23 : 52;
}
Bits infinity_of(DataType type) {
  return (all_ones(type) >> 1) >> mantissa_bits(type) << mantissa_bits(type);
}
Bits sign_of(DataType type) {
  return all_ones(type) ^ (all_ones(type) >> 1);
}
bool is_nan(DataType type, Bits bits) {
  return (bits & ~sign_of(type)) > infinity_of(type);
}
Bits quiet(DataType type, Bits bits) {
  return bits | Bits{1} << (mantissa_bits(type) - 1);
}

// Of a float, the sum and the product in double precision are so exact that rounding them again is as good as
// rounding once.
double value_of(DataType type, Bits bits) {
  if (type == DataType::float64) return std::bit_cast<double>(bits);
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
}
Bits bits_of(DataType type, double value) {
  if (type == DataType::float64) return std::bit_cast<Bits>(value);
  return std::bit_cast<std::uint32_t>(static_cast<float>(value));
}

Bits reference_float(DataType type, Operator op, Bits left, Bits right) {
  const bool orders = op == Operator::min || op == Operator::max;
  if (is_nan(type, left)) return orders ? left : quiet(type, left);
  if (is_nan(type, right)) return orders ? right : quiet(type, right);
  const volatile double a = value_of(type, left);
  const volatile double b = value_of(type, right);
  switch (op) {
    case Operator::sum:
      return bits_of(type, a + b);
    case Operator::product:
      return bits_of(type, a * b);
    case Operator::min:
      return b < a ? right : left;
    case Operator::max:
      return b > a ? right : left;
  }
  return 0;
}

// Signed numbers are ordered as unsigned ones are once their sign is flipped.
Bits reference_integer(DataType type, Operator op, Bits left, Bits right) {
  const Bits flip = is_signed(type) ? sign_of(type) : 0;
  switch (op) {
    case Operator::sum:
      return (left + right) & all_ones(type);
    case Operator::product:
      return (left * right) & all_ones(type);
    case Operator::min:
      return (right ^ flip) < (left ^ flip) ? right : left;
    case Operator::max:
      return (right ^ flip) > (left ^ flip) ? right : left;
  }
  return 0;
}

Bits reference(DataType type, Operator op, Bits left, Bits right) {
  return is_float(type) ? reference_float(type, op, left, right) : reference_integer(type, op, left, right);
}

// --- Hostile data -------------------------------------------------------------------------------------

std::vector<Bits> hostile_floats(DataType type) {
  const Bits one = bits_of(type, 1.0);
  const Bits infinity = infinity_of(type);
  const Bits quiet_bit = quiet(type, 0);
  const Bits smallest_normal = Bits{1} << mantissa_bits(type);
  std::vector<Bits> magnitudes = {
      0,                    // zero
      1,                    // the smallest denormal
      smallest_normal - 1,  // the largest one
      smallest_normal,
      smallest_normal + 1,
      bits_of(type, 0.5),
      one - 1,
      one,
      one + 1,  // half of its last place is lost beside 2
      bits_of(type, 2.0),
      bits_of(type, 3.0),
      bits_of(type, 1e-30),
      bits_of(type, 1e30),
      infinity - 1,  // the largest finite number
      infinity - 2,
      infinity,
      infinity + 1,  // a signalling NaN, and with other payloads
      infinity + 0x12345,
      infinity | (quiet_bit - 1),
      infinity | quiet_bit,  // the NaN of invalid operations, and with payloads
      infinity | quiet_bit | 1,
      infinity | quiet_bit | 0x54321,
  };
  std::vector<Bits> values;
  for (const Bits each : magnitudes) {
    values.push_back(each);
    values.push_back(each | sign_of(type));
  }
  return values;
}

std::vector<Bits> hostile_integers(DataType type) {
  std::vector<Bits> values;
  for (unsigned bit = 0; bit < 8 * size_of(type); ++bit)
    for (const Bits near : {~Bits{0}, Bits{0}, Bits{1}})
      values.push_back(((Bits{1} << bit) + near) & all_ones(type));
  for (const Bits each : {all_ones(type), all_ones(type) - 1, Bits{0x5A5A5A5A5A5A5A5A} & all_ones(type)})
    values.push_back(each);
  return values;
}

std::vector<Bits> hostile_values(DataType type) {
  return is_float(type) ? hostile_floats(type) : hostile_integers(type);
}

// --- Running a kernel ---------------------------------------------------------------------------------

std::vector<std::byte> packed(DataType type, const std::vector<Bits>& elements) {
  std::vector<std::byte> bytes(elements.size() * size_of(type));
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(elements[i / size_of(type)] >> (8 * (i % size_of(type))));
  if constexpr (std::endian::native == std::endian::big) {
    for (std::size_t i = 0; i < bytes.size(); i += size_of(type))
      std::reverse(bytes.data() + i, bytes.data() + i + size_of(type));
  }
  return bytes;
}

// A vector at an odd place: nothing before it, and behind it, may change. Without anything behind it, a
// sanitizer sees reads beyond it as well.
class Operand {
 public:
  Operand(const std::vector<std::byte>& bytes, std::size_t offset, std::size_t behind)
      : offset_(offset), size_(bytes.size()), memory_(offset + size_ + behind, kGuard) {
    std::copy(bytes.begin(), bytes.end(), memory_.begin() + static_cast<std::ptrdiff_t>(offset));
  }

  std::byte* data() { return memory_.data() + offset_; }
  bool holds(const std::vector<std::byte>& bytes) const {
    return bytes.empty() || std::memcmp(memory_.data() + offset_, bytes.data(), bytes.size()) == 0;
  }
  bool guards_stand() const {
    const auto begin = memory_.begin() + static_cast<std::ptrdiff_t>(offset_);
    const auto intact = [](std::byte each) { return each == kGuard; };
    return std::all_of(memory_.begin(), begin, intact) &&
           std::all_of(begin + static_cast<std::ptrdiff_t>(size_), memory_.end(), intact);
  }

 private:
  static constexpr std::byte kGuard{0xA7};
  std::size_t offset_;
  std::size_t size_;
  std::vector<std::byte> memory_;
};

struct Places {
  std::size_t left;
  std::size_t right;
  std::size_t out;
  std::size_t behind;
};

enum class Output { apart, left, right };

struct Sample {
  DataType type;
  Operator op;
  std::vector<Bits> left;
  std::vector<Bits> right;
};

std::string show(const Sample& sample, Operand& result) {
  for (std::size_t i = 0; i < sample.left.size(); ++i) {
    Bits got = 0;
    std::byte* const from = result.data() + i * size_of(sample.type);
    for (unsigned byte = 0; byte < size_of(sample.type); ++byte)
      got |= static_cast<Bits>(
                 from[std::endian::native == std::endian::big ? size_of(sample.type) - 1 - byte : byte])
             << (8 * byte);
    const Bits expected = reference(sample.type, sample.op, sample.left[i], sample.right[i]);
    if (got == expected) continue;
    std::ostringstream text;
    text << std::hex << "element " << std::dec << i << " of " << sample.left.size() << std::hex << ": 0x"
         << sample.left[i] << ", 0x" << sample.right[i] << " gave 0x" << got << " and not 0x" << expected;
    return text.str();
  }
  return "no element differs";
}

::testing::AssertionResult agrees(FoldKernel kernel, const Sample& sample, Output output,
                                  const Places& places) {
  std::vector<Bits> expected(sample.left.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    expected[i] = reference(sample.type, sample.op, sample.left[i], sample.right[i]);
  const std::vector<std::byte> left_bytes = packed(sample.type, sample.left);
  const std::vector<std::byte> right_bytes = packed(sample.type, sample.right);
  const std::vector<std::byte> expected_bytes = packed(sample.type, expected);

  Operand left(left_bytes, places.left, places.behind);
  Operand right(right_bytes, places.right, places.behind);
  Operand apart(std::vector<std::byte>(left_bytes.size()), places.out, places.behind);
  Operand& out = output == Output::left ? left : output == Output::right ? right : apart;
  kernel(left.data(), right.data(), out.data(), sample.left.size());

  if (!out.holds(expected_bytes)) return ::testing::AssertionFailure() << show(sample, out);
  if (output != Output::left && !left.holds(left_bytes))
    return ::testing::AssertionFailure() << "left changed";
  if (output != Output::right && !right.holds(right_bytes))
    return ::testing::AssertionFailure() << "right changed";
  if (!left.guards_stand() || !right.guards_stand() || !apart.guards_stand())
    return ::testing::AssertionFailure() << "wrote outside";
  return ::testing::AssertionSuccess();
}

// --- Tests --------------------------------------------------------------------------------------------

FoldKernel kernel_of(const FoldLevel& level, DataType type, Operator op) {
  return level.kernels[static_cast<unsigned>(type)][static_cast<unsigned>(op)];
}

template <class Check>
void for_every_kernel(const Check& check) {
  for (const FoldLevel* level : fold_levels())
    for (const DataType type : kTypes)
      for (const Operator op : kOperators) {
        SCOPED_TRACE(std::string(level->name) + " " + std::string(name(type)) + " " + std::string(name(op)));
        check(kernel_of(*level, type, op), type, op);
        if (::testing::Test::HasFailure()) return;
      }
}

// Each of them at several places in a vector.
TEST(Fold, EveryPairOfHostileValues) {
  for_every_kernel([](FoldKernel kernel, DataType type, Operator op) {
    const std::vector<Bits> values = hostile_values(type);
    Sample sample{type, op, {}, {}};
    for (const Bits left : values)
      for (const Bits right : values) {
        sample.left.push_back(left);
        sample.right.push_back(right);
      }
    for (unsigned place = 0; place < 4; ++place) {
      ASSERT_TRUE(agrees(kernel, sample, Output::apart, {0, 0, 0, 0}));
      sample.left.insert(sample.left.begin(), values.back());
      sample.right.insert(sample.right.begin(), values.front());
    }
  });
}

std::vector<Bits> random_elements(DataType type, std::size_t count, std::mt19937_64& random) {
  const std::vector<Bits> hostile = hostile_values(type);
  std::vector<Bits> elements(count);
  for (Bits& each : elements)
    each = random() % 2 == 0 ? hostile[random() % hostile.size()] : random() & all_ones(type);
  return elements;
}

TEST(Fold, EverySizeAtOddPlacesAndInPlace) {
  std::mt19937_64 random(1);
  for_every_kernel([&](FoldKernel kernel, DataType type, Operator op) {
    for (std::size_t count = 0; count <= 200; ++count) {
      const Sample sample{type, op, random_elements(type, count, random),
                          random_elements(type, count, random)};
      for (const Output output : {Output::apart, Output::left, Output::right}) {
        const Places places{random() % 70, random() % 70, random() % 70, random() % 2 * 64};
        ASSERT_TRUE(agrees(kernel, sample, output, places))
            << count << " elements, output " << static_cast<int>(output) << ", offsets " << places.left << " "
            << places.right << " " << places.out;
      }
    }
  });
}

TEST(Fold, LongVectors) {
  std::mt19937_64 random(2);
  for_every_kernel([&](FoldKernel kernel, DataType type, Operator op) {
    for (const std::size_t count : {1023, 4096, 5001}) {
      const Sample sample{type, op, random_elements(type, count, random),
                          random_elements(type, count, random)};
      for (const Output output : {Output::apart, Output::left, Output::right})
        ASSERT_TRUE(agrees(kernel, sample, output, {random() % 70, random() % 70, random() % 70, 64}));
    }
  });
}

// left and right may be one vector, which is only read, or all three may.
TEST(Fold, OfAVectorWithItself) {
  std::mt19937_64 random(3);
  for_every_kernel([&](FoldKernel kernel, DataType type, Operator op) {
    const std::vector<Bits> elements = random_elements(type, 333, random);
    const Sample sample{type, op, elements, elements};
    Operand operand(packed(type, elements), 3, 0);
    kernel(operand.data(), operand.data(), operand.data(), elements.size());
    std::vector<Bits> expected;
    for (const Bits each : elements)
      expected.push_back(reference(type, op, each, each));
    EXPECT_TRUE(operand.holds(packed(type, expected))) << show(sample, operand);
  });
}

TEST(Fold, OfNothingTouchesNothing) {
  for_every_kernel([](FoldKernel kernel, DataType, Operator) { kernel(nullptr, nullptr, nullptr, 0); });
}

// The function that everything else calls goes to the right kernel.
TEST(Fold, ByTypeAndOperator) {
  std::mt19937_64 random(4);
  for (const DataType type : kTypes)
    for (const Operator op : kOperators) {
      SCOPED_TRACE(std::string(name(type)) + " " + std::string(name(op)));
      const Sample sample{type, op, random_elements(type, 500, random), random_elements(type, 500, random)};
      Operand left(packed(type, sample.left), 5, 0);
      Operand right(packed(type, sample.right), 2, 0);
      fold(type, op, left.data(), right.data(), left.data(), sample.left.size());
      std::vector<Bits> expected;
      for (std::size_t i = 0; i < sample.left.size(); ++i)
        expected.push_back(reference(type, op, sample.left[i], sample.right[i]));
      EXPECT_TRUE(left.holds(packed(type, expected))) << show(sample, left);
    }
}

TEST(Fold, ThePortableLevelIsAlwaysThereAndFirst) {
  const FoldLevels levels = fold_levels();
  ASSERT_GE(levels.count, 1U);
  EXPECT_STREQ(levels.levels[0]->name, "portable");
  EXPECT_EQ(levels.levels[0], portable_fold_level());
}

#if defined(__x86_64__)
TEST(Fold, AProcessorWithAvx2UsesIt) {
  ASSERT_NE(avx2_fold_level(), nullptr) << "built without";
  ASSERT_NE(avx512_fold_level(), nullptr) << "built without";
  const FoldLevels levels = fold_levels();
  const bool used = std::find(levels.begin(), levels.end(), avx2_fold_level()) != levels.end();
  EXPECT_EQ(used, __builtin_cpu_supports("avx2") != 0);
}
#endif

}  // namespace
}  // namespace cnuas::ccl
