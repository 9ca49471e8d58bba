#include "verbs/run/make_result.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/version.hpp"
#include "domain/record.hpp"
#include "metrics/slo.hpp"
#include "metrics/summary.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "sim/simulation.hpp"

namespace ridgeline::verbs {
namespace {

scenario::Resolved small_run() {
  auto loaded = scenario::load_scenario(std::nullopt,
                                        {{"model", "llama-3.1-8b"},
                                         {"gpu", "h100"},
                                         {"workload.request_rate", "2"},
                                         {"workload.input_len", "10"},
                                         {"workload.output_len", "10"}},
                                        scenario::Purpose::kRun);
  EXPECT_TRUE(loaded);
  return *scenario::resolve(std::move(*loaded));
}

TEST(RunResultOf, TellsHowFastAndHowMuchWasJumped) {
  sim::RunOutcome outcome;
  outcome.summary.by_outcome[0] = 30;
  outcome.summary.completed = 30;
  outcome.summary.duration_s = 15.0;
  outcome.totals.steps = 8;
  outcome.totals.jumped_steps = 6;
  outcome.digest = "d";
  const RunResult result =
      run_result(small_run(), outcome, {.wall_time_s = 0.5, .host = "here", .engine_core = "fast"});
  EXPECT_EQ(result.run_info.version, core::version());
  EXPECT_EQ(result.run_info.host, "here");
  EXPECT_EQ(result.run_info.requests_per_second, 60.0);
  EXPECT_EQ(result.run_info.simulated_per_wall, 30.0);
  EXPECT_EQ(result.run_info.jumped_share, 0.75);
  EXPECT_EQ(result.digest, "d");
  EXPECT_EQ(result.config.find("model")->as_string(), "llama-3.1-8b");
}

TEST(RunResultOf, NothingAnsweredIsAnError) {
  const auto resolved = small_run();
  metrics::Summary summary;
  EXPECT_FALSE(unanswered(resolved, summary));  // There was no request.
  summary.by_outcome[static_cast<std::size_t>(domain::Outcome::kRejected)] = 3;
  const auto error = unanswered(resolved, summary);
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message, ::testing::HasSubstr("none of 3 requests got an answer, 3 were"));
  summary.by_outcome = {};
  summary.by_outcome[static_cast<std::size_t>(domain::Outcome::kFailed)] = 2;
  EXPECT_EQ(unanswered(resolved, summary)->message,
            "none of 2 requests got an answer, 2 ended as failed");
  summary.completed = 1;
  EXPECT_FALSE(unanswered(resolved, summary));
}

TEST(RunResultOf, MissedTargetsAreNamed) {
  metrics::Summary summary;
  summary.completed = 1;
  summary.slo.emplace_back();
  summary.slo.back().metric = metrics::Metric::kTtft;
  summary.slo.back().limit_ms = 50.0;
  summary.slo.back().met = true;
  EXPECT_EQ(missed_targets(summary), "");
  summary.slo.back().met = false;
  summary.slo.back().value_ms = 80.0;
  EXPECT_THAT(missed_targets(summary), ::testing::StartsWith("slo.ttft missed: "));
  EXPECT_THAT(missed_targets(summary),
              ::testing::EndsWith(" is 80.0 ms, expected at most 50.0 ms\n"));
}

}  // namespace
}  // namespace ridgeline::verbs
