#include "evidence/validate/error_bands.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "accuracy/bands.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/scores.hpp"

namespace ridgeline::evidence::validate {
namespace {

/// Measured 100 ms a token, predicted with an error of so many percent.
ScoredRecord record(const std::string& gpu, double error, const std::string& family = "own") {
  ScoredRecord made;
  made.evidence.family = family;
  made.evidence.measured.at(Figure::kTpot, Level::kMean) = 100.0;
  made.prediction.emplace();
  made.prediction->figures.at(Figure::kTpot, Level::kMean) = 100.0 + error;
  made.prediction->likeness = {gpu, "dense", "bf16", "open", "vllm"};
  return made;
}

TEST(ErrorBands, SlicesOfEightRecordsAndTheSumOfAll) {
  std::vector<ScoredRecord> records;
  for (int i = 1; i <= 9; ++i) {
    records.push_back(record("h100", i % 2 == 0 ? i : -i));
    records.push_back(record("h200", 2.0 * i));
  }
  records.push_back(record("l40s", 50.0));
  records.push_back(record("h100", 90.0));
  records.back().standing = Standing::kSaturated;
  const auto bands = error_bands(records);
  ASSERT_EQ(bands.size(), 3U);
  EXPECT_EQ(bands[0].slice, "h100, dense, bf16, open, vllm");
  EXPECT_EQ(bands[0].metric, accuracy::Metric::kTpot);
  EXPECT_EQ(bands[0].n, 9);
  EXPECT_DOUBLE_EQ(bands[0].median, 5.0);
  EXPECT_DOUBLE_EQ(bands[0].mean, 5.0);
  // Position 0.9 * 8 = 7.2: 8 + 0.2.
  EXPECT_DOUBLE_EQ(bands[0].p90, 8.2);
  EXPECT_DOUBLE_EQ(bands[1].median, 10.0);
  // One more GPU without a slice of its own. The coarser levels hold the same records: left out.
  EXPECT_EQ(bands[2].n, 19);
  EXPECT_THAT(bands[2].values[0], testing::ElementsAre("h100", "h200", "l40s"));
}

TEST(ErrorBands, SaysWhetherItsRecordsTaughtTheModel) {
  const std::vector<ScoredRecord> unseen(8, record("h100", 1.0, "mlperf"));
  ASSERT_EQ(error_bands(unseen).size(), 1U);
  EXPECT_FALSE(error_bands(unseen).front().in_sample);
  auto mixed = unseen;
  mixed.push_back(record("h100", 1.0, "trainval"));
  EXPECT_TRUE(error_bands(mixed).front().in_sample);
}

TEST(ErrorBands, TimesOfEnginesThatAreNotSimulatedDoNotCount) {
  std::vector<ScoredRecord> records(8, record("h100", 1.0));
  for (auto& old : records) {
    old.evidence.old_engine = true;
  }
  EXPECT_THAT(error_bands(records), testing::IsEmpty());
}

}  // namespace
}  // namespace ridgeline::evidence::validate
