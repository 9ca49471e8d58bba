#include "report/results/kernel_check.hpp"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "latency/measured/check.hpp"

namespace ridgeline::report {
namespace {

TEST(KernelCheckReport, FindingsAreGroupedAndAnInfinitePeakIsNull) {
  latency::measured::TableCheck check;
  check.kernels.emplace_back();
  check.kernels.front().gpu = "h100";
  check.kernels.front().kernel = "gemm";
  check.kernels.front().files = 1;
  check.kernels.front().rows = 2;
  check.kernels.front().convention.name = "2mkn";
  check.kernels.front().convention.peak.high = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(has_impossible_row(check));
  check.findings.push_back(
      {.code = "impossible-row", .file = "data.csv", .line = 7, .message = "MFU 2"});
  EXPECT_TRUE(has_impossible_row(check));
  EXPECT_THAT(kernel_check_table(check), ::testing::HasSubstr("h100 gemm: 2 rows in 1 file\n"));
  EXPECT_THAT(kernel_check_table(check),
              ::testing::HasSubstr("impossible-row (1)\n  data.csv:7: MFU 2\n"));
  EXPECT_THAT(kernel_check_json(check), ::testing::HasSubstr("\"peak_high_tflops\": null"));
}

}  // namespace
}  // namespace ridgeline::report
