#include "sim/simulation.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "domain/token_sink.hpp"
#include "engine/options.hpp"
#include "engine/serving.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/slo.hpp"
#include "scenario/deployment.hpp"
#include "scenario/resolve.hpp"
#include "support/linear_model.hpp"
#include "workload/source.hpp"

namespace ridgeline::sim {
namespace {

using core::Duration;
using core::SimTime;
using core::Tokens;

SimTime at_us(std::int64_t count) {
  return SimTime::at(Duration::microseconds(count));
}

/// A step takes 1 ms and 10 us per token; the engine is synchronous and its host costs nothing.
std::shared_ptr<scenario::Deployment> small_deployment(const engine::RequestPath& path) {
  auto deployment = std::make_shared<scenario::Deployment>();
  deployment->engine.max_num_seqs = 8;
  deployment->engine.max_num_batched_tokens = Tokens(512);
  deployment->engine.max_model_len = Tokens(400);
  deployment->engine.num_gpu_blocks = core::Blocks(1000);
  deployment->engine.enable_prefix_caching = false;
  deployment->engine.async_scheduling = false;
  deployment->host = {.per_step = {}, .per_sequence = {}};
  deployment->path = path;
  deployment->latency = std::make_unique<test::LinearModel>();
  return deployment;
}

scenario::Resolved small_engine(const engine::RequestPath& path) {
  scenario::Resolved resolved;
  resolved.deployment = small_deployment(path);
  return resolved;
}

/// Hands out a fixed list of requests. A closed loop sends the next when the one before is
/// answered.
class ScriptedSource final : public workload::Source {
 public:
  struct Sent {
    SimTime arrival;  ///< For open loops.
    std::int64_t prompt;
    std::int64_t output;
  };

  ScriptedSource(std::vector<Sent> script, std::int64_t clients = 0) : closed_(clients > 0) {
    for (std::size_t i = 0; i < script.size(); ++i) {
      domain::Request request;
      request.id = core::RequestId(static_cast<std::uint32_t>(i));
      request.arrival = script[i].arrival;
      request.prompt_tokens = Tokens(script[i].prompt);
      request.output_tokens = Tokens(script[i].output);
      request.max_tokens = request.output_tokens;
      waiting_.push_back(request);
    }
    for (std::int64_t i = 0; closed_ && i < clients; ++i) {
      ready_.emplace_back();
    }
  }

  std::optional<SimTime> next_arrival() override {
    if (waiting_.empty() || (closed_ && ready_.empty())) {
      return std::nullopt;
    }
    return closed_ ? ready_.front() : waiting_.front().arrival;
  }
  domain::Request pop() override {
    ++popped;
    domain::Request request = std::move(waiting_.front());
    waiting_.pop_front();
    if (closed_) {
      request.arrival = ready_.front();
      ready_.pop_front();
    }
    return request;
  }
  [[nodiscard]] bool is_closed_loop() const override { return closed_; }
  void on_completion(core::RequestId id, SimTime time) override {
    completions.emplace_back(id, time);
    ready_.push_back(time);
  }
  [[nodiscard]] const core::Errors& errors() const override { return problems; }

  std::vector<std::pair<core::RequestId, SimTime>> completions;
  core::Errors problems;
  std::int64_t popped = 0;

