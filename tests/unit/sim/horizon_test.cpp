#include "sim/horizon.hpp"

#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "core/time.hpp"
#include "engine/options.hpp"
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
  resolved.scenario.workload.num_prompts = 3000;
  const core::Error error = past_horizon(resolved, 17, 3000);
  EXPECT_EQ(error.code, core::ErrorCode::kInfeasible);
  EXPECT_EQ(error.field, "workload.num_prompts");
  EXPECT_EQ(error.message,
            "the run passes 9200000 s, the range of simulated time, with 17 of 3000 requests "
            "answered; expected it to end before");
  resolved.scenario.workload.num_prompts.reset();
  EXPECT_EQ(past_horizon(resolved, 0, std::nullopt).field, "workload");
  EXPECT_THAT(past_horizon(resolved, 0, std::nullopt).message,
              testing::HasSubstr("with 0 requests answered"));
  resolved.scenario.workload.trace = "t.csv";
  EXPECT_EQ(past_horizon(resolved, 0, std::nullopt).field, "workload.trace");
}

TEST(Horizon, ATimeOfTheServerThatIsHoursLongIsNamedInstead) {
  scenario::Resolved resolved;
  resolved.scenario.workload.num_prompts = 3000;
  resolved.host.per_step = Duration::seconds(9'000'000);
  EXPECT_EQ(past_horizon(resolved, 0, 3000).field, "serving.host_step_time");
  resolved.path.deliver = Duration::seconds(9'000'000);
  EXPECT_EQ(past_horizon(resolved, 0, 3000).field, "serving.delivery_time");
}

}  // namespace
}  // namespace ridgeline::sim
