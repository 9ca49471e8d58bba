#include "plan/front.hpp"

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
  contenders[2].model_margin = 0.2;  // With doubt it takes eight.
  EXPECT_THAT(best_of_other_gpus(contenders, candidates, {0}), ElementsAre(1));
}

}  // namespace
}  // namespace ridgeline::plan
