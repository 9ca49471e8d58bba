// Rounds of quiet steps against the same rounds one by one: of vLLM's scheduler block by block, and
// of a policy that has nothing but quiet_steps().
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "engine/acceptance.hpp"
#include "engine/engine.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/options.hpp"
#include "engine/schedulers.hpp"
#include "engine/vllm/plain/scheduler.hpp"
#include "equal_runs.hpp"
#include "random_scenario.hpp"
#include "support/drive.hpp"
#include "support/linear_model.hpp"
#include "support/seats/scheduler.hpp"

namespace ridgeline {
namespace {

using engine::ScheduledStep;
using engine::vllm::plain::Scheduler;
using engine::vllm::plain::Sequence;

/// A scheduler with its steps in flight, without time.
class Machine {
 public:
  explicit Machine(const engine::EngineOptions& options)
      : options_(options),
        scheduler_(options),
        depth_(static_cast<std::size_t>(engine::steps_in_flight(options))) {}

  void add(const domain::Request& request) {
    if (auto sequence = scheduler_.add(request); sequence != nullptr) {
      all_.push_back(std::static_pointer_cast<Sequence>(sequence));
    }
  }
  /// The oldest step ends, and others are formed.
  void step() {
    if (!in_flight_.empty()) {
      end_oldest();
    }
    while (in_flight_.size() < depth_) {
      auto next = std::make_unique<ScheduledStep>();
      scheduler_.schedule(*next);
      if (next->empty()) {
        return;
      }
      in_flight_.push_back(std::move(next));
    }
  }
  /// As StepLoop: of full steps of decodes that hold all running requests.
  [[nodiscard]] std::int64_t quiet_steps() const {
    std::size_t parts = 0;
    for (const auto& step : in_flight_) {
      for (const auto& part : *step) {
        if (part.is_prefill || part.num_drafts != options_.num_speculative_tokens) {
          return 0;
        }
      }
      parts += step->size();
    }
    const std::size_t running = scheduler_.running().size();
    const bool full =
        in_flight_.size() == depth_ && (parts == running || parts == running * depth_);
    return full && running > 0 ? scheduler_.quiet_steps() : 0;
  }
  /// At once, or one by one.
  std::vector<engine::BlockChange> advance(std::int64_t rounds, bool at_once) {
    std::vector<ScheduledStep*> steps;
    for (const auto& step : in_flight_) {
      steps.push_back(step.get());
    }
    if (options_.num_speculative_tokens > 0) {
      return advance_with_drafts(rounds, at_once);
    }
    auto changes = at_once ? scheduler_.advance_quiet(steps, rounds)
                           : scheduler_.StepScheduler::advance_quiet(steps, rounds);
    std::ranges::rotate(in_flight_,
                        in_flight_.begin() + rounds % static_cast<std::int64_t>(depth_));
    return changes;
  }
  [[nodiscard]] bool is_idle() const { return in_flight_.empty(); }

  void expect_equal(const Machine& other) const {
    RC_ASSERT(scheduler_.kv_cache().free_list() == other.scheduler_.kv_cache().free_list());
    RC_ASSERT(all_.size() == other.all_.size());
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const Sequence& a = *all_[i];
      const Sequence& b = *other.all_[i];
      RC_ASSERT(a.status == b.status);
      RC_ASSERT(a.num_computed_tokens == b.num_computed_tokens);
      RC_ASSERT(a.num_output_tokens == b.num_output_tokens);
      RC_ASSERT(a.num_placeholders == b.num_placeholders);
      RC_ASSERT(a.num_in_flight_tokens == b.num_in_flight_tokens);
      RC_ASSERT(a.num_drafts == b.num_drafts);
      RC_ASSERT(a.block_hashes.size() == b.block_hashes.size());
      for (std::size_t hash = 0; hash < a.block_hashes.size(); ++hash) {
        RC_ASSERT(a.block_hashes[hash] == b.block_hashes[hash]);
      }
      RC_ASSERT(a.num_hashes_made == b.num_hashes_made);
      RC_ASSERT(a.blocks.num_hashed == b.blocks.num_hashed);
      RC_ASSERT(a.blocks.groups.size() == b.blocks.groups.size());
      for (std::size_t group = 0; group < a.blocks.groups.size(); ++group) {
        RC_ASSERT(a.blocks.groups[group].ids() == b.blocks.groups[group].ids());
      }
    }
    RC_ASSERT(in_flight_.size() == other.in_flight_.size());
    for (std::size_t i = 0; i < in_flight_.size(); ++i) {
      const ScheduledStep& a = *in_flight_[i];
      const ScheduledStep& b = *other.in_flight_[i];
      RC_ASSERT(a.size() == b.size());
      for (std::size_t part = 0; part < a.size(); ++part) {
        RC_ASSERT(a[part].sequence->record.id == b[part].sequence->record.id);
        RC_ASSERT(a[part].num_computed_tokens == b[part].num_computed_tokens);
        RC_ASSERT(a[part].num_scheduled_tokens == b[part].num_scheduled_tokens);
        RC_ASSERT(a[part].num_drafts == b[part].num_drafts);
      }
    }
  }

