#include "plan/plan_bands.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "accuracy/bands.hpp"

namespace ridgeline::plan {
namespace {

PlanBand plan_band(std::vector<std::string> gpus, std::int64_t n, double median) {
  return {.values = {std::move(gpus), {"dense"}, {"bf16"}, {"open"}, {"vllm"}, {}},
          .metric = accuracy::Metric::kTpot,
          .n = n,
          .median = median,
          .p90 = 4.0 * median};
}

accuracy::Question asked_of(std::string gpu, std::string precision = "bf16") {
  return {std::move(gpu), "dense", std::move(precision), "open", "vllm", "llama-3.1-8b TP1"};
}

TEST(PlanBands, TheFinestSliceThatHoldsTheQuestionApplies) {
  const std::vector<PlanBand> all = {plan_band({"h100", "h200"}, 60, 3.0),
                                     plan_band({"h100"}, 20, 1.0)};
  const auto error = plan_error(all, asked_of("h100"), accuracy::Metric::kTpot);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->band->n, 20);
  EXPECT_EQ(error->widening(), 1.0);
  EXPECT_EQ(plan_error(all, asked_of("h200"), accuracy::Metric::kTpot)->band->n, 60);
}

TEST(PlanBands, EveryAxisOutsideDoublesIt) {
  const std::vector<PlanBand> all = {plan_band({"h100"}, 20, 1.0),
                                     plan_band({"h100", "h200"}, 60, 3.0)};
  const auto gpu = plan_error(all, asked_of("l40s"), accuracy::Metric::kTpot);
  ASSERT_TRUE(gpu);
  // Of slices that are equally far that of the most records.
  EXPECT_EQ(gpu->band->n, 60);
  EXPECT_EQ(gpu->widening(), 2.0);
  EXPECT_EQ(plan_error(all, asked_of("l40s", "nvfp4"), accuracy::Metric::kTpot)->widening(), 4.0);
}

TEST(PlanBands, FewRecordsSayNothing) {
  EXPECT_FALSE(plan_error(
      {plan_band({"h100"}, kFewestRecords - 1, 1.0)}, asked_of("h100"), accuracy::Metric::kTpot));
  EXPECT_FALSE(
      plan_error({plan_band({"h100"}, 90, 1.0)}, asked_of("h100"), accuracy::Metric::kTtft));
}

TEST(PlanBands, WrongFilesAreRefused) {
  EXPECT_FALSE(read_plan_bands("slice: s\n", "own.yaml"));
  const auto read =
      read_plan_bands("- {metric: speed, n: 0, median: -1, p90: 1, more: 1}\n", "own.yaml");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().size(), 4U);
}

TEST(PlanBands, TheOwnFileHasABandForAnH100) {
  const auto error = plan_error(plan_bands(), asked_of("h100"), accuracy::Metric::kTpot);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->widening(), 1.0);
  EXPECT_LE(error->band->median, error->band->p90);
}

}  // namespace
}  // namespace ridgeline::plan
