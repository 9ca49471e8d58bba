#include "lab/scoring/ranking.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "lab/scoring/evidence_words.hpp"
#include "lab/scoring/left_out_bands.hpp"
#include "latency/accuracy/bands.hpp"

namespace ridgeline::scoring {
namespace {

/// A closed loop of 10 clients with answers of 101 tokens; the first token takes 100 ms on both
/// sides, `ratio` is predicted over measured.
ScoredRecord point(const std::string& group, std::int64_t tp, double tpot, double ratio) {
  ScoredRecord made;
  made.evidence.model = group;
  made.evidence.workload = "w";
  made.evidence.tensor_parallel = tp;
  made.evidence.output.mean = 101.0;
  StageLoad stage;
  stage.kind = StageLoad::Kind::kClosed;
  stage.concurrency = 10;
  made.evidence.stages.push_back(stage);
  made.evidence.measured.at(Figure::kTtft, Level::kMean) = 100.0;
  made.evidence.measured.at(Figure::kTpot, Level::kMean) = tpot;
  made.prediction.emplace();
  made.prediction->likeness = {
      "h100", "dense", "bf16", "closed", "vllm", group + " TP" + std::to_string(tp)};
  made.prediction->figures.at(Figure::kTtft, Level::kMean) = 100.0;
  made.prediction->figures.at(Figure::kTpot, Level::kMean) = tpot * ratio;
  return made;
}

/// TP 1, 2 and 4 at 19, 12 and 8 ms: dearer with every step.
void add_group(std::vector<ScoredRecord>& records, const std::string& name, double ratio) {
  records.push_back(point(name, 1, 19.0, ratio));
  records.push_back(point(name, 2, 12.0, ratio));
  records.push_back(point(name, 4, 8.0, ratio));
}

/// Deployments enough for a band, each a group of its own that offers no choice; every second is
/// predicted too high by `ratio`, the others as much too low.
constexpr int kOthers = 30;
std::vector<ScoredRecord> others(double ratio = 1.0) {
  std::vector<ScoredRecord> records;
  for (int i = 0; i < kOthers; ++i) {
    records.push_back(
        point("other" + std::to_string(i), 1, 20.0, i % 2 == 0 ? ratio : 1.0 / ratio));
  }
  return records;
}

TEST(Ranking, ExactPredictionsCostNothing) {
  std::vector<ScoredRecord> records = others();
  add_group(records, "a", 1.0);
  add_group(records, "b", 1.0);
  records.push_back(point("c", 1, 20.0, 1.0));
  const Ranking ranking = rank(records);
  EXPECT_EQ(ranking.small_groups, kOthers + 1);
  EXPECT_EQ(ranking.by, BandsOf::kLeftOut);
  ASSERT_EQ(ranking.by_confidence.size(), 2U);
  const RankingRow& all = ranking.by_confidence[0].all;
  EXPECT_EQ(all.points, 6);
  EXPECT_EQ(all.violations, 0);
  EXPECT_EQ(all.max_regret_pct, 0.0);
  // All limits of TTFT hold; TPOT limits from 10 ms on have an answer: ten of twelve.
  EXPECT_EQ(all.picks, 2 * 10 * 6);
  EXPECT_EQ(all.one_sided, 0);
}

/// Predicted a tenth too fast, TP1 is taken for 17.3 ms: no limit lies between. TP2's 10.9 lies
/// below 12.5 as 12 does; TP4's 7.3 below 7.5, where 8 does not.
TEST(Ranking, WhatIsTakenForFasterBreaksLimitsThatNothingKeeps) {
  std::vector<ScoredRecord> records = others();
  add_group(records, "a", 1.0 / 1.1);
  const Ranking ranking = rank(records);
  const RankingRow& row = ranking.by_confidence[0].groups[0];
  EXPECT_EQ(row.group, "a  w");
  // At 7.5 ms the prediction has a pick and the measurement none: broken as any other.
  EXPECT_EQ(row.one_sided, 6);
  EXPECT_EQ(row.violations, 6);
  EXPECT_EQ(row.picks, 66);
  EXPECT_EQ(row.max_regret_pct, 0.0);
}

/// A point that measured 10.4 ms and is predicted 9.9 keeps the limit of 10 by prediction alone.
TEST(Ranking, ABrokenLimitIsCountedWithItsExcess) {
  std::vector<ScoredRecord> records = others();
  for (const auto& one :
       {point("a", 1, 10.4, 9.9 / 10.4), point("a", 2, 6.0, 1.0), point("a", 4, 5.5, 1.0)}) {
    records.push_back(one);
  }
  const RankingRow row = rank(records).by_confidence[0].groups[0];
  EXPECT_EQ(row.violations, 6);
  EXPECT_NEAR(row.worst_over_pct, 4.0, 1e-9);
  EXPECT_NEAR(row.violations_pct(), 100.0 * 6 / static_cast<double>(row.picks), 1e-9);
  EXPECT_EQ(row.max_regret_pct, 0.0);
}

/// Where others were off by a tenth either way, a point close to its limit is not sure at 90 %.
TEST(Ranking, OtherDeploymentsErrorsMakeAPickLessSure) {
  std::vector<ScoredRecord> records = others(1.1);
  for (const auto& one :
       {point("a", 1, 9.8, 1.0), point("a", 2, 6.0, 1.0), point("a", 4, 4.0, 1.0)}) {
    records.push_back(one);
  }
  const Ranking ranking = rank(records);
  const RankingRow half = ranking.by_confidence[0].groups[0];
  const RankingRow sure = ranking.by_confidence[1].groups[0];
  EXPECT_EQ(half.max_regret_pct, 0.0);
  EXPECT_EQ(half.violations + sure.violations, 0);
  // At 10 ms the next dearer point is taken.
  EXPECT_GT(sure.max_regret_pct, 0.0);
  std::int64_t picks = 0;
  for (const SureBin& bin : ranking.bins) {
    picks += bin.picks;
    EXPECT_EQ(bin.held, bin.picks == 0 ? 0.0 : 1.0);
    EXPECT_EQ(bin.held_by_deployment, bin.held);
  }
  EXPECT_EQ(picks, ranking.by_confidence[0].all.picks + ranking.by_confidence[1].all.picks);
  EXPECT_LE(ranking.bins[kSureBins - 1].said, accuracy::kMostSure);
}

/// A deployment's own records say nothing of how sure it is.
TEST(Ranking, ADeploymentIsNotJudgedByItself) {
  std::vector<ScoredRecord> records = others();
  for (int i = 0; i < 3; ++i) {
    records.push_back(point("a", 1, 30.0 + i, 0.5));
  }
  const RankingAt sure = rank(records).by_confidence[1];
  EXPECT_GT(sure.all.violations, 0);
}

TEST(Ranking, TooFewDeploymentsAreJudgedByTheBandsOfResults) {
  std::vector<ScoredRecord> records;
  add_group(records, "a", 1.0);
  EXPECT_EQ(rank(records).by, BandsOf::kShipped);
  EXPECT_GT(rank(records).by_confidence[0].all.picks, 0);
}

TEST(Ranking, ABoundIsNeverPicked) {
  std::vector<ScoredRecord> records = others();
  add_group(records, "a", 1.0);
  for (ScoredRecord& record : records) {
    record.prediction->bound = record.evidence.model == "a";
  }
  const Ranking ranking = rank(records);
  EXPECT_EQ(ranking.without_band, 3);
  EXPECT_EQ(ranking.by_confidence[0].all.picks, 0);
}

/// Lists of requests state no mean: 10 clients whose answers of 101 tokens take 2 s.
TEST(Ranking, AnAnswersLengthIsThatOfTheRequestsSimulated) {
  std::vector<ScoredRecord> records = others();
  add_group(records, "a", 1.0);
  const double stated = rank(records).by_confidence[1].all.mean_regret_pct;
  for (ScoredRecord& record : records) {
    record.evidence.output.mean = 0.0;
  }
  EXPECT_TRUE(rank(records).by_confidence[1].groups.empty());
  for (ScoredRecord& record : records) {
    record.prediction->mean_in_flight = 10.0;
    record.prediction->figures.at(Figure::kE2e, Level::kMean) = 2'000.0;
    record.prediction->figures.at(Figure::kOutputThroughput, Level::kMean) = 505.0;
  }
  EXPECT_EQ(rank(records).by_confidence[1].all.mean_regret_pct, stated);
}

TEST(Ranking, PricesAreRelativeToAnH100) {
  EXPECT_EQ(relative_price("h100"), 1.0);
  EXPECT_EQ(relative_price("h200"), 1.2);
  EXPECT_EQ(relative_price("abacus"), 1.0);
  EXPECT_TRUE(rank({}).by_confidence[0].groups.empty());
}

}  // namespace
}  // namespace ridgeline::scoring
