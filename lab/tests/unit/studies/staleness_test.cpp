#include "lab/studies/staleness.hpp"

#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/registry.hpp"
#include "lab/studies/study.hpp"

namespace ridgeline::studies {
namespace {

Outcome judged(const StalenessPlan& plan) {
  const Study study = study_staleness();
  const StudyOptions options;
  return judge_staleness(plan, Lab(study, options)).value();
}

double waiting(const Outcome& outcome, const char* policy, double delay_s) {
  for (const document::Node& row : outcome.tables[0].rows) {
    if (row.find("policy")->as_string() == policy && row.find("delay_s")->as_real() == delay_s) {
      return row.find("ttft_mean_ms")->as_real();
    }
  }
  ADD_FAILURE() << policy << ' ' << delay_s;
  return 0.0;
}

// Whatever was idle two seconds ago gets every request of two seconds.
TEST(Staleness, GaugesTwoSecondsOldAreWorseThanChanceAndFreshOnesBetter) {
  const Outcome outcome = judged({.sizes = {4},
                                  .delays_s = {0.001, 2.0},
                                  .policies = {"random", "llm-d"},
                                  .requests_per_instance = 100});
  const double chance = waiting(outcome, "random", 0.001);
  EXPECT_LT(waiting(outcome, "llm-d", 0.001), chance);
  EXPECT_GT(waiting(outcome, "llm-d", 2.0), chance);
  ASSERT_EQ(outcome.tables[0].rows.size(), 3U);  // Chance knows nothing that could be old.
  ASSERT_EQ(outcome.tables[1].rows.size(), 1U);
  EXPECT_EQ(outcome.tables[1].rows[0].find("from_delay_s")->as_real(), 2.0);
  EXPECT_EQ(outcome.by_rule, Verdict::kConfirmed);
}

TEST(Staleness, TheOracleIsNeverBehindChance) {
  const Outcome outcome = judged({.sizes = {4},
                                  .delays_s = {1.0},
                                  .policies = {"random", "jsq-oracle"},
                                  .requests_per_instance = 100});
  EXPECT_LT(waiting(outcome, "jsq-oracle", 1.0), waiting(outcome, "random", 1.0));
  EXPECT_TRUE(outcome.tables[1].rows.empty());
}

}  // namespace
}  // namespace ridgeline::studies
