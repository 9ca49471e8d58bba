// What holds of every run, whatever the workload and the limits; numbered as in
// docs/internals/testing.md.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/vllm/plain/kv_cache.hpp"
#include "engine/vllm/plain/scheduler.hpp"
#include "random_scenario.hpp"
#include "support/drive.hpp"

namespace ridgeline {
namespace {

using test::Twin;

Twin random_twin() {
  return *rc::gen::element(Twin::kReference, Twin::kQuiet, Twin::kStepping, Twin::kJumping);
}

/// Conservation: every request ends exactly once, with all its tokens or a reason why not; gaps
/// account for every token after the first.
RC_GTEST_PROP(Invariants, EveryRequestEndsOnce, ()) {
  const auto scenario = test::random_scenario();
  const auto run = test::run_scenario(scenario, random_twin());
  std::map<core::RequestId, domain::RequestRecord> ended;
  for (const auto& record : run.sink.requests) {
    RC_ASSERT(ended.emplace(record.id, record).second);
  }
  RC_ASSERT(ended.size() == scenario.requests.size());
  std::int64_t later_tokens = 0;
  for (const auto& request : scenario.requests) {
    const auto& record = ended.at(request.id);
    const std::int64_t wanted = std::min(request.output_tokens.value(), request.max_tokens.value());
    const std::int64_t room =
        scenario.options.max_model_len.value() - request.prompt_tokens.value();
    switch (record.outcome) {
      case domain::Outcome::kFinished:
        RC_ASSERT(record.output_tokens.value() == wanted);
        break;
      case domain::Outcome::kLengthCapped:
        RC_ASSERT(record.output_tokens.value() == room && room < wanted);
        break;
      case domain::Outcome::kRejected:
        RC_ASSERT(record.output_tokens.value() == 0);
        break;
      default:
        RC_FAIL("a request was left behind");
    }
    later_tokens += std::max<std::int64_t>(record.output_tokens.value() - 1, 0);
  }
  std::int64_t gaps = 0;
  for (const auto& [gap, count] : run.sink.gaps) {
    gaps += count;
  }
  RC_ASSERT(gaps == later_tokens);
}

/// Causality: arrival <= queued <= scheduled < first token <= last token, and no token before a
/// step's end.
RC_GTEST_PROP(Invariants, TimeRunsForward, ()) {
  const auto scenario = test::random_scenario();
  const auto run = test::run_scenario(scenario, random_twin());
  std::vector<core::SimTime> ends;
  for (const auto& step : run.sink.steps) {
    RC_ASSERT(step.period > core::Duration());
    const bool after_the_last = ends.empty() || step.start >= ends.back();
    RC_ASSERT(after_the_last);
    ends.push_back(step.start + step.period);
  }
  for (const auto& record : run.sink.requests) {
    if (record.outcome == domain::Outcome::kRejected) {
      continue;
    }
    RC_ASSERT(record.arrival <= record.queued);
    RC_ASSERT(record.queued <= record.first_scheduled);
    RC_ASSERT(record.first_scheduled < record.first_token);
    RC_ASSERT(record.first_token <= record.last_token);
    RC_ASSERT(std::binary_search(ends.begin(), ends.end(), record.first_token));
    RC_ASSERT(std::binary_search(ends.begin(), ends.end(), record.last_token));
  }
}

/// Limits: tokens per step <= token_budget(), sequences per step <= max_num_seqs, blocks <=
/// the pool.
RC_GTEST_PROP(Invariants, StepsKeepTheLimits, ()) {
  const auto scenario = test::random_scenario();
  const auto run = test::run_scenario(scenario, random_twin());
  for (const auto& step : run.sink.steps) {
    RC_ASSERT(step.num_decodes + step.prefill_tokens.value() <=
              engine::token_budget(scenario.options).value());
    RC_ASSERT(step.num_decodes + step.num_prefills <= scenario.options.max_num_seqs);
  }
  RC_ASSERT(run.totals.peak_used_blocks.value() < scenario.options.num_gpu_blocks.value());
}

/// Accounting: the parts of all steps sum to the time that the engine was busy, step by step and in
/// total.
RC_GTEST_PROP(Invariants, PartsSumToBusyTime, ()) {
  const auto scenario = test::random_scenario();
  const auto run = test::run_scenario(scenario, random_twin());
  core::Duration busy;
  for (const auto& step : run.sink.steps) {
    RC_ASSERT(step.time.gpu() == step.period);
    busy += step.period;
  }
  RC_ASSERT(busy == run.totals.busy);
  RC_ASSERT(run.totals.step_time.gpu() == run.totals.busy);
}

/// Work conserving: the engine stands still only while no request is inside.
RC_GTEST_PROP(Invariants, NeverIdleWhileARequestWaits, ()) {
  const auto scenario = test::random_scenario();
  const auto run = test::run_scenario(scenario, random_twin());
  std::vector<domain::RequestRecord> inside;
  std::copy_if(run.sink.requests.begin(),
               run.sink.requests.end(),
               std::back_inserter(inside),
               [](const auto& r) { return r.outcome != domain::Outcome::kRejected; });
  for (std::size_t i = 1; i < run.sink.steps.size(); ++i) {
    const core::SimTime idle_from = run.sink.steps[i - 1].start + run.sink.steps[i - 1].period;
    const core::SimTime idle_to = run.sink.steps[i].start;
    if (idle_from == idle_to) {
      continue;
    }
    for (const auto& record : inside) {
      RC_ASSERT(record.last_token <= idle_from || record.queued >= idle_to);
    }
  }
}

/// No oracle: until a request ends by itself, nothing that happens depends on how long it will go
/// on.
RC_GTEST_PROP(Invariants, TheFutureOfARequestIsNotKnown, ()) {
  auto scenario = test::random_scenario();
  const auto victim = *rc::gen::inRange<std::size_t>(0, scenario.requests.size());
  auto& request = scenario.requests[victim];
  request.max_tokens = core::Tokens(95);
  request.output_tokens = core::Tokens(*rc::gen::inRange<std::int64_t>(1, 45));
  const Twin twin = random_twin();
  const auto shorter = test::run_scenario(scenario, twin);
  request.output_tokens += core::Tokens(*rc::gen::inRange<std::int64_t>(1, 45));
  const auto longer = test::run_scenario(scenario, twin);
  const auto ended = std::find_if(shorter.sink.requests.begin(),
                                  shorter.sink.requests.end(),
                                  [&](const auto& record) { return record.id == request.id; });
  RC_PRE(ended != shorter.sink.requests.end() && ended->outcome == domain::Outcome::kFinished);
  for (std::size_t i = 0; i < shorter.sink.steps.size(); ++i) {
    const auto& a = shorter.sink.steps[i];
    if (a.start >= ended->last_token) {
      break;
    }
    RC_ASSERT(i < longer.sink.steps.size());
    const auto& b = longer.sink.steps[i];
    RC_ASSERT(a.start == b.start && a.period == b.period && a.decode_context == b.decode_context);
  }
}

/// Blocks: used + free = total, no block in two places, references equal holders, nothing held at
/// the end.
RC_GTEST_PROP(Invariants, NoBlockIsLeaked, ()) {
  using engine::ScheduledStep;
  const auto scenario = test::random_scenario();
  engine::vllm::plain::Scheduler scheduler(scenario.options);
  const auto check_pool =
      [&](const std::vector<std::shared_ptr<engine::vllm::plain::Sequence>>& alive) {
        std::map<core::BlockId, std::int64_t> holders;
        for (const auto& sequence : alive) {
          for (const auto& table : sequence->blocks.groups) {
            for (const auto block : table.ids()) {
              if (block != engine::vllm::plain::kNullBlock) {
                ++holders[block];
              }
            }
          }
        }
        const auto& pool = scheduler.kv_cache();
        RC_ASSERT(pool.num_used() == static_cast<std::int64_t>(holders.size()));
        for (const auto& [block, count] : holders) {
          RC_ASSERT(count == 1 || pool.has_lookups());
          RC_ASSERT(pool.references(block) == (pool.has_lookups() ? count : 0));
        }
        std::vector<core::BlockId> free = pool.free_list();
        std::sort(free.begin(), free.end());
        RC_ASSERT(std::adjacent_find(free.begin(), free.end()) == free.end());
        for (const auto block : free) {
          RC_ASSERT(block.value() != 0 && holders.count(block) == 0);
        }
      };
  std::vector<std::shared_ptr<engine::vllm::plain::Sequence>> alive;
  std::vector<ScheduledStep> in_flight;
  std::size_t next = 0;
  const std::size_t depth = scenario.options.async_scheduling ? 2 : 1;
  constexpr int kMoreThanEnough = 100'000;
  for (int round = 0; round < kMoreThanEnough; ++round) {
    const bool inside = scheduler.num_running() + scheduler.num_waiting() > 0;
    if (next == scenario.requests.size() && !inside && in_flight.empty()) {
      break;
    }
    if (next < scenario.requests.size() && round % 3 == 0) {
      const domain::Request& request = scenario.requests[next++];
      if (scheduler.can_ever_run({request, scenario.options.max_model_len})) {
        alive.push_back(scheduler.take(request, {}));
      }
    }
    if (in_flight.size() < depth) {
      ScheduledStep step;
      scheduler.schedule(step);
      check_pool(alive);
      if (!step.empty()) {
        in_flight.push_back(std::move(step));
        continue;
      }
    }
    if (!in_flight.empty()) {
      scheduler.update(in_flight.front(), std::vector<std::int64_t>(in_flight.front().size(), 1));
      in_flight.erase(in_flight.begin());
      check_pool(alive);
    }
  }
  RC_ASSERT(next == scenario.requests.size());
  RC_ASSERT(scheduler.num_running() == 0 && scheduler.num_waiting() == 0);
  RC_ASSERT(scheduler.kv_cache().num_used() == 0);
}

}  // namespace
}  // namespace ridgeline
