#include "latency/accuracy/bands.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"

namespace ridgeline::accuracy {
namespace {

Question question(std::string gpu, std::string network = "dense", std::string loop = "open") {
  return {std::move(gpu), std::move(network), "bf16", std::move(loop), "vllm", "llama-3.1-8b TP1"};
}

Band band(std::string slice, Question values, double width, bool fitted = false) {
  return {.slice = std::move(slice),
          .values = std::move(values),
          .metric = Metric::kTpot,
          .fitted = fitted,
          .groups = 30,
          .records = 90,
          .p50 = {.low = -width / 4.0, .high = width / 4.0},
          .p90 = {.low = -width, .high = width}};
}

TEST(Bands, TheNarrowestThatHoldsTheQuestionApplies) {
  const Bands all = {.fitted = {},
                     .bands = {band("all", {}, 60.0),
                               band("dense", {"", "dense"}, 20.0),
                               band("experts", {"", "experts"}, 10.0)}};
  EXPECT_EQ(expected_error(all, question("h100"), Metric::kTpot)->band.slice, "dense");
  EXPECT_EQ(expected_error(all, question("h100", "hybrid"), Metric::kTpot)->band.slice, "all");
  EXPECT_FALSE(expected_error(all, question("h100"), Metric::kTtft));
}

TEST(Bands, ADeploymentThatTaughtTheModelIsKnownBetterInAnyTraffic) {
  const Bands all = {.fitted = {group_of(question("h100"))},
                     .bands = {band("all", {}, 5.0), band("all", {}, 10.0, true)}};
  const auto known = expected_error(all, question("h100", "dense", "closed"), Metric::kTpot);
  EXPECT_TRUE(known->band.fitted);
  EXPECT_THAT(known->unknown, testing::IsEmpty());
  const auto other = expected_error(all, question("l40s", "experts"), Metric::kTpot);
  EXPECT_FALSE(other->band.fitted);
  EXPECT_THAT(other->unknown, testing::ElementsAre(Axis::kGpu, Axis::kNetwork));
}

TEST(OwnBands, HoldForTheServerUnderLoadsLikeThoseMeasured) {
  const OwnBands own = {.server = question("h100"),
                        .in_flight = {.low = 1.0, .high = 8.0},
                        .input_tokens = {.low = 500.0, .high = 500.0},
                        .bands = {}};
  EXPECT_TRUE(own.hold(question("h100"), 9.9, 401.0));
  EXPECT_FALSE(own.hold(question("h100"), 10.1, 500.0));
  EXPECT_FALSE(own.hold(question("h100"), 8.0, 100.0));
  EXPECT_FALSE(own.hold(question("h200"), 8.0, 500.0));
  EXPECT_FALSE(own.hold(question("h100", "dense", "closed"), 8.0, 500.0));
}

TEST(OwnBands, OddSectionsAreRefused) {
  const auto said = [](const std::string& text) {
    core::Errors errors;
    const auto node = document::parse_yaml(text, "mine.yaml").value();
    static_cast<void>(read_own_bands(node, "calibrated", errors));
    return errors.empty() ? "" : core::to_string(errors.front());
  };
  const std::string sound =
      "{gpu: h100, network: dense, precision: bf16, engine: vllm, deployment: llama-3.1-8b TP1, "
      "records: 3, in_flight: [1, 8], input_tokens: [64, 64]";
  EXPECT_EQ(said(sound + ", ttft: {p50: [-1, 1], p90: [-2, 3]}}"), "");
  EXPECT_THAT(said(sound + ", ttft: {p50: [-1, 1]}}"), testing::HasSubstr("calibrated.ttft.p90"));
  EXPECT_THAT(said(sound + ", ttft: {p50: [1, -1], p90: [-2, 3]}}"),
              testing::HasSubstr("ascending"));
  EXPECT_THAT(said(sound + ", ttfx: {}}"), testing::HasSubstr("ttfx"));
  EXPECT_THAT(said(sound + ", ttft: {p50: [-1, 1], p90: [-0.5, 3]}}"),
              testing::HasSubstr("a range that holds p50"));
  EXPECT_THAT(said(sound + "}"), testing::HasSubstr("a metric at least"));
  EXPECT_THAT(said("{}"), testing::HasSubstr("calibrated.gpu"));
}

TEST(Bands, TheRangeHoldsNewDeploymentsAsOftenAsItSays) {
  // Errors of 0 to 9 % of ten deployments: one more lies within nine of ten.
  std::vector<Weighted> errors;
  for (int i = 0; i < 19; ++i) {
    errors.push_back({.value = i - 9.0});
  }
  const Range half = conformal_range(errors, 19, 0.5);
  const Range most = conformal_range(errors, 19, 0.9);
  EXPECT_NEAR(half.low, -5.0, 0.6);
  EXPECT_NEAR(half.high, 5.0, 0.6);
  EXPECT_NEAR(most.low, -9.0, 0.9);
  EXPECT_NEAR(most.high, 9.0, 0.9);
  // The nineteenth of twenty, as one more may be any of twenty-one; for half of them the eleventh.
  errors.push_back({.value = 10.0});
  const auto inside = [&](double share) {
    Range range = conformal_range(errors, 20, share);
    constexpr double kRounding = 1e-9;  // An error at the range's end is inside.
    range = {.low = range.low - kRounding, .high = range.high + kRounding};
    return std::ranges::count_if(errors,
                                 [&](const Weighted& error) { return range.holds(error.value); });
  };
  EXPECT_GE(inside(0.9), 19);
  EXPECT_GE(inside(0.5), 11);
  // Too few for a tenth: the largest error.
  EXPECT_LE(conformal_range({{.value = -50.0}, {.value = 0.0}, {.value = 1.0}}, 3, 0.9).low, -50.0);
}

TEST(Bands, ADeploymentHasOneVoteHoweverManyRecords) {
  std::vector<Weighted> once;
  std::vector<Weighted> often;
  for (int i = 0; i < 25; ++i) {
    const double percent = i == 0 ? 80.0 : i - 12.0;
    once.push_back({.value = percent});
    for (int k = 0; k < (i == 0 ? 64 : 1); ++k) {
      often.push_back({.value = percent, .weight = i == 0 ? 1.0 / 64.0 : 1.0});
    }
  }
  EXPECT_EQ(conformal_range(often, 25, 0.9), conformal_range(once, 25, 0.9));
}

/// Measured over predicted is the error's inverse: what is predicted too low lasts longer.
TEST(Bands, ALimitIsKeptAsOftenAsTheErrorsSay) {
  Band skewed = band("all", {}, 0.0);
  skewed.p50 = {.low = -20.0, .high = 10.0};
  skewed.p90 = {.low = -60.0, .high = 50.0};
  const auto at = [&](double ratio) { return probability_below(skewed, std::log(ratio)); };
  EXPECT_NEAR(at(1.0 / 1.5), 0.05, 1e-9);
  EXPECT_NEAR(at(1.0 / 1.1), 0.25, 1e-9);
  EXPECT_NEAR(at(1.0 / 0.8), 0.75, 1e-9);
  EXPECT_NEAR(at(1.0 / 0.4), 0.95, 1e-9);
  EXPECT_EQ(at(1e6), kMostSure);
  EXPECT_EQ(at(1e-6), 1.0 - kMostSure);
  for (const double share : {0.02, 0.05, 0.3, 0.5, 0.9, 0.97}) {
    EXPECT_NEAR(probability_below(skewed, log_ratio_at(skewed, share)), share, 1e-9);
  }
  EXPECT_EQ(log_ratio_at(skewed, 0.999), log_ratio_at(skewed, kMostSure));
  double before = 0.0;
  for (double ratio = 0.3; ratio < 5.0; ratio *= 1.02) {
    EXPECT_GE(at(ratio), before);
    before = at(ratio);
  }
}

/// The ranges of one set of errors: the probability is that of their normal law, the median too.
TEST(Bands, ErrorsOfANormalLawGiveItsProbabilities) {
  constexpr double kSd = 0.2;
  constexpr double kMean = -0.3;
  Band normal = band("all", {}, 0.0);
  const auto end = [&](double z) { return 100.0 * (std::exp(kMean + z * kSd) - 1.0); };
  normal.p50 = {.low = end(-0.6744897501960817), .high = end(0.6744897501960817)};
  normal.p90 = {.low = end(-1.6448536269514722), .high = end(1.6448536269514722)};
  for (const double z : {-2.0, -1.0, -0.3, 0.0, 0.5, 1.2, 2.2}) {
    EXPECT_NEAR(
        probability_below(normal, -kMean + z * kSd), std::erfc(-z / std::sqrt(2.0)) / 2.0, 1e-9);
  }
  // All errors alike: the limit decides.
  normal.p50 = normal.p90 = {.low = 25.0, .high = 25.0};
  EXPECT_EQ(probability_below(normal, std::log(0.81)), kMostSure);
  EXPECT_EQ(probability_below(normal, std::log(0.79)), 1.0 - kMostSure);
}

TEST(Bands, WhatIsWrittenIsReadAgain) {
  const Bands all = {.fitted = {group_of(question("h100"))},
                     .bands = {band("dense", {"", "dense"}, 20.0), band("all", {}, 8.0, true)}};
  const auto read = read_bands(bands_text(all), "bands.yaml");
  ASSERT_TRUE(read) << core::to_string(read.error().front());
  EXPECT_EQ(read->fitted, all.fitted);
  EXPECT_EQ(read->bands, all.bands);
}

TEST(Bands, WrongFilesAreRefusedWithEveryProblem) {
  const auto read = read_bands(
      "fitted: [{gpu: h100}]\nbands:\n- {slice: s, network: [3], metric: speed, groups: 0, "
      "records: 1, p50: [1], p90: [2, -200], more: 1}\n",
      "own.yaml");
  ASSERT_FALSE(read);
  std::string all;
  for (const auto& error : read.error()) {
    all += core::to_string(error) + "\n";
  }
  for (const char* const part : {"fitted[0].deployment",
                                 "bands[0].network",
                                 "speed",
                                 "bands[0].groups",
                                 "bands[0].p50",
                                 "bands[0].p90",
                                 "more"}) {
    EXPECT_THAT(all, testing::HasSubstr(part));
  }
  EXPECT_FALSE(read_bands("slice: s\n", "own.yaml"));
}

/// What is compiled in answers the everyday question, narrower where it was measured.
TEST(Bands, TheOwnFileKnowsAnH100BetterThanAnL4) {
  const auto known = expected_error(bands(), question("h100"), Metric::kTpot);
  const auto unseen = expected_error(bands(), question("l4"), Metric::kTpot);
  ASSERT_TRUE(known && unseen);
  EXPECT_TRUE(known->band.fitted);
  EXPECT_FALSE(unseen->band.fitted);
  EXPECT_LT(known->band.p90.half_width(), unseen->band.p90.half_width() / 2.0);
  for (const Band& band : bands().bands) {
    EXPECT_GE(band.groups, kFewestGroups) << band.slice;
    EXPECT_TRUE(band.p90.low <= band.p50.low && band.p50.high <= band.p90.high) << band.slice;
  }
}

}  // namespace
}  // namespace ridgeline::accuracy
