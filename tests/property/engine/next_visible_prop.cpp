// Engine::next_visible() against what comes out: no first token and no end before it, whatever the
// scenario, and exactly at it while requests only decode.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "domain/token_sink.hpp"
#include "engine/engine.hpp"
#include "equal_runs.hpp"
#include "random_scenario.hpp"
#include "support/drive.hpp"
#include "support/linear_model.hpp"
#include "support/recording_sink.hpp"

namespace ridgeline {
namespace {

using core::SimTime;

/// What next_visible() said at an instant, with nothing to come before `undisturbed_until`.
struct Answer {
  SimTime at;
  SimTime bound;
  SimTime undisturbed_until = SimTime::never();
  const domain::Request* counts_on =
      nullptr;  ///< A request whose arrival was part of the question.
};

struct IgnoredFirstTokens final : domain::FirstTokenSink {
  void on_first_token(core::RequestId /*id*/, SimTime /*at*/) override {}
};

/// First tokens and ends, ascending; refusals come with the submission.
std::vector<SimTime> visible_instants(const std::vector<domain::RequestRecord>& records) {
  std::vector<SimTime> instants;
  for (const domain::RequestRecord& record : records) {
    if (record.first_token != SimTime::never()) {
      instants.push_back(record.first_token);
    }
    if (record.outcome != domain::Outcome::kAborted && record.last_token != SimTime::never()) {
      instants.push_back(record.last_token);
    }
  }
  std::ranges::sort(instants);
  return instants;
}

SimTime first_from(const std::vector<SimTime>& instants, SimTime from) {
  const auto next = std::ranges::lower_bound(instants, from);
  return next == instants.end() ? SimTime::never() : *next;
}

/// Runs a scenario, and asks before and after each arrival and abort, and at random instants.
std::vector<Answer> ask_along(engine::Engine& engine, const test::Scenario& scenario) {
  struct Event {
    SimTime at;
    const domain::Request* request = nullptr;
    const test::Abort* abort = nullptr;
  };
  std::vector<Event> events;
  for (const domain::Request& request : scenario.requests) {
    events.push_back({.at = request.arrival, .request = &request});
  }
  for (const test::Abort& abort : scenario.aborts) {
    events.push_back({.at = abort.at, .abort = &abort});
  }
  const std::int64_t last = scenario.requests.back().arrival.count();
  for (int i = 0; i < 20; ++i) {
    events.push_back({.at = SimTime::at(core::Duration::ticks(
                          *rc::gen::inRange<std::int64_t>(0, 2 * last + 1'000'000'000'000)))});
  }
  std::ranges::stable_sort(events, {}, &Event::at);
  std::vector<Answer> answers;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    engine.advance(event.at, false, test::kNoBudget);
    answers.push_back({.at = event.at, .bound = engine.next_visible()});
    RC_ASSERT(answers.back().bound >= engine.next_instant());
    if (i + 1 < events.size() && events[i + 1].request != nullptr && event.request == nullptr &&
        event.abort == nullptr) {
      const domain::Request* next = events[i + 1].request;
      answers.push_back({.at = event.at,
                         .bound = engine.next_visible_with(*next, next->arrival),
                         .counts_on = next});
    }
    if (event.request == nullptr && event.abort == nullptr) {
      continue;
    }
    for (Answer& answer : answers) {
      if (answer.counts_on != event.request || event.request == nullptr) {
        answer.undisturbed_until = std::min(answer.undisturbed_until, event.at);
      }
    }
    if (event.request != nullptr) {
      engine.submit(*event.request, event.at);
    } else {
      engine.abort(event.abort->id, std::max(event.at, engine.now()));
    }
    answers.push_back({.at = event.at, .bound = engine.next_visible()});
  }
  engine.advance(SimTime::never(), false, test::kNoBudget);
  return answers;
}

std::unique_ptr<engine::Engine> make(const engine::EngineInputs& inputs, test::Twin twin) {
  return twin == test::Twin::kReference
             ? engine::make_reference_engine(inputs)
             : engine::make_fast_engine(inputs, twin != test::Twin::kStepping);
}

void expect_bounds(const test::Scenario& scenario) {
  const auto plain = test::run_scenario(scenario, test::Twin::kReference);
  const std::vector<SimTime> visible = visible_instants(plain.sink.requests);
  const test::LinearModel model(scenario.costs);
  for (const auto twin : {test::Twin::kReference, test::Twin::kStepping, test::Twin::kJumping}) {
    test::EngineRun asked;
    IgnoredFirstTokens ignored;
    const auto one = make({.options = scenario.options,
                           .model = model,
                           .host = scenario.host,
                           .sink = asked.sink,
                           .first_tokens = &ignored},
                          twin);
    const std::vector<Answer> answers = ask_along(*one, scenario);
    asked.totals = one->totals();
    asked.end = one->now();
    test::expect_equal(plain, asked);  // Asking changes nothing.
    for (const Answer& answer : answers) {
      const bool is_refused =
          answer.counts_on != nullptr &&
          std::ranges::any_of(plain.sink.requests, [&](const domain::RequestRecord& record) {
            return record.id == answer.counts_on->id &&
                   record.outcome == domain::Outcome::kRejected;
          });
      const SimTime next = std::min(first_from(visible, answer.at),
                                    is_refused ? answer.counts_on->arrival : SimTime::never());
      RC_ASSERT(next >= std::min(answer.bound, answer.undisturbed_until));
    }
  }
}

RC_GTEST_PROP(NextVisible, IsNeverLaterThanWhatComesOut, ()) {
  expect_bounds(test::random_scenario());
}

RC_GTEST_PROP(NextVisible, IsNeverLaterWithAborts, ()) {
  expect_bounds(test::random_scenario({.aborts = true}));
}

RC_GTEST_PROP(NextVisible, IsNeverLaterWhateverIsMixed, ()) {
  expect_bounds(test::random_scenario({.handed_over = true, .aborts = true}));
}

/// Seats, blocks and budget to spare, and a model whose times are all on lines.
test::Scenario roomy_scenario() {
  test::Scenario scenario = test::random_scenario();
  scenario.options.max_num_seqs = 100;
  scenario.options.max_num_batched_tokens = core::Tokens(100'000);
  scenario.options.long_prefill_token_threshold = {};
  scenario.options.max_num_scheduled_tokens = {};
  scenario.options.num_gpu_blocks = core::Blocks(100'000);
  scenario.costs.bin = 0;
  scenario.costs.affine = true;
  return scenario;
}

/// Where all requests have had their first token, the answer is the next end.
RC_GTEST_PROP(NextVisible, IsExactWhileRequestsDecode, ()) {
  const test::Scenario scenario = roomy_scenario();
  for (const auto twin : {test::Twin::kStepping, test::Twin::kJumping}) {
    const test::LinearModel model(scenario.costs);
    test::EngineRun run;
    const auto one =
        make({.options = scenario.options, .model = model, .host = scenario.host, .sink = run.sink},
             twin);
    const std::vector<Answer> answers = ask_along(*one, scenario);
    const std::vector<SimTime> visible = visible_instants(run.sink.requests);
    bool asked_in_decode = false;
    for (const Answer& answer : answers) {
      const bool all_decode =
          std::ranges::none_of(run.sink.requests, [&](const domain::RequestRecord& record) {
            return record.queued <= answer.at && record.first_token >= answer.at &&
                   record.first_token != SimTime::never();
          });
      const SimTime next = first_from(visible, answer.at);
      if (all_decode && next < answer.undisturbed_until && answer.counts_on == nullptr) {
        RC_ASSERT(answer.bound == next);
        asked_in_decode = asked_in_decode || next != SimTime::never();
      }
    }
    RC_CLASSIFY(asked_in_decode, "asked in decode");
  }
}

/// Decodes run, and one more request comes with a prompt of its own: the answer is its first token.
RC_GTEST_PROP(NextVisible, IsTheFirstTokenOfAPromptBesideDecodes, ()) {
  test::Scenario scenario = roomy_scenario();
  scenario.options.enable_prefix_caching = true;
  scenario.options.max_model_len = core::Tokens(100'000);
  const test::LinearModel model(scenario.costs);
  struct FirstTokens final : domain::FirstTokenSink {
    SimTime last;
    void on_first_token(core::RequestId /*id*/, SimTime at) override { last = at; }
  };
  for (const auto twin : {test::Twin::kStepping, test::Twin::kJumping}) {
    test::EngineRun run;
    FirstTokens first_tokens;
    const auto one = make({.options = scenario.options,
                           .model = model,
                           .host = scenario.host,
                           .sink = run.sink,
                           .first_tokens = &first_tokens},
                          twin);
    SimTime now;
    for (std::uint32_t id = 0; id < 4; ++id) {
      domain::Request request;
      request.id = core::RequestId(id);
      request.arrival = now;
      request.prompt_tokens = core::Tokens(*rc::gen::inRange<std::int64_t>(1, 100));
      request.output_tokens = request.max_tokens = core::Tokens(10'000);
      // A pair of decodes and prompt gets its line when it is asked for the second time.
      one->next_visible_with(request, now);
      const SimTime bound = one->next_visible_with(request, now);
      one->submit(request, now);
      const SimTime before = first_tokens.last;
      while (first_tokens.last == before) {
        one->advance(one->next_instant() + core::Duration::ticks(1), false, test::kNoBudget);
      }
      RC_ASSERT(id == 0 || bound == first_tokens.last);  // The first one finds no decodes.
      // Somewhere within the steps that follow: two may be in flight.
      now = first_tokens.last + core::Duration::ticks(*rc::gen::inRange<std::int64_t>(
                                    0, 3 * scenario.costs.step.count()));
      one->advance(now, false, test::kNoBudget);
    }
  }
}

}  // namespace
}  // namespace ridgeline
