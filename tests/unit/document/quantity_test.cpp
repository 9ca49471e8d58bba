#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/reader.hpp"

namespace ridgeline::document {
namespace {

constexpr std::string_view kByteNames = "B, kB, MB, GB, TB, KiB, MiB, GiB, TiB";
constexpr std::string_view kTimeNames = "ps, ns, us, ms, s, min, m, h, d";

struct Case {
  std::string_view text;
  double value;
};

std::string problem(std::string_view text, std::string_view unit_kind) {
  const auto result = parse_quantity(text, unit_kind);
  return result ? "no problem" : core::to_string(result.error().front());
}

TEST(ParseQuantity, KnowsMinutesHoursAndDays) {
  EXPECT_EQ(*parse_quantity("10m", "seconds"), 600.0);
  EXPECT_EQ(*parse_quantity("10min", "seconds"), 600.0);
  EXPECT_EQ(*parse_quantity("1h", "seconds"), 3600.0);
  EXPECT_EQ(*parse_quantity("1.5d", "seconds"), 129600.0);
  EXPECT_EQ(*parse_quantity("10ms", "seconds"), 0.01);
}

TEST(ParseQuantity, ReadsTimesOfSeveralParts) {
  EXPECT_EQ(parse_quantity("2h05m", "seconds").value_or(-1.0), 7500.0);
  EXPECT_EQ(parse_quantity("1d2h3m4.5s", "seconds").value_or(-1.0), 93784.5);
  EXPECT_EQ(parse_quantity("1m30s", "seconds").value_or(-1.0), 90.0);
  for (const char* text : {"5m2h", "2h2h", "2h5", "2h-5m", "2h 5m", "h5m", "2h5q"}) {
    EXPECT_FALSE(parse_quantity(text, "seconds")) << text;
  }
  EXPECT_FALSE(parse_quantity("1GB5MB", "bytes"));
}

TEST(ParseQuantity, ReadsBytes) {
  for (const auto& [text, value] : {
           Case{"0B", 0.0},
           Case{"7B", 7.0},
           Case{"2kB", 2e3},
           Case{"2MB", 2e6},
           Case{"80GB", 80e9},
           Case{"1.5TB", 1.5e12},
           Case{"4KiB", 4096.0},
           Case{"1MiB", 1048576.0},
           Case{"80GiB", 85899345920.0},  // 80 * 2^30
           Case{"1TiB", 1099511627776.0},
           Case{"80 GiB", 85899345920.0},
           Case{".5kB", 500.0},
           Case{"1e3B", 1000.0},
       }) {
    EXPECT_EQ(parse_quantity(text, "bytes").value_or(-1.0), value) << text;
  }
}

TEST(ParseQuantity, ReadsRates) {
  EXPECT_EQ(parse_quantity("3.35TB/s", "bytes_per_second").value_or(-1.0), 3.35e12);
  EXPECT_EQ(parse_quantity("1GiB/s", "bytes_per_second").value_or(-1.0), 1073741824.0);
  EXPECT_EQ(parse_quantity("900 GB/s", "bytes_per_second").value_or(-1.0), 900e9);
  for (const auto& [text, value] : {Case{"1FLOP/s", 1.0},
                                    Case{"2kFLOP/s", 2e3},
                                    Case{"3MFLOP/s", 3e6},
                                    Case{"4GFLOP/s", 4e9},
                                    Case{"989.5TFLOP/s", 989.5e12},
                                    Case{"2PFLOP/s", 2e15},
                                    Case{"5FLOPS", 5.0},
                                    Case{"989TFLOPS", 989e12},
                                    Case{"1PFLOPS", 1e15}}) {
    EXPECT_EQ(parse_quantity(text, "flops_per_second").value_or(-1.0), value) << text;
  }
}

TEST(ParseQuantity, ReadsTimesAsTheNearestDouble) {
  for (const auto& [text, value] : {Case{"7ps", 7e-12},
                                    Case{"3ns", 3e-9},
                                    Case{"2.5us", 2.5e-6},
                                    Case{"250ms", 0.25},
                                    Case{"3ms", 0.003},
                                    Case{"1.5s", 1.5},
                                    Case{"2min", 120.0},
                                    Case{"1.5h", 5400.0}}) {
    EXPECT_EQ(parse_quantity(text, "seconds").value_or(-1.0), value) << text;
  }
}

TEST(ParseQuantity, NeedsAUnit) {
  EXPECT_EQ(problem("80", "bytes"),
            "\"80\" has no unit, expected bytes (" + std::string(kByteNames) + ")");
  EXPECT_EQ(problem("80 ", "seconds"),
            "\"80 \" has no unit, expected a time (" + std::string(kTimeNames) + ")");
}

TEST(ParseQuantity, TellsAWrongKindFromAnUnknownUnit) {
  EXPECT_EQ(problem("80GiB", "seconds"),
            "\"80GiB\" is bytes, expected a time (" + std::string(kTimeNames) + ")");
  EXPECT_EQ(problem("80GB/s", "bytes"),
            "\"80GB/s\" is bytes per second, expected bytes (" + std::string(kByteNames) + ")");
  EXPECT_EQ(problem("80GB", "bytes_per_second"),
            "\"80GB\" is bytes, expected bytes per second (B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, "
            "MiB/s, GiB/s, TiB/s)");
  EXPECT_EQ(problem("5 ms", "flops_per_second"),
            "\"5 ms\" is a time, expected FLOP per second (FLOP/s, kFLOP/s, MFLOP/s, GFLOP/s, "
            "TFLOP/s, PFLOP/s, FLOPS, kFLOPS, MFLOPS, GFLOPS, TFLOPS, PFLOPS)");
  // Case matters, since Gb would be bits: the hint says what exists.
  EXPECT_EQ(problem("80gib", "bytes"),
            "\"gib\" is not a unit, expected bytes (" + std::string(kByteNames) +
                ") (did you mean 'GiB'?)");
  EXPECT_EQ(problem("3 parsecs", "seconds"),
            "\"parsecs\" is not a unit, expected a time (" + std::string(kTimeNames) + ")");
  EXPECT_EQ(problem("1_000ms", "seconds"),
            "\"_000ms\" is not a unit, expected a time (" + std::string(kTimeNames) + ")");
}

TEST(ParseQuantity, RefusesWhatIsNoNumber) {
  for (const std::string_view text :
       {"", "GiB", "inf GB", "nanB", "+5B", " 5B", "x5B", ".B", "."}) {
    EXPECT_EQ(problem(text, "bytes"),
              '"' + std::string(text) + "\" is not a number with a unit, expected bytes (" +
                  std::string(kByteNames) + ")");
  }
  EXPECT_EQ(problem("-5ms", "seconds"),
            "\"-5ms\" is negative, expected a time (" + std::string(kTimeNames) + ")");
}

TEST(ParseQuantity, RefusesWhatADoubleCannotHold) {
  EXPECT_EQ(problem("1e999s", "seconds"), "\"1e999s\" is outside the range of a double");
  EXPECT_EQ(problem("1e300TB", "bytes"), "\"1e300TB\" is outside the range of a double");
}

TEST(ParseQuantityDeathTest, KnowsItsKinds) {
  EXPECT_DEATH(static_cast<void>(parse_quantity("1m", "metres")), "internal error.*metres");
}

}  // namespace
}  // namespace ridgeline::document
