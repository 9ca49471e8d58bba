#include "evidence/validate/error_bands.hpp"

#include <cstddef>
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

TEST(ErrorBands, HoldNoFleets) {
  std::vector<ScoredRecord> records(8, record("h100", 1.0));
  records.push_back(record("h100", 50.0));
  records.back().evidence.fleet.emplace();
  EXPECT_EQ(error_bands(records).front().n, 8);
  for (ScoredRecord& one : records) {
    one.evidence.fleet.emplace();
  }
  EXPECT_TRUE(error_bands(records).empty());
}

TEST(ErrorBands, HoldNoRatesAndPowerThatTheFrontEndDecides) {
  std::vector<ScoredRecord> records(10, record("h100", 1.0));
  for (ScoredRecord& one : records) {
    for (const Figure figure : {Figure::kOutputThroughput, Figure::kPower}) {
      one.evidence.measured.at(figure, Level::kMean) = 400.0;
      one.prediction->figures.at(figure, Level::kMean) = 440.0;
    }
  }
  records[3].prediction->front_end_near = true;
  records[5].prediction->front_end_bound = true;
  const auto bands = error_bands(records);
  ASSERT_EQ(bands.size(), 3U);
  EXPECT_EQ(bands[0].metric, accuracy::Metric::kTpot);
  EXPECT_EQ(bands[0].n, 10);
  EXPECT_EQ(bands[1].metric, accuracy::Metric::kOutputThroughput);
  EXPECT_EQ(bands[1].n, 8);
  EXPECT_EQ(bands[2].metric, accuracy::Metric::kPower);
  EXPECT_EQ(bands[2].n, 8);
}

TEST(ErrorBands, SaysWhetherItsRecordsTaughtTheModel) {
  std::vector<ScoredRecord> records(8, record("h100", 1.0));
  EXPECT_TRUE(error_bands(records).front().in_sample);
  for (ScoredRecord& one : records) {
    one.evidence.measured = {};
    one.evidence.measured.at(Figure::kPower, Level::kMean) = 400.0;
    one.prediction->figures.at(Figure::kPower, Level::kMean) = 410.0;
  }
  EXPECT_FALSE(error_bands(records).front().in_sample);
  records.front().evidence.family = "ml-energy";
  EXPECT_TRUE(error_bands(records).front().in_sample);
}

/// Engines that are not simulated, and loads that are guesses: of these the power alone counts.
TEST(ErrorBands, TimesOfWhatWasNotSimulatedDoNotCount) {
  std::vector<ScoredRecord> records(16, record("h100", 1.0));
  for (std::size_t i = 0; i < records.size(); ++i) {
    records[i].evidence.old_engine = i % 2 == 0;
    records[i].evidence.guessed_load = i % 2 == 1;
    records[i].evidence.measured.at(Figure::kPower, Level::kMean) = 400.0;
    records[i].prediction->figures.at(Figure::kPower, Level::kMean) = 440.0;
  }
  const auto bands = error_bands(records);
  ASSERT_EQ(bands.size(), 1U);
  EXPECT_EQ(bands[0].metric, accuracy::Metric::kPower);
  EXPECT_DOUBLE_EQ(bands[0].median, 10.0);
}

}  // namespace
}  // namespace ridgeline::evidence::validate
