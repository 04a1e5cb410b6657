#include "scenarios/units.h"

#include <cstdint>
#include <regex>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace cnuas::scenarios {
namespace {

using testing::HasSubstr;

std::int64_t value(const std::string& text, Quantity quantity) {
  const auto parsed = parse_quantity(text, quantity);
  EXPECT_TRUE(parsed) << text << ": " << parsed.error().message;
  return parsed.value_or(-1);
}

std::string fault(const std::string& text, Quantity quantity) {
  const auto parsed = parse_quantity(text, quantity);
  EXPECT_FALSE(parsed) << text;
  return parsed ? "" : parsed.error().message + " | " + parsed.error().help;
}

TEST(Units, TimesAreExactPicoseconds) {
  EXPECT_EQ(value("350 ns", Quantity::time), 350'000);
  EXPECT_EQ(value("350ns", Quantity::time), 350'000);
  EXPECT_EQ(value("1.5 us", Quantity::time), 1'500'000);
  EXPECT_EQ(value("0.000001 us", Quantity::time), 1);
  EXPECT_EQ(value("0 ns", Quantity::time), 0);
  EXPECT_EQ(value("2 ms", Quantity::time), 2'000'000'000);
  EXPECT_EQ(value("1000 s", Quantity::time), 1'000'000'000'000'000);
  EXPECT_EQ(value("7 ps", Quantity::time), 7);
  EXPECT_EQ(value("1.000000000001 s", Quantity::time), 1'000'000'000'001);
  EXPECT_EQ(value("1.50000000000000000000000000000 us", Quantity::time), 1'500'000);
}

TEST(Units, SizesAreBinaryOrDecimalAsNamed) {
  EXPECT_EQ(value("64 KiB", Quantity::size), 65'536);
  EXPECT_EQ(value("64 KB", Quantity::size), 64'000);
  EXPECT_EQ(value("64 kB", Quantity::size), 64'000);
  EXPECT_EQ(value("1 MiB", Quantity::size), 1 << 20);
  EXPECT_EQ(value("1 MB", Quantity::size), 1'000'000);
  EXPECT_EQ(value("1.5 GiB", Quantity::size), 1'610'612'736);
  EXPECT_EQ(value("1024 TiB", Quantity::size), std::int64_t{1} << 50);
  EXPECT_EQ(value("0.5 TB", Quantity::size), 500'000'000'000);
}

TEST(Units, RatesAreBytesOrBitsAsNamed) {
  EXPECT_EQ(value("450 GB/s", Quantity::rate), 450'000'000'000);
  EXPECT_EQ(value("1 GiB/s", Quantity::rate), 1 << 30);
  EXPECT_EQ(value("400 Gb/s", Quantity::rate), 50'000'000'000);
  EXPECT_EQ(value("400 Gbit/s", Quantity::rate), 50'000'000'000);
  EXPECT_EQ(value("8 b/s", Quantity::rate), 1);
  EXPECT_EQ(value("14.4 TB/s", Quantity::rate), 14'400'000'000'000);
  EXPECT_EQ(value("1000 TB/s", Quantity::rate), 1'000'000'000'000'000);
}

TEST(Units, ABareNumberIsAnErrorThatNamesTheUnits) {
  EXPECT_THAT(fault("350", Quantity::time),
              HasSubstr("has no unit | write for example '350 ns'; the units are ps, ns"));
  EXPECT_THAT(fault("0", Quantity::time), HasSubstr("write for example '0 ns'"));
  EXPECT_THAT(fault("4096", Quantity::size), HasSubstr("'4096 B'"));
  EXPECT_THAT(fault("450", Quantity::rate), HasSubstr("'450 GB/s'"));
}

TEST(Units, WhatIsNotWholeIsAnError) {
  EXPECT_THAT(fault("0.5 ps", Quantity::time), HasSubstr("not a whole number of picoseconds"));
  EXPECT_THAT(fault("1.0001 KiB", Quantity::size), HasSubstr("not a whole number of bytes"));
  EXPECT_THAT(fault("1 b/s", Quantity::rate), HasSubstr("not a whole number of bytes per second"));
  EXPECT_THAT(fault("0.0000000000000000001 s", Quantity::time), HasSubstr("not a whole number"));
}

TEST(Units, WhatIsTooLargeIsAnErrorHoweverLargeItIs) {
  for (const char* text :
       {"1000.000000000001 s", "1001 s", "999999999999999999 s", "99999999999999999999999999 ps"})
    EXPECT_THAT(fault(text, Quantity::time), HasSubstr("is too large | at most 1000 s")) << text;
  EXPECT_THAT(fault("1025 TiB", Quantity::size), HasSubstr("at most 1024 TiB"));
  EXPECT_THAT(fault("1001 TB/s", Quantity::rate), HasSubstr("at most 1000 TB/s"));
}

TEST(Units, OnlyPlainDecimalNumbersAreRead) {
  for (const char* text :
       {"1e3 ns", "0x10 ns", "1_000 ns", "1,000 ns", ".5 us", "5. us", "-5 ns", "+5 ns", "010 ns", "1.2.3 ns",
        "ns", "", "  ", "1 n s", "five ns", "1 ns 2", "1/2 us", "NaN ns", "inf s"})
    fault(text, Quantity::time);
}

TEST(Units, WrongUnitsAreExplained) {
  EXPECT_THAT(fault("5 GB", Quantity::rate), HasSubstr("'GB' is a unit of size, and this is a rate"));
  EXPECT_THAT(fault("5 ns", Quantity::size), HasSubstr("'ns' is a unit of time, and this is a size"));
  EXPECT_THAT(fault("5 gb/s", Quantity::rate), HasSubstr("did you mean GB/s or Gb/s?"));
  EXPECT_THAT(fault("5 Gbps", Quantity::rate), HasSubstr("did you mean Gb/s?"));
  EXPECT_THAT(fault("5 GBps", Quantity::rate), HasSubstr("did you mean GB/s?"));
  EXPECT_THAT(fault("5 k", Quantity::size), HasSubstr("did you mean kB, KB or KiB?"));
  EXPECT_THAT(fault("5 \xC2\xB5s", Quantity::time), HasSubstr("did you mean us?"));
  EXPECT_THAT(fault("5 m", Quantity::time), HasSubstr("unknown unit 'm'"));
}

RC_GTEST_PROP(Units, ToTextReadsBackAndMatchesThePattern, ()) {
  const auto quantity = *rc::gen::element(Quantity::time, Quantity::size, Quantity::rate);
  const std::int64_t most = quantity == Quantity::time   ? kLongestTime_ps
                            : quantity == Quantity::size ? kLargestSize_bytes
                                                         : kHighestRate_bytes_per_s;
  const auto mantissa = *rc::gen::inRange<std::int64_t>(0, 5000);
  const auto shift = *rc::gen::inRange(0, 40);
  const std::int64_t number = std::min(mantissa << shift, most);
  const std::string text = to_text(number, quantity);
  RC_ASSERT(parse_quantity(text, quantity) == number);
  RC_ASSERT(std::regex_match(text, std::regex(quantity_pattern(quantity))));
}

// The schema's pattern must let pass whatever the loader takes.
RC_GTEST_PROP(Units, WhatIsReadMatchesThePattern, ()) {
  const auto quantity = *rc::gen::element(Quantity::time, Quantity::size, Quantity::rate);
  const auto text =
      *rc::gen::container<std::string>(rc::gen::elementOf(std::string("0123459. \tnumskKMGTiBb/e-")));
  if (parse_quantity(text, quantity))
    RC_ASSERT(std::regex_match(text, std::regex(quantity_pattern(quantity))));
}

RC_GTEST_PROP(Units, DecimalsEqualTheirScaledIntegers, ()) {
  const auto thousandths = *rc::gen::inRange<std::int64_t>(0, 1'000'000'000);
  std::string digits = std::to_string(thousandths % 1000);
  digits.insert(0, 3 - digits.size(), '0');
  const std::string text = std::to_string(thousandths / 1000) + "." + digits + " us";
  RC_ASSERT(parse_quantity(text, Quantity::time) == thousandths * 1000);
}

}  // namespace
}  // namespace cnuas::scenarios