 private:
  void end_oldest() {
    const ScheduledStep& oldest = *in_flight_.front();
    scheduler_.update(oldest, tokens_of(oldest));
    in_flight_.erase(in_flight_.begin());
  }
  /// What comes out of a step: a token of each request, and some of its drafts.
  [[nodiscard]] std::vector<std::int64_t> tokens_of(const ScheduledStep& step) const {
    std::vector<std::int64_t> tokens;
    for (const engine::ScheduledSequence& part : step) {
      const std::int64_t drafts = part.is_prefill ? 0 : part.num_drafts;
      auto& sequence = *part.sequence;
      tokens.push_back(1 + engine::accepted_drafts(
                               options_, sequence.record.id, sequence.num_verifications++, drafts));
    }
    return tokens;
  }
  /// As StepLoop: drawn round by round.
  std::vector<engine::BlockChange> advance_with_drafts(std::int64_t rounds, bool at_once) {
    std::vector<engine::BlockChange> used;
    for (std::int64_t round = 0; round < rounds; ++round) {
      ScheduledStep& oldest = *in_flight_.front();
      const std::vector<std::int64_t> tokens = tokens_of(oldest);
      if (at_once) {
        scheduler_.advance_round(oldest, tokens);
      } else {
        scheduler_.StepScheduler::advance_round(oldest, tokens);
      }
      used.push_back({.step = round, .used_blocks = scheduler_.counts().used_blocks});
      std::ranges::rotate(in_flight_, in_flight_.begin() + 1);
    }
    return used;
  }

  engine::EngineOptions options_;
  Scheduler scheduler_;
  std::size_t depth_;
  std::vector<std::unique_ptr<ScheduledStep>> in_flight_;
  std::vector<std::shared_ptr<Sequence>> all_;
};

/// Some rounds, at once in one machine and one by one in the other.
std::int64_t advance_both(Machine& at_once, Machine& one_by_one) {
  const std::int64_t quiet = at_once.quiet_steps();
  RC_ASSERT(quiet == one_by_one.quiet_steps());
  if (quiet == 0) {
    at_once.step();
    one_by_one.step();
    return 0;
  }
  const std::int64_t rounds = *rc::gen::inRange<std::int64_t>(1, quiet + 1);
  const auto changes = at_once.advance(rounds, true);
  const auto expected = one_by_one.advance(rounds, false);
  std::int64_t used = -1;
  auto change = changes.begin();
  for (const engine::BlockChange& one : expected) {
    for (; change != changes.end() && change->step <= one.step; ++change) {
      used = change->used_blocks;
    }
    RC_ASSERT(used == one.used_blocks);
  }
  return rounds;
}

RC_GTEST_PROP(QuietSteps, AreTheSameBlockByBlockAtOnce, ()) {
  const test::Scenario scenario = test::random_scenario({.handed_over = true});
  Machine at_once(scenario.options);
  Machine one_by_one(scenario.options);
  std::int64_t rounds = 0;
  auto next = scenario.requests.begin();
  constexpr int kMoreThanEnough = 20'000;
  int turn = 0;
  for (; turn < kMoreThanEnough && (next != scenario.requests.end() || !at_once.is_idle());
       ++turn) {
    const bool one_comes = *rc::gen::element(false, false, true);
    if (next != scenario.requests.end() && (one_comes || at_once.is_idle())) {
      at_once.add(*next);
      one_by_one.add(*next);
      ++next;
    }
    rounds += advance_both(at_once, one_by_one);
    at_once.expect_equal(one_by_one);
  }
  RC_ASSERT(turn < kMoreThanEnough);
  RC_CLASSIFY(rounds > 0, "jumped");
  RC_CLASSIFY(rounds > 0 && scenario.options.num_speculative_tokens > 0, "jumped with drafts");
}

/// One line of a table of schedulers, as in src/engine/schedulers.cpp.
constexpr engine::SchedulerEntry kSeats{
    .name = "seats",
    .summary = "first come first served on seats alone",
    .make = [](const engine::EngineOptions& options) -> std::unique_ptr<engine::StepScheduler> {
      return std::make_unique<test::seats::Scheduler>(options);
    },
};

test::EngineRun run_seats(const test::Scenario& scenario, bool jump) {
  test::EngineRun run;
  const test::LinearModel model(scenario.costs);
  const auto engine = engine::make_step_engine(
      kSeats,
      {.options = scenario.options, .model = model, .host = scenario.host, .sink = run.sink},
      jump);
  test::drive(*engine, scenario.requests, scenario.aborts);
  run.totals = engine->totals();
  run.end = engine->now();
  return run;
}

RC_GTEST_PROP(QuietSteps, AreTheSameAtOnceForAnotherPolicy, ()) {
  test::Scenario scenario = test::random_scenario({.handed_over = true, .aborts = true});
  scenario.options.num_speculative_tokens = 0;
  const test::EngineRun stepping = run_seats(scenario, false);
  const test::EngineRun jumping = run_seats(scenario, true);
  test::expect_equal(stepping, jumping);
  RC_ASSERT(stepping.totals.jumped_steps == 0);
  RC_CLASSIFY(jumping.totals.jumped_steps > 0, "jumped");
  // Each request ends once, and its gaps are those between its tokens.
  RC_ASSERT(jumping.sink.requests.size() == scenario.requests.size());
  std::int64_t expected = 0;
  for (const auto& record : jumping.sink.requests) {
    expected += std::max<std::int64_t>(record.output_tokens.value() - 1, 0);
  }
  std::int64_t gaps = 0;
  for (const auto& [gap, count] : jumping.sink.gaps) {
    gaps += count;
  }
  RC_ASSERT(gaps == expected);
}

}  // namespace
}  // namespace ridgeline
