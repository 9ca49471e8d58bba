// The fast twin, with and without jumps, against the reference twin: equal request by request, gap
// by gap, step by step and in every total, over random workloads, limits, profiles and step-time
// models.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/engine.hpp"
#include "equal_runs.hpp"
#include "random_scenario.hpp"
#include "support/drive.hpp"
#include "support/linear_model.hpp"

namespace ridgeline {
namespace {

struct Twins {
  test::EngineRun reference;
  test::EngineRun jumping;
};

Twins expect_twins(const test::Scenario& scenario) {
  Twins twins{.reference = test::run_scenario(scenario, test::Twin::kReference),
              .jumping = test::run_scenario(scenario, test::Twin::kJumping)};
  const auto stepping = test::run_scenario(scenario, test::Twin::kStepping);
  RC_ASSERT(stepping.totals.jumped_steps == 0);
  test::expect_equal(twins.reference, stepping);
  test::expect_equal(twins.reference, test::run_scenario(scenario, test::Twin::kQuiet));
  test::expect_equal(twins.reference, twins.jumping);
  return twins;
}

RC_GTEST_PROP(EngineTwins, EqualOverRandomScenarios, ()) {
  const Twins twins = expect_twins(test::random_scenario());
  RC_CLASSIFY(twins.jumping.totals.jumped_steps > 0, "jumped");
  RC_CLASSIFY(twins.reference.totals.preemptions > 0, "preempted");
  RC_CLASSIFY(twins.reference.totals.prefix_hits.value() > 0, "prefix hits");
}

RC_GTEST_PROP(EngineTwins, EqualWithAborts, ()) {
  const Twins twins = expect_twins(test::random_scenario({.aborts = true}));
  std::size_t aborted = 0;
  for (const auto& record : twins.reference.sink.requests) {
    aborted += record.outcome == domain::Outcome::kAborted ? 1 : 0;
  }
  RC_CLASSIFY(aborted > 0, "aborted");
}

/// Each engine that a user can choose keeps every rule, by itself or through the other.
RC_GTEST_PROP(EngineTwins, EqualWhateverIsMixed, ()) {
  expect_twins(test::random_scenario({.handed_over = true, .aborts = true}));
}

/// The cached prefix of an instant gone by is what was answered at that instant.
RC_GTEST_PROP(EngineTwins, TellWhatWasCachedShortlyBefore, ()) {
  const test::Scenario scenario = test::random_scenario();
  const test::LinearModel model(scenario.costs);
  test::EngineRun own_run;
  test::EngineRun other_run;
  const auto history = core::Duration::microseconds(*rc::gen::inRange<std::int64_t>(1, 20'000));
  const auto inputs = [&](test::EngineRun& run, core::Duration kept) {
    return engine::EngineInputs{.options = scenario.options,
                                .model = model,
                                .host = scenario.host,
                                .sink = run.sink,
                                .kv_history = {.kept = kept}};
  };
  const auto one = engine::make_fast_engine(inputs(own_run, history), true);
  struct Answer {
    core::SimTime as_of;
    std::size_t request;
    core::Tokens tokens;
  };
  std::vector<Answer> answers;
  for (std::size_t i = 0; i < scenario.requests.size(); ++i) {
    const domain::Request& request = scenario.requests[i];
    one->advance(request.arrival, false, test::kNoBudget);
    const core::Duration back =
        std::min(core::Duration::ticks(*rc::gen::inRange<std::int64_t>(0, history.count() + 1)),
                 request.arrival - core::SimTime());
    const core::SimTime as_of = request.arrival - back;
    answers.push_back(
        {.as_of = as_of, .request = i, .tokens = one->cached_prefix_at(request, {.as_of = as_of})});
    one->submit(request, request.arrival);
  }
  std::ranges::stable_sort(answers, {}, &Answer::as_of);
  const auto other = engine::make_fast_engine(inputs(other_run, {}), true);
  std::size_t sent = 0;
  bool cached = false;
  for (const Answer& answer : answers) {
    for (; sent < scenario.requests.size() && scenario.requests[sent].arrival < answer.as_of;
         ++sent) {
      other->advance(scenario.requests[sent].arrival, false, test::kNoBudget);
      other->submit(scenario.requests[sent], scenario.requests[sent].arrival);
    }
    other->advance(answer.as_of, false, test::kNoBudget);
    RC_ASSERT(answer.tokens == other->cached_prefix(scenario.requests[answer.request]));
    cached = cached || answer.tokens > core::Tokens(0);
  }
  RC_CLASSIFY(cached, "a prefix was cached");
}

/// What a router asks: the gauges and the cached prefix at each arrival. Both twins answer the
/// same, no answer is older than what has happened, and asking changes nothing.
RC_GTEST_PROP(EngineTwins, AgreeOnWhatARouterAsks, ()) {
  const test::Scenario scenario = test::random_scenario();
  const test::LinearModel model(scenario.costs);
  test::EngineRun plain;
  test::EngineRun fast;
  const auto inputs = [&](test::EngineRun& run) {
    return engine::EngineInputs{
        .options = scenario.options, .model = model, .host = scenario.host, .sink = run.sink};
  };
  const auto one = engine::make_reference_engine(inputs(plain));
  const auto other = engine::make_fast_engine(inputs(fast), true);
  bool cached = false;
  for (const domain::Request& request : scenario.requests) {
    for (engine::Engine* engine : {one.get(), other.get()}) {
      engine->advance(request.arrival, false, test::kNoBudget);
    }
    RC_ASSERT(one->state(request.arrival) == other->state(request.arrival));
    RC_ASSERT(one->next_instant() == other->next_instant());
    RC_ASSERT(one->next_visible() >= one->next_instant());
    RC_ASSERT(other->next_visible() >= other->next_instant());
    const core::Tokens prefix = one->cached_prefix(request);
    RC_ASSERT(prefix == other->cached_prefix(request));
    cached = cached || prefix > core::Tokens(0);
    one->submit(request, request.arrival);
    other->submit(request, request.arrival);
  }
  for (engine::Engine* engine : {one.get(), other.get()}) {
    engine->advance(core::SimTime::never(), false, test::kNoBudget);
  }
  plain.totals = one->totals();
  plain.end = one->now();
  fast.totals = other->totals();
  fast.end = other->now();
  expect_equal(plain, fast);
  expect_equal(plain, test::run_scenario(scenario, test::Twin::kReference));
  RC_CLASSIFY(cached, "a prefix was cached");
}

/// A horizon anywhere in the run ends all at the same batch; behind the end it changes nothing.
RC_GTEST_PROP(EngineTwins, EndAtTheSameHorizon, ()) {
  test::Scenario scenario = test::random_scenario({.handed_over = *rc::gen::element(false, true)});
  const auto whole = test::run_scenario(scenario, test::Twin::kReference);
  const core::SimTime horizon = core::SimTime::at(
      core::Duration::ticks(*rc::gen::inRange<std::int64_t>(0, whole.end.count() + 2)));
  // An instance keeps back what would reach the queue later (engine/instance.hpp).
  std::erase_if(scenario.requests,
                [&](const domain::Request& request) { return request.arrival > horizon; });
  const auto reference = test::run_scenario(scenario, test::Twin::kReference, horizon);
  RC_ASSERT(reference.end <= horizon);
  RC_CLASSIFY(reference.past_horizon, "past the horizon");
  for (const auto twin : {test::Twin::kStepping, test::Twin::kJumping, test::Twin::kQuiet}) {
    const auto other = test::run_scenario(scenario, twin, horizon);
    RC_ASSERT(other.past_horizon == reference.past_horizon);
    RC_ASSERT(other.end == reference.end);
    RC_ASSERT(other.sink.requests == reference.sink.requests);
    RC_ASSERT(other.totals.busy == reference.totals.busy);
  }
}

/// Many more of them: rapidcheck's hundred cases are 10,000 scenarios. The tests above shrink
/// better.
RC_GTEST_PROP(EngineTwins, EqualOverManyRandomScenarios, ()) {
  constexpr int kScenariosPerCase = 100;
  for (int i = 0; i < kScenariosPerCase; ++i) {
    expect_twins(test::random_scenario({.aborts = i % 2 == 0}));
  }
}

}  // namespace
}  // namespace ridgeline
