#include "verbs/kernels_check_view.hpp"

#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/node_json.hpp"
#include "latency/measured/check.hpp"
#include "report/table/table.hpp"

namespace ridgeline::verbs {
namespace {

std::string table_of(const latency::measured::TableCheck& found) {
  return kernel_check_sheet(kernel_check_tree(found)).render(report::Face::kTerminal, {});
}

TEST(KernelCheckReport, FindingsAreGroupedAndAnInfinitePeakIsNull) {
  latency::measured::TableCheck check;
  check.kernels.emplace_back();
  check.kernels.front().gpu = "h100";
  check.kernels.front().kernel = "gemm";
  check.kernels.front().files = 1;
  check.kernels.front().rows = 2;
  check.kernels.front().convention.name = "2mkn";
  check.kernels.front().convention.peak.high = std::numeric_limits<double>::infinity();
  EXPECT_FALSE(has_contradiction(check));
  check.findings.push_back(
      {.code = "impossible-row", .file = "data.csv", .line = 7, .message = "MFU 2"});
  EXPECT_TRUE(has_contradiction(check));
  EXPECT_THAT(table_of(check), ::testing::HasSubstr("h100 gemm: 2 rows in 1 file\n"));
  EXPECT_THAT(table_of(check), ::testing::HasSubstr("impossible-row (1)\n  data.csv:7: MFU 2\n"));
  EXPECT_THAT(document::json_text(kernel_check_tree(check)),
              ::testing::HasSubstr("\"peak_high_tflops\": null"));
}

TEST(KernelCheckReport, SaysWhosePeakItIsAndWhatAWayOfCountingWouldBeat) {
  latency::measured::TableCheck check;
  check.kernels.emplace_back();
  auto& kernel = check.kernels.front();
  kernel.gpu = "h100";
  kernel.convention = {.name = "causal half",
                       .peak = {.low = 148, .high = 148},
                       .agreeing = 5,
                       .data_sheets = "the dense BF16 peak of h20"};
  kernel.other.push_back({.name = "dense", .peak = {.low = 296, .high = 296}});
  kernel.other.front().beating = latency::measured::BeatingRow{
      .file = "p.csv", .line = 4, .what = "length 8192", .tflops = 1425.0, .most_tflops = 989.5};
  EXPECT_THAT(table_of(check),
              ::testing::HasSubstr("148 TFLOP/s [148, 148] (the dense BF16 peak of h20), FLOPs: "
                                   "causal half"));
  EXPECT_THAT(table_of(check),
              ::testing::HasSubstr("cannot be 296 TFLOP/s, FLOPs: dense; length 8192 would be 1425 "
                                   "TFLOP/s, above the 989.5 of h100"));
  EXPECT_THAT(document::json_text(kernel_check_tree(check)),
              ::testing::HasSubstr("\"row\": \"length 8192\""));
}

}  // namespace
}  // namespace ridgeline::verbs
