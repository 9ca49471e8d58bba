#include "sim/horizon.hpp"

#include <memory>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "core/time.hpp"
#include "engine/options.hpp"
#include "scenario/deployment.hpp"
#include "scenario/resolve.hpp"

namespace ridgeline::sim {
namespace {

using core::Duration;
using core::SimTime;

TEST(Horizon, LeavesTheAnswerTimeToReachItsClient) {
  EXPECT_EQ(last_step_end({}), SimTime::last());
  engine::RequestPath path;
  path.network = Duration::seconds(1000);  // Before the step.
  path.emit = Duration::seconds(1);
  path.deliver = Duration::seconds(20);
  path.close = Duration::seconds(300);
  EXPECT_EQ(last_step_end(path), SimTime::last() - Duration::seconds(321));
}

TEST(Horizon, LiesBeforeTheStartWhereNoAnswerArrivesInTime) {
  // Each within the range of the option, their sum beyond that of int64.
  engine::RequestPath path;
  path.emit = Duration::seconds(9'000'000);
  path.deliver = Duration::seconds(9'000'000);
  path.close = Duration::seconds(9'000'000);
  EXPECT_LT(last_step_end(path), SimTime());
  path = engine::RequestPath();
  path.deliver = SimTime::last().since_start();
  EXPECT_EQ(last_step_end(path), SimTime());
}

TEST(Horizon, ARunThatIsTooLongNamesItsSize) {
  scenario::Resolved resolved;
  resolved.deployment = std::make_shared<scenario::Deployment>();
  resolved.workload.section.num_prompts = 3000;
  const core::Error error = past_horizon(resolved, 17, 3000);
  EXPECT_EQ(error.code, core::ErrorCode::kInfeasible);
  EXPECT_EQ(error.field, "workload.num_prompts");
  EXPECT_EQ(error.message,
            "the run passes 9200000 s, the range of simulated time, with 17 of 3000 requests "
            "answered; expected it to end before");
  resolved.workload.section.num_prompts.reset();
  EXPECT_EQ(past_horizon(resolved, 0, std::nullopt).field, "workload");
  EXPECT_THAT(past_horizon(resolved, 0, std::nullopt).message,
              testing::HasSubstr("with 0 requests answered"));
  resolved.workload.section.trace = "t.csv";
  EXPECT_EQ(past_horizon(resolved, 0, std::nullopt).field, "workload.trace");
}

TEST(Horizon, ATimeOfTheServerThatIsHoursLongIsNamedInstead) {
  const auto deployment = std::make_shared<scenario::Deployment>();
  scenario::Resolved resolved;
  resolved.deployment = deployment;
  resolved.workload.section.num_prompts = 3000;
  deployment->engine.grammars =
      engine::GrammarTimes{.compile = Duration::seconds(9'000'000), .mask = {}};
  EXPECT_EQ(past_horizon(resolved, 0, 3000).field, "serving.grammar_compile_time");
  deployment->host.per_step = Duration::seconds(9'000'000);
  EXPECT_EQ(past_horizon(resolved, 0, 3000).field, "serving.host_step_time");
  deployment->path.deliver = Duration::seconds(9'000'000);
  EXPECT_EQ(past_horizon(resolved, 0, 3000).field, "serving.delivery_time");
}

}  // namespace
}  // namespace ridgeline::sim