 private:
  bool closed_;
  std::deque<domain::Request> waiting_;
  std::deque<SimTime> ready_;
};

/// Records by id.
class Log final : public metrics::Listener {
 public:
  void on_request(const domain::RequestRecord& record,
                  const metrics::RequestMetrics& metrics) override {
    records.resize(std::max<std::size_t>(records.size(), record.id.value() + 1));
    measured.resize(records.size());
    records[record.id.value()] = record;
    measured[record.id.value()] = metrics;
    ++count;
  }
  std::vector<domain::RequestRecord> records;
  std::vector<metrics::RequestMetrics> measured;
  std::int64_t count = 0;
};

struct Variant {
  const char* name;
  engine::EngineCore core;
  bool jump;
};
class EveryEngine : public testing::TestWithParam<Variant> {
 protected:
  RunOutcome run(const scenario::Resolved& resolved, ScriptedSource& source) {
    const RunControls controls{.core = GetParam().core, .jump = GetParam().jump, .listener = &log};
    auto outcome = simulate(resolved, source, controls);
    EXPECT_TRUE(outcome);
    return std::move(*outcome);
  }
  Log log;
};
INSTANTIATE_TEST_SUITE_P(Simulate,
                         EveryEngine,
                         testing::Values(Variant{"reference", engine::EngineCore::kReference, true},
                                         Variant{"stepping", engine::EngineCore::kFast, false},
                                         Variant{"jumping", engine::EngineCore::kFast, true}),
                         [](const auto& variant) { return variant.param.name; });

TEST_P(EveryEngine, ARequestPassesTheWholePath) {
  const auto resolved = small_engine(engine::serving_constants().path);
  ScriptedSource source({{SimTime(), 100, 3}});
  const auto outcome = run(resolved, source);
  // Network 1.95, frontend 0.75 + 100 x 0.0015 ms.
  EXPECT_EQ(log.records[0].queued, at_us(2850));
  // 1 ms + 100 tokens; then 1 ms + 1 token, twice.
  EXPECT_EQ(log.records[0].first_token, at_us(2850 + 2000));
  EXPECT_EQ(log.records[0].last_token, at_us(2850 + 2000 + 2 * 1010));
  // Emission 0.875 ms and delivery 1.95 ms; the close 1.5 ms.
  EXPECT_EQ(log.measured[0].ttft, Duration::microseconds(4850 + 2825));
  EXPECT_EQ(log.measured[0].e2e, Duration::microseconds(6870 + 2825 + 1500));
  EXPECT_EQ(outcome.summary.completed, 1);
  EXPECT_FALSE(outcome.partial);
}

TEST_P(EveryEngine, TokensAreHandedOverAsTheyComeOut) {
  struct Given final : domain::TokenSink {
    void on_tokens(SimTime end, std::span<const domain::TokenEvent> events) override {
      ends.push_back(end);
      for (const domain::TokenEvent& event : events) {
        count += event.tokens;
      }
    }
    std::vector<SimTime> ends;
    core::Tokens count;
  } tokens;
  const auto resolved = small_engine(engine::RequestPath::off());
  const std::vector<ScriptedSource::Sent> script = {{SimTime(), 10, 3}, {at_us(1100), 20, 2}};
  ScriptedSource source(script);
  const auto with = simulate(
      resolved, source, {.core = GetParam().core, .jump = GetParam().jump, .tokens = &tokens});
  ASSERT_TRUE(with);
  // 1 ms + 10 tokens; a decode and 20 tokens; two decodes.
  EXPECT_EQ(tokens.ends, (std::vector{at_us(1100), at_us(2310), at_us(3330)}));
  EXPECT_EQ(tokens.count, core::Tokens(5));
  ScriptedSource again(script);
  EXPECT_EQ(run(resolved, again).digest, with->digest);
}

TEST_P(EveryEngine, RequestsOfOneInstantShareItsBatch) {
  const auto resolved = small_engine(engine::RequestPath::off());
  ScriptedSource source({{SimTime(), 10, 1}, {SimTime(), 10, 1}, {at_us(1200), 10, 1}});
  const auto outcome = run(resolved, source);
  // 1 ms + 20 tokens for the first two.
  EXPECT_EQ(log.records[0].first_token, at_us(1200));
  EXPECT_EQ(log.records[1].first_token, at_us(1200));
  // The third comes at the very instant at which the next batch is formed.
  EXPECT_EQ(log.records[2].first_token, at_us(1200 + 1100));
  EXPECT_EQ(outcome.totals.steps, 2);
}

TEST_P(EveryEngine, AnAnswerBringsTheNextRequestIntoTheSameInstant) {
  const auto resolved = small_engine(engine::RequestPath::off());
  // Two clients: the first request is long, the second short, the third follows the second.
  ScriptedSource source({{SimTime(), 10, 10}, {SimTime(), 10, 1}, {SimTime(), 20, 1}}, 2);
  run(resolved, source);
  EXPECT_EQ(log.records[1].last_token, at_us(1200));
  EXPECT_EQ(log.records[2].arrival, at_us(1200));
  // One decode and 20 prompt tokens.
  EXPECT_EQ(log.records[2].first_token, at_us(1200 + 1210));
  ASSERT_EQ(source.completions.size(), 3U);
  EXPECT_EQ(source.completions[0].first, core::RequestId(1));
  EXPECT_EQ(source.completions[1].first, core::RequestId(2));
  // Eight decodes alone after the shared step: 1.01 ms each.
  EXPECT_EQ(source.completions[2].second, at_us(1200 + 1210 + 8 * 1010));
}

TEST_P(EveryEngine, ARefusalGoesBackToItsClient) {
  const auto resolved = small_engine(engine::serving_constants().path);
  ScriptedSource source({{SimTime(), 402, 1}, {SimTime(), 100, 1}}, 1);
  const auto outcome = run(resolved, source);
  EXPECT_EQ(outcome.summary.count(domain::Outcome::kRejected), 1);
  EXPECT_EQ(outcome.summary.completed, 1);
  // Queued after 1.95 + 1.353 ms, answered after another 0.875 + 1.95.
  ASSERT_EQ(source.completions.size(), 2U);
  EXPECT_EQ(source.completions[0].second, at_us(3303 + 2825));
  EXPECT_EQ(log.records[1].arrival, at_us(6128));
  ASSERT_EQ(outcome.warnings.size(), 1U);
  EXPECT_EQ(outcome.warnings[0].code, "W-rejected");
}

TEST_P(EveryEngine, AnIdleEngineWakesUp) {
  const auto resolved = small_engine(engine::RequestPath::off());
  ScriptedSource source({{at_us(500), 10, 2}, {at_us(9'000'000), 10, 2}});
  const auto outcome = run(resolved, source);
  EXPECT_EQ(log.records[1].first_token, at_us(9'000'000 + 1100));
  EXPECT_EQ(outcome.summary.completed, 2);
}

scenario::Resolved cluster_of(std::int64_t instances, std::string router) {
  scenario::Resolved resolved = small_engine(engine::serving_constants().path);
  resolved.run.cluster.instances = instances;
  resolved.run.cluster.router.name = std::move(router);
  return resolved;
}

TEST_P(EveryEngine, AClusterOfOneGivesTheDigestOfOneInstance) {
  const std::vector<ScriptedSource::Sent> script = {
      {at_us(0), 100, 30}, {at_us(500), 50, 3}, {at_us(600), 390, 40}, {at_us(9000), 9, 1}};
  for (const std::int64_t clients : {0, 2}) {
    ScriptedSource alone(script, clients);
    ScriptedSource behind_a_gateway(script, clients);
    const auto one = run(small_engine(engine::serving_constants().path), alone);
    const auto cluster = run(cluster_of(1, "least-request"), behind_a_gateway);
    EXPECT_EQ(cluster.digest, one.digest);
    EXPECT_FALSE(one.summary.fleet.has_value());
  }
}

TEST_P(EveryEngine, AClusterIsSummedUpAsAWholeAndByInstance) {
  const std::vector<ScriptedSource::Sent> script = {
      {at_us(0), 100, 30}, {at_us(0), 50, 3}, {at_us(0), 200, 10}, {at_us(0), 9, 1}};
  ScriptedSource source(script);
  const auto outcome = run(cluster_of(2, "round-robin"), source);
  ASSERT_TRUE(outcome.summary.fleet.has_value());
  const metrics::FleetSummary& fleet = *outcome.summary.fleet;
  EXPECT_EQ(fleet.router, "round-robin");
  EXPECT_EQ(fleet.decisions, 4);
  EXPECT_FALSE(fleet.age_ms.has_value());
  ASSERT_EQ(fleet.instances.size(), 2);
  EXPECT_EQ(fleet.instances[0].total_input_tokens, 300);
  EXPECT_EQ(fleet.instances[1].total_input_tokens, 59);
  EXPECT_EQ(fleet.instances[0].completed + fleet.instances[1].completed, outcome.summary.completed);
  // What the instances were busy is the whole's; its caches are as large as theirs together.
  const double seconds = *outcome.summary.duration_s;
  EXPECT_NEAR((*fleet.instances[0].busy + *fleet.instances[1].busy) * seconds,
              outcome.summary.busy.to_seconds(),
              1e-9);
  EXPECT_NEAR((*fleet.instances[0].kv_peak + *fleet.instances[1].kv_peak) / 2.0,
              *outcome.summary.kv_cache.peak,
              1e-12);
  EXPECT_LE(*outcome.summary.kv_cache.mean, *outcome.summary.kv_cache.peak);
}

TEST(Simulate, AnInterruptLeavesNoRequestUncounted) {
  const auto resolved = small_engine(engine::serving_constants().path);
  std::vector<ScriptedSource::Sent> script;
  for (std::int64_t i = 0; i < 5000; ++i) {
    script.push_back({at_us(i * 1000), 50, 20});
  }
  ScriptedSource source(script);
  std::atomic<bool> interrupt{false};
  Log log;
  std::int64_t seen = 0;
  RunControls controls;
  controls.interrupt = &interrupt;
  controls.listener = &log;
  controls.progress = [&](const Progress& progress) {
    EXPECT_GE(progress.done, seen);
    seen = progress.done;
    interrupt = progress.done > 100;
  };
  const auto outcome = simulate(resolved, source, controls);
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->partial);
  EXPECT_GT(outcome->summary.completed, 100);
  EXPECT_GT(outcome->summary.count(domain::Outcome::kUnfinished), 0);
  EXPECT_EQ(outcome->summary.requests(), log.count);
  EXPECT_EQ(static_cast<std::int64_t>(log.records.size()), log.count);  // each id once
  EXPECT_LT(log.count, 5000);
}

/// A run that is interrupted when it first tells how far it has come, at `last_seen`.
core::Result<RunOutcome> interrupt_at_first_look(const scenario::Resolved& resolved,
                                                 workload::Source& source,
                                                 metrics::Listener* listener,
                                                 SimTime& last_seen) {
  std::atomic<bool> interrupt{false};
  RunControls controls;
  controls.interrupt = &interrupt;
  controls.listener = listener;
  controls.progress = [&](const Progress& progress) {
    last_seen = progress.now;
    interrupt = true;
  };
  return simulate(resolved, source, controls);
}

/// Requests are drawn ahead: those not sent yet are no part of the result.
TEST(Simulate, AnInterruptDoesNotCountWhatWasNotSentYet) {
  const auto resolved = small_engine(engine::RequestPath::off());
  std::vector<ScriptedSource::Sent> script(5, {at_us(0), 50, 2});
  for (std::int64_t i = 0; i < 5000; ++i) {
    script.push_back({at_us(i * 20'000), 50, 2});
  }
  ScriptedSource source(script);
  Log log;
  SimTime last_seen;
  const auto outcome = interrupt_at_first_look(resolved, source, &log, last_seen);
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->partial);
  EXPECT_GT(log.count, 0);
  for (const auto& record : log.records) {
    EXPECT_LE(record.arrival, last_seen + Duration::milliseconds(20));
  }
}

/// A hundred requests per millisecond, of which the engine serves less than one.
constexpr std::int64_t kFlood = 40'000;
std::vector<ScriptedSource::Sent> flood() {
  std::vector<ScriptedSource::Sent> script;
  for (std::int64_t i = 0; i < kFlood; ++i) {
    script.push_back({at_us(i * 10), 50, 20});
  }
  return script;
}

TEST(Simulate, AnInterruptCountsEveryRequestThatWasSent) {
  const auto resolved = small_engine(engine::RequestPath::off());
  ScriptedSource source(flood());
  SimTime last_seen;
  const auto outcome = interrupt_at_first_look(resolved, source, nullptr, last_seen);
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->partial);
  const std::int64_t sent =
      (last_seen - SimTime()).count() / Duration::microseconds(10).count() + 1;
  EXPECT_EQ(outcome->summary.requests(), std::min(sent, kFlood));
}

TEST(Simulate, AnInterruptBeforeTheStartIsAnEmptyResult) {
  const auto resolved = small_engine(engine::serving_constants().path);
  ScriptedSource source({{SimTime(), 10, 2}});
  const std::atomic<bool> interrupt{true};
  RunControls controls;
  controls.interrupt = &interrupt;
  const auto outcome = simulate(resolved, source, controls);
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->partial);
  EXPECT_EQ(outcome->summary.requests(), 0);
}

TEST(Simulate, NoRequestsAreARunToo) {
  const auto resolved = small_engine(engine::serving_constants().path);
  ScriptedSource source({});
  const auto outcome = simulate(resolved, source, RunControls());
  ASSERT_TRUE(outcome);
  EXPECT_FALSE(outcome->partial);
  EXPECT_EQ(outcome->totals.steps, 0);
}

TEST(Simulate, ASourceThatFailsFailsTheRun) {
  const auto resolved = small_engine(engine::serving_constants().path);
  ScriptedSource source({{SimTime(), 10, 2}});
  source.problems.push_back({.message = "bad row"});
  const auto outcome = simulate(resolved, source, RunControls());
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().front().message, "bad row");
}

