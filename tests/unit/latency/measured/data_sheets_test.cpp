#include "latency/measured/data_sheets.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace ridgeline::latency::measured {
namespace {

TEST(DataSheets, UnknownGpusHaveNoKnownPeak) {
  EXPECT_DOUBLE_EQ(known_peaks("nonesuch").bf16, 0.0);
  EXPECT_DOUBLE_EQ(known_peaks("h100").fp8, 1979.0);
  EXPECT_DOUBLE_EQ(known_peaks("h100").most(), 1979.0);
  // No FP8, but INT8.
  EXPECT_DOUBLE_EQ(known_peaks("a100-80gb").fp8, 0.0);
  EXPECT_DOUBLE_EQ(known_peaks("a100-80gb").most(), 624.0);
}

TEST(DataSheets, NameThePeakFound) {
  EXPECT_EQ(data_sheets_of({.low = 147.98, .high = 148.02}, "h100"), "the dense BF16 peak of h20");
  EXPECT_EQ(data_sheets_of({.low = 311.9, .high = 312.1}, "h100"),
            "the dense BF16 peak of a100-40gb, a100-80gb");
  // Several GPUs have 989.5; the table's own is meant.
  EXPECT_EQ(data_sheets_of({.low = 989.48, .high = 989.55}, "h100"), "the dense BF16 peak of h100");
  EXPECT_EQ(data_sheets_of({.low = 1978.9, .high = 1979.1}, "h100"), "the dense FP8 peak of h100");
  // 989 for 989.5: within the digits of a data sheet.
  EXPECT_EQ(data_sheets_of({.low = 988.9, .high = 989.1}, "h800"), "the dense BF16 peak of h800");
  EXPECT_EQ(data_sheets_of({.low = 494.7, .high = 494.8}, "h100"), "");
}

TEST(DataSheets, AWideIntervalNamesItsOwnGpuOrNone) {
  EXPECT_EQ(data_sheets_of({.low = 900.0, .high = 1100.0}, "h100"), "the dense BF16 peak of h100");
  EXPECT_EQ(data_sheets_of({.low = 140.0, .high = 400.0}, "h100"), "");
  EXPECT_EQ(data_sheets_of({.low = 100.0, .high = std::numeric_limits<double>::infinity()}, "h100"),
            "");
}

TEST(DataSheets, APeakIsReachedWithinItsDigits) {
  EXPECT_TRUE(is_above(1008.5, 989.5));
  EXPECT_FALSE(is_above(989.9, 989.5));
  EXPECT_FALSE(is_above(5000.0, 0.0)) << "nothing is above a peak that is not known";
}

}  // namespace
}  // namespace ridgeline::latency::measured
