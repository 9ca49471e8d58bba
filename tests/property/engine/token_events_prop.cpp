// Token events: equal from every engine, in step with the records, and without a mark on them.
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/token_sink.hpp"
#include "engine/engine.hpp"
#include "engine/options.hpp"
#include "engine/schedulers.hpp"
#include "equal_runs.hpp"
#include "random_scenario.hpp"
#include "support/drive.hpp"
#include "support/linear_model.hpp"
#include "support/recording_sink.hpp"
#include "support/seats/scheduler.hpp"

namespace ridgeline {
namespace {

using MakeEngine = std::function<std::unique_ptr<engine::Engine>(const engine::EngineInputs&)>;

/// The tokens of one step.
struct StepTokens {
  core::SimTime end;
  std::vector<domain::TokenEvent> events;

  friend bool operator==(const StepTokens&, const StepTokens&) = default;
};

/// Gets records and tokens, and holds each against the other.
class Witness final : public domain::RecordSink, public domain::TokenSink {
 public:
  void on_tokens(core::SimTime end, std::span<const domain::TokenEvent> events) override {
    RC_ASSERT(!events.empty());
    RC_ASSERT(end >= last_end_);
    last_end_ = end;
    const auto not_ascending = [](const domain::TokenEvent& a, const domain::TokenEvent& b) {
      return a.request >= b.request;
    };
    RC_ASSERT(std::ranges::adjacent_find(events, not_ascending) == events.end());
    for (const domain::TokenEvent& event : events) {
      RC_ASSERT(event.tokens > core::Tokens(0));
      Given& given = given_[event.request];
      given.first = std::min(given.first, end);
      given.last = end;
      given.tokens += event.tokens;
    }
    steps_.push_back({.end = end, .events = {events.begin(), events.end()}});
  }
  void on_request(const domain::RequestRecord& record) override {
    const Given given = given_[record.id];
    RC_ASSERT(record.output_tokens == given.tokens);
    RC_ASSERT(record.first_token == given.first);
    RC_ASSERT(record.last_token == given.last);
    records_.on_request(record);
  }
  void on_steps(const domain::StepRecord& record) override { records_.on_steps(record); }
  void on_token_gaps(const domain::TokenGaps& gaps) override { records_.on_token_gaps(gaps); }

  [[nodiscard]] const test::RecordingSink& records() const { return records_; }
  [[nodiscard]] const std::vector<StepTokens>& steps_with_tokens() const { return steps_; }

 private:
  struct Given {
    core::SimTime first = core::SimTime::never();
    core::SimTime last = core::SimTime::never();
    core::Tokens tokens;
  };
  test::RecordingSink records_;
  std::map<core::RequestId, Given> given_;
  std::vector<StepTokens> steps_;
  core::SimTime last_end_;
};

/// The tokens of a scenario's steps; the records are those of a run without a token sink.
std::vector<StepTokens> tokens_of(const test::Scenario& scenario, const MakeEngine& make) {
  const test::LinearModel model(scenario.costs);
  const auto drive = [&](test::EngineRun& run, engine::Engine& engine) {
    test::drive(engine, scenario.requests, scenario.aborts);
    run.totals = engine.totals();
    run.end = engine.now();
  };
  test::EngineRun without;
  engine::EngineInputs inputs{
      .options = scenario.options, .model = model, .host = scenario.host, .sink = without.sink};
  drive(without, *make(inputs));
  Witness witness;
  test::EngineRun with;
  const auto engine = make({.options = scenario.options,
                            .model = model,
                            .host = scenario.host,
                            .sink = witness,
                            .tokens = &witness});
  drive(with, *engine);
  with.sink = witness.records();
  RC_ASSERT(with.totals.jumped_steps == 0);
  expect_equal(without, with);
  return witness.steps_with_tokens();
}

MakeEngine in_step_loop(const engine::SchedulerEntry& entry) {
  return [&entry](const engine::EngineInputs& inputs) {
    return engine::make_step_engine(entry, inputs, true);
  };
}

void expect_equal_tokens(const test::Scenario& scenario) {
  const auto plain = tokens_of(scenario, engine::make_reference_engine);
  RC_ASSERT(plain == tokens_of(scenario, in_step_loop(engine::schedulers().front())));
  RC_ASSERT(plain == tokens_of(scenario, [](const engine::EngineInputs& inputs) {
              return engine::make_fast_engine(inputs, true);
            }));
  const bool has_drafts = std::ranges::any_of(plain, [](const StepTokens& step) {
    return std::ranges::any_of(step.events,
                               [](const auto& event) { return event.tokens > core::Tokens(1); });
  });
  RC_CLASSIFY(has_drafts, "several tokens at once");
}

RC_GTEST_PROP(TokenEvents, EqualFromBothTwins, ()) {
  expect_equal_tokens(test::random_scenario());
}

RC_GTEST_PROP(TokenEvents, EqualWithAborts, ()) {
  expect_equal_tokens(test::random_scenario({.aborts = true}));
}

RC_GTEST_PROP(TokenEvents, EqualWhateverIsMixed, ()) {
  expect_equal_tokens(test::random_scenario({.handed_over = true, .aborts = true}));
}

RC_GTEST_PROP(TokenEvents, OfAnyScheduler, ()) {
  static constexpr engine::SchedulerEntry kSeats = {
      .name = "seats", .summary = "", .make = [](const engine::EngineOptions& options) {
        return std::unique_ptr<engine::StepScheduler>(
            std::make_unique<test::seats::Scheduler>(options));
      }};
  test::Scenario scenario = test::random_scenario({.aborts = true});
  scenario.options.num_speculative_tokens = 0;
  tokens_of(scenario, in_step_loop(kSeats));
}

}  // namespace
}  // namespace ridgeline
