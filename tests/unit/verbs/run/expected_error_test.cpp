#include "verbs/run/expected_error.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "latency/accuracy/bands.hpp"
#include "latency/accuracy/error_tree.hpp"
#include "report/format.hpp"

namespace ridgeline::verbs {
namespace {

std::vector<std::string> words_of(const std::vector<accuracy::ExpectedError>& errors) {
  std::vector<std::string> words;
  for (const std::string& one : expected_error_words(accuracy::expected_errors_tree(errors))) {
    words.push_back(report::printable(one, true));
  }
  return words;
}

accuracy::Band some_band(bool fitted) {
  return {.slice = fitted ? "all" : "vllm",
          .values = {},
          .metric = accuracy::Metric::kTpot,
          .fitted = fitted,
          .groups = 41,
          .records = 167,
          .p50 = {.low = -20.4, .high = 7.0},
          .p90 = {.low = -58.2, .high = 63.5}};
}

TEST(ExpectedError, NamesTheDeploymentsThatItIsFromAndWhatWasNeverMeasured) {
  const accuracy::Band unseen = some_band(false);
  const auto pieces =
      words_of({{.band = unseen, .unknown = {accuracy::Axis::kGpu, accuracy::Axis::kDeployment}}});
  ASSERT_EQ(pieces.size(), 3U);
  EXPECT_EQ(pieces[0], "TPOT -58..+64 % (90 %), -20..+7 % (half), as 41 unseen deployments (vllm)");
  EXPECT_EQ(pieces[1], "above 0: predicted too high");
  EXPECT_EQ(pieces[2], "never measured; the nearest that was has another gpu, network or layout");
  const accuracy::Band fitted = some_band(true);
  const auto known = words_of({{.band = fitted, .unknown = {}}});
  ASSERT_EQ(known.size(), 2U);
  EXPECT_EQ(known[0], "TPOT -58..+64 % (90 %), -20..+7 % (half), as 41 measured deployments");
  EXPECT_TRUE(words_of({}).empty());
}

TEST(ExpectedError, NarrowBandsOfTheServerItselfHaveADecimal) {
  const auto own = words_of({{.band = {.slice = accuracy::kOwnSlice,
                                       .values = {},
                                       .metric = accuracy::Metric::kTpot,
                                       .fitted = true,
                                       .groups = 1,
                                       .records = 4,
                                       .p50 = {.low = -0.34, .high = 0.21},
                                       .p90 = {.low = -1.2, .high = 0.9}},
                              .unknown = {}}});
  ASSERT_EQ(own.size(), 2U);
  EXPECT_EQ(own[0],
            "TPOT -1.2..+0.9 % (90 %), -0.3..+0.2 % (half), as 4 measurements of this server");
}

TEST(ExpectedError, TheTreeHasEveryMetric) {
  const accuracy::Band band = some_band(false);
  const auto tree =
      accuracy::expected_errors_tree({{.band = band, .unknown = {accuracy::Axis::kGpu}}});
  const auto* const tpot = tree.find("tpot");
  ASSERT_NE(tpot, nullptr);
  EXPECT_EQ(tpot->find("groups")->as_integer(), 41);
  EXPECT_DOUBLE_EQ(tpot->find("p90_pct")->find("low")->as_real(), -58.2);
  EXPECT_EQ(tpot->find("unknown")->items().size(), 1U);
  EXPECT_FALSE(tpot->find("fitted")->as_bool());
}

}  // namespace
}  // namespace ridgeline::verbs
