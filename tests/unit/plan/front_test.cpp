#include "plan/front.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ridgeline::plan {
namespace {

using testing::ElementsAre;

PlanCandidate certified(const std::string& id, double usd, double watts) {
  PlanCandidate candidate;
  candidate.id = id;
  candidate.stage = Stage::kCertified;
  candidate.replicas = 1;
  candidate.cost.usd_per_hour = usd;
  candidate.cost.watts = Estimate{watts, watts, watts};
  return candidate;
}

TEST(Front, HoldsWhatNoOtherDominates) {
  Answer answer;
  answer.question.objectives = {Objective::kUsdPerHour, Objective::kWatts};
  answer.candidates = {certified("a", 1.0, 900.0),
                       certified("b", 2.0, 800.0),
                       certified("c", 2.0, 900.0),
                       certified("d", 0.5, 100.0)};
  answer.candidates[3].stage = Stage::kSimulated;  // Not certified: it dominates nothing.
  find_pareto(answer);
  EXPECT_THAT(answer.pareto, ElementsAre(0, 1));
  EXPECT_EQ(answer.candidates[2].dominated_by, "a");
}

TEST(Front, WhatHasTheNumbersOfAnotherIsItsTwin) {
  Answer answer;
  answer.candidates = {certified("a", 1.0, 900.0),
                       certified("b", 1.0, 900.0),
                       certified("c", 1.0, 900.0),
                       certified("d", 1.0, 900.0)};
  for (PlanCandidate& candidate : answer.candidates) {
    candidate.capacity = Interval{.value = 10.0, .lo = 9.0, .hi = 11.0};
  }
  answer.candidates[1].capacity->value = 10.05;
  answer.candidates[2].capacity->value = 12.0;
  answer.candidates[3].capacity->value = 14.0;
  for (std::size_t i = 0; i < answer.candidates.size(); ++i) {
    rank(i, 2, answer);
  }
  EXPECT_THAT(answer.ranking, ElementsAre(0, 2));
  EXPECT_THAT(answer.candidates[0].twins, ElementsAre(1));
}

TEST(Front, TheBestOfAnotherGpuTakesTheFewestOfThem) {
  std::vector<PlanCandidate> candidates(4);
  std::vector<Contender> contenders(4);
  const auto set = [&](std::size_t i, const char* gpu, std::int64_t gpus, double capacity) {
    candidates[i].gpu = gpu;
    candidates[i].gpus_per_replica = gpus;
    contenders[i].candidate = i;
    contenders[i].rules = {.load = 10.0, .most = 100};
    contenders[i].capacity.load = capacity;
  };
  set(0, "h100", 1, 10.0);
  set(1, "h200", 1, 2.0);   // Five of them.
  set(2, "h200", 4, 11.0);  // Four GPUs.
  set(3, "l40s", 1, 0.0);   // Serves nothing.
  EXPECT_THAT(best_of_other_gpus(contenders, candidates, {0}), ElementsAre(2));
  contenders[2].capacity.load = 9.0;  // It takes eight.
  EXPECT_THAT(best_of_other_gpus(contenders, candidates, {0}), ElementsAre(1));
}

/// Four deployments, one of each standing, and what each standing came to.
struct FourStandings {
  Answer answer;
  std::array<Answer, kStandings.size()> found;

  FourStandings() {
    const std::array<double, 4> costs = {6.0, 2.0, 3.0, 1.0};
    for (std::size_t i = 0; i < costs.size(); ++i) {
      PlanCandidate one = certified("", costs[i], 1.0);
      one.gpu = std::string(1, static_cast<char>('a' + i));
      one.unit_cost = costs[i];
      one.has_price = i % 2 == 0;
      one.bound = i < 2 ? "" : "a bound";
      EXPECT_EQ(one.standing(), kStandings[i]);
      answer.candidates.push_back(one);
      found[i].ranking = {i};
      found[i].pick = i;
    }
  }
};

TEST(RankStandings, TheAnswerIsWhatCanBeRankedAndTheOthersStandBehindIt) {
  FourStandings four;
  rank_standings(four.found, four.answer);
  EXPECT_EQ(four.answer.pick, 0U);
  EXPECT_THAT(four.answer.ranking, ElementsAre(0, 1, 2, 3));
}

TEST(RankStandings, ABoundIsNoAnswer) {
  FourStandings four;
  four.found[0] = {};
  four.found[1] = {};
  rank_standings(four.found, four.answer);
  EXPECT_EQ(four.answer.pick, std::nullopt);
  EXPECT_THAT(four.answer.ranking, ElementsAre(2, 3));
}

TEST(RankStandings, AcceptedBoundsAreRankedAmongWhatCostsInTheSameUnit) {
  FourStandings four;
  four.answer.question.accept_bounds = true;
  rank_standings(four.found, four.answer);
  EXPECT_EQ(four.answer.pick, 2U);
  EXPECT_THAT(four.answer.ranking, ElementsAre(2, 0, 3, 1));
}

TEST(RankStandings, WithoutAPriceItIsTheAnswerWhereNothingPricedSuffices) {
  FourStandings four;
  four.found[0].pick.reset();
  rank_standings(four.found, four.answer);
  EXPECT_EQ(four.answer.pick, 1U);
  EXPECT_THAT(four.answer.ranking, ElementsAre(1, 0, 2, 3));
}

}  // namespace
}  // namespace ridgeline::plan
