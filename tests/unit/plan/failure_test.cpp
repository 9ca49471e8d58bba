#include "plan/failure.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ridgeline::plan {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Answer answer_of_one(Stage stage) {
  Answer answer;
  answer.question.confidence = 0.9;
  answer.question.slo.targets = {percentile_target(
      metrics::Metric::kTtft, metrics::Statistic::kP99, core::Duration::milliseconds(100))};
  answer.search.points = 1;
  PlanCandidate candidate;
  candidate.label = "h100 TP1";
  candidate.stage = stage;
  answer.candidates = {candidate};
  return answer;
}

TEST(ExplainFailure, NamesTheProofAndTheMostThatCanBeServed) {
  Answer answer = answer_of_one(Stage::kBound);
  answer.candidates.front().dropped_stage = "bound";
  answer.candidates.front().dropped_reason = "TTFT is 200 ms without load";
  answer.search.bounded = 1;
  Points points;
  points.demand.rate = 50.0;
  points.misses = {
      {.target = 0, .limit = core::Duration::milliseconds(200), .candidate = 0, .proof = {}}};
  Contender contender;
  contender.capacity.load = 10.0;
  contender.rules.most = 3;
  explain_failure(points, {contender}, answer);
  EXPECT_TRUE(answer.is_infeasible);
  EXPECT_THAT(answer.failure, HasSubstr("1 cannot even without load (h100 TP1: TTFT is 200 ms"));
  EXPECT_THAT(answer.nearest,
              ElementsAre(HasSubstr("TTFT 200 ms with h100 TP1"), "30 req/s with 3 x h100 TP1"));
}

TEST(ExplainFailure, NamesTheSmallestBeyondTheLimits) {
  Answer answer;
  answer.rejected = {
      {.reason = "more GPUs than the limits allow", .count = 2, .example = {}, .nearest = {}}};
  Points points;
  points.beyond_limits = {.label = "h200 TP2", .gpu = "h200", .gpus = 2};
  explain_failure(points, {}, answer);
  EXPECT_THAT(answer.nearest, ElementsAre("2 h200 for one replica of h200 TP2"));
}

TEST(ExplainFailure, NamesTheSurest) {
  Answer answer = answer_of_one(Stage::kCertified);
  answer.candidates.front().replicas = 2;
  answer.candidates.front().p_feasible = 0.8;
  explain_failure({}, {}, answer);
  EXPECT_FALSE(answer.is_infeasible);
  EXPECT_THAT(answer.failure, HasSubstr("the surest is 2 x h100 TP1, 80 %"));
}

TEST(ExplainFailure, ABoundIsNamedAsOne) {
  Answer answer = answer_of_one(Stage::kCertified);
  answer.candidates.front().replicas = 2;
  answer.candidates.front().bound = "a bound, not an estimate: so";
  answer.ranking = {0};
  explain_failure({}, {}, answer);
  EXPECT_FALSE(answer.is_infeasible);
  EXPECT_THAT(answer.failure,
              HasSubstr("at best 2 x h100 TP1 does, which is a bound, not an estimate: so"));
  EXPECT_THAT(answer.nearest, ElementsAre(HasSubstr("--accept-bounds")));
}

TEST(ExplainFailure, OfAnInterruptSaysWhatIsShown) {
  Answer answer = answer_of_one(Stage::kSimulated);
  answer.partial = true;
  explain_failure({}, {}, answer);
  EXPECT_THAT(answer.failure, HasSubstr("before any deployment was simulated"));
  answer.ranking = {0};
  explain_failure({}, {}, answer);
  EXPECT_THAT(answer.failure, HasSubstr("the best so far"));
}

}  // namespace
}  // namespace ridgeline::plan
