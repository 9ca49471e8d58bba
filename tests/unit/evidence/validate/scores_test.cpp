#include "evidence/validate/scores.hpp"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "evidence/validate/evidence.hpp"
#include "evidence/validate/prediction.hpp"

namespace ridgeline::evidence::validate {
namespace {

ScoredRecord record_with(double measured, double predicted, const std::string& model) {
  ScoredRecord record;
  record.evidence.model = model;
  record.evidence.measured.at(Figure::kE2e, Level::kMean) = measured;
  record.prediction.emplace();
  record.prediction->figures.at(Figure::kE2e, Level::kMean) = predicted;
  record.prediction->mean_in_flight = 5.0;
  return record;
}

TEST(Scores, SumsUpErrors) {
  // Signed -10, 30, 10, 0: absolute 0, 10, 10, 30.
  const auto row = summarise_errors({-10.0, 30.0, 10.0, 0.0});
  EXPECT_EQ(row.n, 4);
  EXPECT_DOUBLE_EQ(row.median_abs, 10.0);
  EXPECT_DOUBLE_EQ(row.mean_abs, 12.5);
  EXPECT_DOUBLE_EQ(row.mean_signed, 7.5);
  // Position 0.95 * 3 = 2.85: 10 + 0.85 * (30 - 10).
  EXPECT_DOUBLE_EQ(row.p95_abs, 27.0);
  // Position 0.99 * 3 = 2.97.
  EXPECT_DOUBLE_EQ(row.p99_abs, 29.4);
  EXPECT_DOUBLE_EQ(row.share_over_20, 25.0);
}

TEST(Scores, ThePhaseIsWhatAnAnswerIsMostlySpentOn) {
  std::vector<ScoredRecord> records(4, record_with(100, 110, "a"));
  records[0].evidence.measured.at(Figure::kTtft, Level::kMean) = 50.0;
  records[1].evidence.measured.at(Figure::kTtft, Level::kMean) = 10.0;
  records[2].evidence.measured.at(Figure::kTtft, Level::kMean) = 30.0;
  std::vector<std::string> phases;
  for (const auto& row : score(records)) {
    if (row.axis == "phase" && row.figure == Figure::kE2e) {
      phases.push_back(row.value);
    }
  }
  EXPECT_EQ(phases, (std::vector<std::string>{"prefill", "decode", "mixed", "unknown"}));
}

TEST(Scores, TheBoundIsWhatSetsTheRateOrWouldOnAUsualHost) {
  std::vector<ScoredRecord> records(3, record_with(100, 110, "a"));
  records[1].prediction->front_end_bound = true;
  records[2].prediction->front_end_near = true;
  std::vector<std::string> bounds;
  for (const auto& row : score(records)) {
    if (row.axis == "bound") {
      bounds.push_back(row.value);
    }
  }
  EXPECT_EQ(bounds, (std::vector<std::string>{"engine", "front end", "front end near"}));
}

TEST(Scores, WhatItsSweepContradictsIsScoredApart) {
  Evidence evidence;
  evidence.contradicted = "its sweep";
  evidence.flags = {"overloaded"};  // At a load that is not known.
  std::string reason;
  const PartPrediction result{.prediction = Prediction{}, .problem = ""};
  EXPECT_EQ(standing_of(evidence, result, reason), Standing::kContradicted);
  EXPECT_EQ(reason, "its sweep");

  std::vector<ScoredRecord> records = {record_with(100, 110, "a"), record_with(100, 300, "a")};
  records[1].standing = Standing::kContradicted;
  for (const auto& row : score(records)) {
    EXPECT_EQ(row.n, 1);
    EXPECT_DOUBLE_EQ(row.mean_abs, row.value == "contradicted" ? 200.0 : 10.0) << row.axis;
  }
  EXPECT_EQ(score(records)[1].value, "contradicted");
}

// 100 output tokens/s in answers of 50 are 2 a second; at 1.5 s each, 3 are in flight.
TEST(Scores, AnotherNumberInFlightIsAnotherLoad) {
  Evidence evidence;
  evidence.tells_server = false;
  evidence.output.mean = 50.0;
  evidence.measured.at(Figure::kOutputThroughput, Level::kMean) = 100.0;
  evidence.measured.at(Figure::kE2e, Level::kMean) = 1500.0;
  const auto standing = [&](double in_flight, double ranks = 1.0) {
    std::string reason;
    PartPrediction result{.prediction = Prediction{}, .problem = ""};
    result.prediction->mean_in_flight = in_flight;
    result.prediction->ranks = ranks;
    const Standing found = standing_of(evidence, result, reason);
    EXPECT_EQ(reason.empty(), found == Standing::kScored);
    return found;
  };
  EXPECT_EQ(standing(3.0), Standing::kScored);
  EXPECT_EQ(standing(8.9), Standing::kScored);
  EXPECT_EQ(standing(9.1), Standing::kContradicted);
  EXPECT_EQ(standing(60.0), Standing::kContradicted);
  EXPECT_EQ(standing(0.5), Standing::kScored) << "two requests fewer are chance";
  evidence.measured.at(Figure::kOutputThroughput, Level::kMean) = 1000.0;  // 30.
  EXPECT_EQ(standing(9.0), Standing::kContradicted);
  EXPECT_EQ(standing(9.0, 4.0), Standing::kScored) << "four ranks share the load";
  evidence.tells_server = true;  // A record states its load.
  EXPECT_EQ(standing(9.0), Standing::kScored);
}

TEST(Scores, FleetsAboveTheirCapacityAreSaturatedByTheirWait) {
  const auto standing = [](std::optional<double> mean, std::optional<double> ninth, bool fleet) {
    Evidence evidence;
    if (fleet) {
      evidence.fleet.emplace();
    }
    evidence.measured.at(Figure::kTtft, Level::kMean) = mean;
    evidence.measured.at(Figure::kTtft, Level::kP90) = ninth;
    std::string reason;
    const PartPrediction result{.prediction = Prediction{}, .problem = ""};
    return standing_of(evidence, result, reason);
  };
  EXPECT_EQ(standing(7'600.0, 43'568.0, true), Standing::kSaturated);
  EXPECT_EQ(standing(1'294.0, 1'900.0, true), Standing::kScored);
  EXPECT_EQ(standing(12'000.0, std::nullopt, true), Standing::kSaturated);
  EXPECT_EQ(standing(7'600.0, 43'568.0, false), Standing::kScored);
}

TEST(Scores, ThePolicyIsAnAxisOfFleetsAlone) {
  std::vector<ScoredRecord> records(3, record_with(100, 110, "a"));
  records[0].evidence.fleet.emplace().policy = "random";
  std::vector<std::string> policies;
  for (const auto& row : score(records)) {
    if (row.axis == "policy") {
      policies.push_back(row.value);
      EXPECT_EQ(row.n, 1);
    }
  }
  EXPECT_EQ(policies, std::vector<std::string>{"random"});
}

TEST(Scores, TheWorstErrorsComeFirstAndOnlyOfScoredRecords) {
  std::vector<ScoredRecord> records = {record_with(100, 110, "a"),
                                       record_with(100, 60, "b"),
                                       record_with(100, 100, "c"),
                                       record_with(100, 300, "d")};
  records[3].standing = Standing::kSaturated;
  const auto worst = worst_errors(records);
  ASSERT_EQ(worst.size(), 2U);
  EXPECT_EQ(worst[0].record, 1U);
  EXPECT_DOUBLE_EQ(worst[0].error_pct, -40.0);
  EXPECT_EQ(worst[1].record, 0U);
}

TEST(Scores, RowsByAxisAllFirstAndSaturatedApart) {
  std::vector<ScoredRecord> records = {
      record_with(100, 110, "a"), record_with(100, 95, "b"), record_with(100, 200, "a")};
  records[2].standing = Standing::kSaturated;
  const auto rows = score(records);
  ASSERT_GE(rows.size(), 4U);
  EXPECT_EQ(rows[0].axis, "all");
  EXPECT_EQ(rows[0].value, "all");
  EXPECT_EQ(rows[0].n, 2);
  EXPECT_DOUBLE_EQ(rows[0].mean_abs, 7.5);
  EXPECT_EQ(rows[1].value, "saturated");
  EXPECT_DOUBLE_EQ(rows[1].median_abs, 100.0);
  for (const auto& row : rows) {
    if (row.axis == "model" && row.value == "a") {
      EXPECT_EQ(row.n, 1);
    }
    if (row.axis == "batch") {
      EXPECT_EQ(row.value, "4-7");  // five in flight
    }
  }
}

TEST(Scores, PeersAreComparedOnTheirOwnRecords) {
  std::vector<ScoredRecord> records = {record_with(100, 110, "a"), record_with(100, 101, "a")};
  PeerPrediction peer{.name = "other", .figures = {}};
  peer.figures.at(Figure::kE2e, Level::kMean) = 150;
  records[0].evidence.peers.push_back(peer);
  const auto rows = score_peers(records);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].n, 1);
  EXPECT_DOUBLE_EQ(rows[0].median_abs, 50.0);
  EXPECT_DOUBLE_EQ(rows[0].our_median_abs, 10.0);
}

TEST(Scores, SaturationIsSeenFromFlagsThroughputAndTheCache) {
  PartPrediction result;
  std::string reason;
  Evidence evidence;
  result.problem = "no such network";
  EXPECT_EQ(standing_of(evidence, result, reason), Standing::kUnpredicted);
  EXPECT_EQ(reason, "no such network");
  result.prediction.emplace();
  EXPECT_EQ(standing_of(evidence, result, reason), Standing::kScored);
  evidence.offered_per_s = 10.0;
  evidence.completed_per_s = 9.7;
  EXPECT_EQ(standing_of(evidence, result, reason), Standing::kScored);
  evidence.completed_per_s = 9.6;
  EXPECT_EQ(standing_of(evidence, result, reason), Standing::kSaturated);
  evidence.completed_per_s = 10.0;
  result.prediction->kv_limited = true;
  EXPECT_EQ(standing_of(evidence, result, reason), Standing::kSaturated);
  result.prediction->kv_limited = false;
  evidence.flags = {"overloaded_burst"};
  EXPECT_EQ(standing_of(evidence, result, reason), Standing::kSaturated);
}

// 100 random arrivals take 10 % more or less of their time: a client's result that only states
// their rate is behind from 1 - 0.03 - 2 * 0.1 of it on.
TEST(Scores, RandomArrivalsMayTakeLongerByChance) {
  PartPrediction result;
  result.prediction.emplace();
  std::string reason;
  Evidence evidence;
  evidence.tells_server = false;
  evidence.stages.emplace_back();
  evidence.stages.front().requests = 100;
  evidence.offered_per_s = 10.0;
  evidence.completed_per_s = 7.8;
  EXPECT_EQ(standing_of(evidence, result, reason), Standing::kScored);
  evidence.completed_per_s = 7.6;
  EXPECT_EQ(standing_of(evidence, result, reason), Standing::kSaturated);
  evidence.completed_per_s = 9.6;
  evidence.stages.front().kind = StageLoad::Kind::kEven;
  EXPECT_EQ(standing_of(evidence, result, reason), Standing::kSaturated);
}

TEST(Scores, NoErrorWithoutBothSides) {
  ScoredRecord record = record_with(100, 110, "a");
  EXPECT_DOUBLE_EQ(record.error_pct(Figure::kE2e, Level::kMean).value(), 10.0);
  EXPECT_FALSE(record.error_pct(Figure::kTtft, Level::kMean).has_value());
  record.evidence.measured.at(Figure::kE2e, Level::kMean) = 0.0;
  EXPECT_FALSE(record.error_pct(Figure::kE2e, Level::kMean).has_value());
}

}  // namespace
}  // namespace ridgeline::evidence::validate
