#include "accuracy/bands.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ridgeline::accuracy {
namespace {

Band band(std::string slice, std::vector<std::string> gpus, std::int64_t n, double median) {
  Band made;
  made.slice = std::move(slice);
  made.values = {std::move(gpus), {"dense"}, {"bf16"}, {"open"}, {"vllm"}};
  made.n = n;
  made.median = median;
  made.mean = 2.0 * median;
  made.p90 = 4.0 * median;
  return made;
}

Question question(std::string gpu, std::string precision = "bf16") {
  return {std::move(gpu), "dense", std::move(precision), "open", "vllm"};
}

TEST(Bands, TheFinestSliceThatHoldsTheQuestionApplies) {
  const std::vector<Band> all = {band("wide", {"h100", "h200"}, 60, 3.0),
                                 band("one", {"h100"}, 20, 1.0)};
  const auto error = expected_error(all, question("h100"), Metric::kTpot);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->band->slice, "one");
  EXPECT_THAT(error->outside, testing::IsEmpty());
  EXPECT_EQ(error->median(), 1.0);
  EXPECT_EQ(expected_error(all, question("h200"), Metric::kTpot)->band->slice, "wide");
}

TEST(Bands, EveryAxisOutsideDoublesIt) {
  const std::vector<Band> all = {band("one", {"h100"}, 20, 1.0),
                                 band("wide", {"h100", "h200"}, 60, 3.0)};
  const auto gpu = expected_error(all, question("l40s"), Metric::kTpot);
  ASSERT_TRUE(gpu);
  // Of slices that are equally far that of the most records.
  EXPECT_EQ(gpu->band->slice, "wide");
  EXPECT_THAT(gpu->outside, testing::ElementsAre(Axis::kGpu));
  EXPECT_EQ(gpu->median(), 6.0);
  EXPECT_EQ(gpu->mean(), 12.0);
  EXPECT_EQ(gpu->p90(), 24.0);
  const auto both = expected_error(all, question("l40s", "nvfp4"), Metric::kTpot);
  ASSERT_TRUE(both);
  EXPECT_EQ(both->widening(), 4.0);
}

TEST(Bands, FewRecordsSayNothing) {
  EXPECT_FALSE(expected_error(
      {band("few", {"h100"}, kFewestRecords - 1, 1.0)}, question("h100"), Metric::kTpot));
  EXPECT_FALSE(expected_error({band("other", {"h100"}, 90, 1.0)}, question("h100"), Metric::kTtft));
}

TEST(Bands, WhatIsWrittenIsReadAgain) {
  std::vector<Band> all = {band("a, b", {"h100", "h200"}, 9, 0.25), band("c", {}, 8, 1.5)};
  all[1].in_sample = false;
  all[1].metric = Metric::kPower;
  const auto read = read_bands(bands_text(all), "bands.yaml");
  ASSERT_TRUE(read) << core::to_string(read.error().front());
  EXPECT_EQ(*read, all);
}

TEST(Bands, WrongFilesAreRefusedWithEveryProblem) {
  const auto read = read_bands(
      "- {slice: s, gpu: h100, network: dense, precision: [3], loop: open, engine: vllm, "
      "metric: speed, n: 0, median: -1, mean: 1, p90: 1, in_sample: true, more: 1}\n",
      "own.yaml");
  ASSERT_FALSE(read);
  std::string all;
  for (const auto& error : read.error()) {
    all += core::to_string(error) + "\n";
  }
  EXPECT_THAT(all, testing::HasSubstr("[0].precision"));
  EXPECT_THAT(all, testing::HasSubstr("speed"));
  EXPECT_THAT(all, testing::HasSubstr("[0].n"));
  EXPECT_THAT(all, testing::HasSubstr("[0].median"));
  EXPECT_THAT(all, testing::HasSubstr("more"));
  EXPECT_FALSE(read_bands("slice: s\n", "own.yaml"));
}

/// What is compiled in answers the everyday question.
TEST(Bands, TheOwnFileHasABandForAnH100) {
  const auto error = expected_error(bands(), question("h100"), Metric::kTpot);
  ASSERT_TRUE(error);
  EXPECT_THAT(error->outside, testing::IsEmpty());
  EXPECT_GT(error->median(), 0.0);
  EXPECT_LE(error->median(), error->p90());
}

}  // namespace
}  // namespace ridgeline::accuracy
