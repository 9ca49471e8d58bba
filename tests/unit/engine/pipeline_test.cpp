#include "engine/pipeline.hpp"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "core/time.hpp"
#include "domain/request.hpp"
#include "domain/step.hpp"
#include "engine/options.hpp"
#include "latency/step_time_model.hpp"
#include "support/drive.hpp"
#include "support/probe_run.hpp"

namespace ridgeline::engine {
namespace {

using core::Duration;
using core::SimTime;

constexpr Duration kStage = Duration::milliseconds(10);

/// Stages of 10 ms each, whatever the batch.
class EqualStages final : public latency::StepTimeModel {
 public:
  explicit EqualStages(std::int64_t count) : count_(count) {}

  [[nodiscard]] domain::StepTime predict(const domain::StepBatch& /*batch*/) const override {
    domain::StepTime time;
    time.add(domain::Bottleneck::kMemory, kStage * count_);
    return time;
  }
  [[nodiscard]] std::vector<Duration> stages(const domain::StepBatch& /*batch*/) const override {
    return std::vector<Duration>(static_cast<std::size_t>(count_), kStage);
  }
  [[nodiscard]] latency::Explanation explain(const domain::StepBatch& batch) const override {
    latency::Explanation explanation;
    explanation.total = predict(batch);
    return explanation;
  }

 private:
  std::int64_t count_;
};

TEST(Pipeline, EqualMicroBatchesLeaveOneStageApartOnceItIsFull) {
  // m micro-batches through p stages of time t: (m + p - 1) * t, whatever m and p.
  for (const std::int64_t p : {1, 2, 4, 7}) {
    for (const std::int64_t m : {1, 3, 4, 16}) {
      Pipeline pipeline;
      const std::vector<Duration> times(static_cast<std::size_t>(p), kStage);
      SimTime last;
      for (std::int64_t i = 0; i < m; ++i) {
        last = pipeline.pass(SimTime(), times);
      }
      EXPECT_EQ(last, SimTime::at(kStage * (m + p - 1))) << m << " through " << p;
    }
  }
}

TEST(Pipeline, TheSlowestStageSetsThePace) {
  // 2, 5 and 1 ms: the first leaves after 8, each further one 5 later.
  Pipeline pipeline;
  const std::vector<Duration> times = {
      Duration::milliseconds(2), Duration::milliseconds(5), Duration::milliseconds(1)};
  for (const std::int64_t end : {8, 13, 18}) {
    EXPECT_EQ(pipeline.pass(SimTime(), times), SimTime::at(Duration::milliseconds(end)));
  }
  // Once it is empty, nothing of it is left.
  EXPECT_EQ(pipeline.pass(SimTime::at(Duration::milliseconds(100)), times),
            SimTime::at(Duration::milliseconds(108)));
}

TEST(Pipeline, ProportionsKeepTheTotal) {
  domain::StepTime time;
  time.add(domain::Bottleneck::kCompute, Duration::ticks(1));
  time.add(domain::Bottleneck::kMemory, Duration::ticks(1));
  time.add(domain::Bottleneck::kOverhead, Duration::ticks(1));
  const domain::StepTime less = in_proportion(time, Duration::ticks(2));
  EXPECT_EQ(less.gpu(), Duration::ticks(2));
  EXPECT_EQ(less.of(domain::Bottleneck::kNetwork), Duration());
  EXPECT_EQ(in_proportion(time, Duration::ticks(300)).of(domain::Bottleneck::kMemory),
            Duration::ticks(100));
}

/// Prompts that each fill the budget of a step, all there at the start.
std::vector<domain::Request> prompts(std::uint32_t count, std::int64_t output) {
  std::vector<domain::Request> requests;
  for (std::uint32_t i = 0; i < count; ++i) {
    requests.push_back(test::tiny_request(i, 16, output));
    requests.back().arrival = {};
  }
  return requests;
}

EngineOptions piped(std::int64_t stages) {
  EngineOptions options = test::tiny_options("0.15");
  options.pipeline_depth = stages;
  return options;
}

TEST(Pipeline, AnEngineFillsItsStagesWithSteps) {
  // One prompt a step: 6 through 4 stages take (6 + 4 - 1) * 10 ms; one at a time they would take
  // 6 * 4 * 10.
  const auto run =
      test::run_engine(piped(4), EqualStages(4), {}, prompts(6, 1), test::Twin::kReference);
  EXPECT_EQ(run.end, SimTime::at(kStage * 9));
  EXPECT_EQ(run.totals.busy, kStage * 9);
  EXPECT_EQ(run.totals.step_time.gpu(), run.totals.busy);
  const auto in_turn =
      test::run_engine(piped(1), EqualStages(4), {}, prompts(6, 1), test::Twin::kReference);
  EXPECT_EQ(in_turn.end, SimTime::at(kStage * 24));
}

TEST(Pipeline, ATokenOfALoneRequestPassesEveryStage) {
  // Nothing else is there to fill the bubbles: 1 prompt and 4 decodes, each through all 4 stages.
  const auto run =
      test::run_engine(piped(4), EqualStages(4), {}, prompts(1, 5), test::Twin::kReference);
  EXPECT_EQ(run.end, SimTime::at(kStage * 20));
}

TEST(Pipeline, AsManyCohortsAsStagesHideTheBubbles) {
  // Four requests in four steps, each then decoding in its own step: the stages are full, and each
  // round of four tokens takes 4 stages' time: 4 prompts, 4 * 9 decodes, 3 stages to drain.
  const auto run =
      test::run_engine(piped(4), EqualStages(4), {}, prompts(4, 10), test::Twin::kReference);
  EXPECT_EQ(run.end, SimTime::at(kStage * (40 + 3)));
}

}  // namespace
}  // namespace ridgeline::engine
