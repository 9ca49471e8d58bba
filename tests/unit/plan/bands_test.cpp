#include "plan/bands.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "plan/linear_doubt.hpp"

namespace ridgeline::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Band band(const std::string& slice, const std::string& network, const std::string& loop, int n) {
  return {.slice = slice,
          .gpus = {"h100"},
          .network = network,
          .precision = "bf16",
          .loop = loop,
          .engine = "vllm",
          .metric = "tpot",
          .n = n,
          .median = 1.0,
          .mean = 1.5,
          .p90 = 4.0};
}

BandQuestion question() {
  return {.gpu = "h100", .precision = "bf16", .engine = "vllm", .metric = "tpot"};
}

TEST(Bands, TheBuiltInOnesHaveBothMetrics) {
  EXPECT_GE(bands().size(), 4U);
  BandQuestion asked = question();
  ASSERT_TRUE(find_band(bands(), asked));
  EXPECT_TRUE(find_band(bands(), asked)->outside.empty());
  asked.metric = "ttft";
  EXPECT_TRUE(find_band(bands(), asked));
}

TEST(Bands, TheNearestSliceCountsAndIsWidenedByAxis) {
  const std::vector<Band> all = {band("experts", "experts", "open", 90),
                                 band("closed", "dense", "closed", 90),
                                 band("open", "dense", "open", 20)};
  const auto inside = find_band(all, question());
  EXPECT_EQ(inside->band->slice, "open");
  EXPECT_EQ(inside->sd, sd_of_p90(4.0));  // Larger than what the median says.
  BandQuestion other = question();
  other.gpu = "b200";
  other.precision = "fp4";
  const auto outside = find_band(all, other);
  EXPECT_EQ(outside->band->slice, "open");
  EXPECT_THAT(outside->outside, ElementsAre("gpu", "precision"));
  EXPECT_EQ(outside->sd, 4.0 * sd_of_p90(4.0));
}

TEST(Bands, FewRunsDoNotCountAndMoreComeFirst) {
  std::vector<Band> all = {band("few", "dense", "open", 7)};
  EXPECT_FALSE(find_band(all, question()));
  all.push_back(band("some", "dense", "any", 8));
  all.push_back(band("more", "dense", "open", 30));
  EXPECT_EQ(find_band(all, question())->band->slice, "more");
  BandQuestion closed = question();
  closed.closed_loop = true;
  EXPECT_EQ(find_band(all, closed)->band->slice, "some");
}

TEST(Bands, AWrongFileIsRefusedWithAllItsProblems) {
  const auto read = read_bands(
      "- {slice: a, gpu: h100, network: big, precision: bf16, loop: open, engine: vllm, metric: "
      "tpot, n: 0, median: 1, mean: 1, p90: 1, extra: 2}\n",
      "b.yaml");
  ASSERT_FALSE(read);
  std::string all;
  for (const core::Error& error : read.error()) {
    all += core::to_string(error) + "\n";
  }
  EXPECT_THAT(all, HasSubstr("[0].gpu: expected a list of GPUs"));
  EXPECT_THAT(all, HasSubstr("[0].network"));
  EXPECT_THAT(all, HasSubstr("[0].n"));
  EXPECT_THAT(all, HasSubstr("extra"));
  EXPECT_FALSE(read_bands("a: 1", "b.yaml"));
}

}  // namespace
}  // namespace ridgeline::plan