TEST(Simulate, TargetsReachTheSummary) {
  auto resolved = small_engine(engine::RequestPath::off());
  resolved.run.slo.ttft = Duration::microseconds(1100);
  resolved.run.slo.statistic = "max";
  ScriptedSource source({{SimTime(), 10, 1}, {at_us(100'000), 11, 1}});
  const auto outcome = simulate(resolved, source, RunControls());
  ASSERT_TRUE(outcome);
  // 1 ms + 10 tokens meets the target exactly; 11 tokens miss it.
  ASSERT_EQ(outcome->summary.slo.size(), 1U);
  EXPECT_EQ(outcome->summary.slo[0].statistic, metrics::Statistic::kMax);
  EXPECT_EQ(outcome->summary.slo[0].share, 0.5);
  EXPECT_EQ(outcome->summary.slo[0].met, false);
}

/// Six answers of 40 tokens one after the other, and the digest of the run.
std::string digest_of(const scenario::Resolved& resolved) {
  std::vector<ScriptedSource::Sent> script;
  for (std::int64_t i = 0; i < 6; ++i) {
    script.push_back({at_us(i * 100'000), 20, 40});
  }
  ScriptedSource source(std::move(script));
  const auto outcome = simulate(resolved, source, RunControls());
  return outcome ? outcome->digest : std::string();
}

TEST(Simulate, TheSeedOfTheRunDrawsWhichDraftsAreAccepted) {
  const auto deployment = small_deployment(engine::RequestPath::off());
  deployment->engine.num_speculative_tokens = 1;
  deployment->engine.draft_acceptance = {0.5};
  scenario::Resolved one;
  one.deployment = deployment;
  scenario::Resolved other = one;
  other.run.seed = 7;
  EXPECT_NE(digest_of(one), "");
  EXPECT_EQ(digest_of(one), digest_of(one));
  EXPECT_NE(digest_of(one), digest_of(other));
}

TEST(Simulate, RunsOnThreadsShareADeployment) {
  const scenario::Resolved resolved = small_engine(engine::serving_constants().path);
  const std::string alone = digest_of(resolved);
  std::array<std::string, 2> digests;
  std::thread further([&] { digests[1] = digest_of(resolved); });
  digests[0] = digest_of(resolved);
  further.join();
  EXPECT_NE(alone, "");
  EXPECT_THAT(digests, testing::Each(alone));
}

}  // namespace
}  // namespace ridgeline::sim
