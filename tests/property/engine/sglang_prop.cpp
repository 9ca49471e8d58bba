// SGLang's scheduler over random scenarios: what holds at every step, rounds of quiet steps at once
// and one by one, and one request alone against vLLM's.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <numeric>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/options.hpp"
#include "engine/schedulers.hpp"
#include "engine/sglang/options.hpp"
#include "engine/sglang/request.hpp"
#include "engine/sglang/scheduler.hpp"
#include "engine/sglang/settings.hpp"
#include "equal_ranks.hpp"
#include "equal_runs.hpp"
#include "random_scenario.hpp"
#include "support/drive.hpp"
#include "support/linear_model.hpp"
#include "support/ranks.hpp"

namespace ridgeline {
namespace {

namespace sglang = engine::sglang;

sglang::Speculation random_speculation() {
  sglang::Speculation speculation;
  speculation.steps = *rc::gen::inRange<std::int64_t>(1, 5);
  speculation.topk = *rc::gen::element<std::int64_t>(1, 1, 4);
  speculation.draft_tokens =
      speculation.topk == 1 ? speculation.steps + 1 : *rc::gen::inRange<std::int64_t>(5, 13);
  speculation.keys_pairs = *rc::gen::arbitrary<bool>();
  speculation.has_draft_kv = *rc::gen::arbitrary<bool>();
  return speculation;
}

/// A pool in the host's memory, and slots for recurrent states: as many as all that run may ask
/// for.
void add_tiers(sglang::Options& options) {
  using rc::gen::element;
  if (*element(false, false, true)) {
    options.host = {.tokens = options.page_size * *rc::gen::inRange<std::int64_t>(1, 400),
                    .writes = *element(sglang::HostWrites::kThrough,
                                       sglang::HostWrites::kThroughSelective,
                                       sglang::HostWrites::kBack),
                    .states = *element<std::int64_t>(0, 2, 30),
                    .per_token = core::Duration::microseconds(*element<std::int64_t>(0, 1, 40)),
                    .per_state = core::Duration::microseconds(*element<std::int64_t>(0, 500)),
                    .write_iterations = *element<std::int64_t>(1, 3),
                    .load_iterations = *element<std::int64_t>(1, 3)};
  }
  const int states = *element(0, 0, 1, 2);
  if (states == 1 && !options.overlap && options.page_size == 1) {
    options.state_slots =
        3 * (options.max_running_requests + 1) + *rc::gen::inRange<std::int64_t>(0, 20);
  } else if (states == 2) {
    options.state_buffers = options.overlap ? 2 : 1;
    options.state_grid = std::lcm(*element<std::int64_t>(4, 16), options.page_size);
    options.most_states_per_path = *element<std::int64_t>(-1, -1, 2);
    options.state_track = options.state_grid * *element<std::int64_t>(1, 3);
    options.state_slots = (4 + options.state_buffers) * (options.max_running_requests + 1) +
                          *rc::gen::inRange<std::int64_t>(0, 20);
  }
}

sglang::Options random_settings() {
  using rc::gen::arbitrary;
  using rc::gen::element;
  using rc::gen::inRange;
  sglang::Options options;
  const std::string_view version =
      *element<std::string_view>("0.5.5", "main", "0.5.17", "0.5.20", "0.5.22", "0.5.23");
  options.rules = sglang::rules_of(version);
  options.page_size = *element<std::int64_t>(1, 1, 1, 4, 16);
  options.max_total_num_tokens = options.page_size * *inRange<std::int64_t>(12, 400);
  options.context_length = *element<std::int64_t>(64, 200, 4096);
  options.max_running_requests = *inRange<std::int64_t>(1, 10);
  options.max_prefill_tokens = *element<std::int64_t>(16, 64, 16'384);
  options.chunked_prefill_size = *element<std::int64_t>(0, 16, 32, 128);
  options.schedule_policy = *element(sglang::SchedulePolicy::kFcfs,
                                     sglang::SchedulePolicy::kFcfs,
                                     sglang::SchedulePolicy::kLpm,
                                     sglang::SchedulePolicy::kDfsWeight,
                                     sglang::SchedulePolicy::kLof,
                                     sglang::SchedulePolicy::kHrrn,
                                     sglang::SchedulePolicy::kRandom);
  options.schedule_conservativeness = *element(0.03, 0.3, 1.0);
  options.disable_radix_cache = *element(false, false, true);
  options.radix_eviction_policy = *element(sglang::EvictionPolicy::kLru,
                                           sglang::EvictionPolicy::kLfu,
                                           sglang::EvictionPolicy::kFifo,
                                           sglang::EvictionPolicy::kMru,
                                           sglang::EvictionPolicy::kFilo,
                                           sglang::EvictionPolicy::kSlru,
                                           sglang::EvictionPolicy::kPriority);
  options.enable_mixed_chunk = options.chunked_prefill_size > 10 && *element(false, false, true);
  options.overlap = *arbitrary<bool>();
  options.scheduler_recv_interval = *element<std::int64_t>(1, 1, 1, 7);
  options.enable_priority_scheduling = *element(false, false, true);
  if (options.enable_priority_scheduling) {
    options.schedule_policy = *element(sglang::SchedulePolicy::kFcfs, sglang::SchedulePolicy::kLof);
    options.schedule_low_priority_values_first = *arbitrary<bool>();
    options.priority_scheduling_preemption_threshold = *element<std::int64_t>(0, 2);
  }
  options.retraction_policy =
      *element(sglang::RetractionPolicy::kLength, sglang::RetractionPolicy::kPriority);
  options.prefill_decode_interval = *element<std::int64_t>(0, 0, 0, 1, 5);
  options.prefill_decode_interval_min_bs = *element<std::int64_t>(0, 2);
  options.min_free_slots_delay = *element<std::int64_t>(0, 0, 0, 3);
  if (!options.disable_radix_cache && version != "0.5.5") {
    add_tiers(options);
  }
  if (version != "0.5.5" && *element(false, true)) {
    options.speculation = random_speculation();
    options.enable_mixed_chunk = options.enable_mixed_chunk && options.rules.mixes_with_drafts;
  }
  return options;
}

engine::EngineOptions with_settings(const sglang::Options& settings) {
  engine::EngineOptions options;
  options.scheduler = "sglang";
  options.max_model_len = core::Tokens(settings.context_length);
  options.async_scheduling = settings.overlap;
  options.log_steps = true;
  options.num_speculative_tokens = settings.speculation.draft_tokens - 1;
  // No more is accepted than a branch is deep.
  options.draft_acceptance.assign(static_cast<std::size_t>(settings.speculation.steps),
                                  *rc::gen::element(0.4, 0.8, 1.0));
  options.draft_acceptance.push_back(0.0);
  options.own = std::make_shared<const sglang::Options>(settings);
  return options;
}

/// The scheduler with its steps in flight, without time, and all requests that it was given.
class SglangMachine {
 public:
  explicit SglangMachine(const sglang::Options& settings)
      : settings_(settings), scheduler_(with_settings(settings)) {}

  void add(const domain::Request& request) {
    if (const auto sequence = scheduler_.add(request); sequence != nullptr) {
      all_.push_back(std::static_pointer_cast<sglang::Sequence>(sequence));
    }
  }
  void step() {
    if (!in_flight_.empty()) {
      const engine::ScheduledStep oldest = std::move(in_flight_.front());
      in_flight_.pop_front();
      std::vector<std::int64_t> tokens(oldest.size(), 1);
      for (std::size_t i = 0; i < oldest.size(); ++i) {
        const std::int64_t most = std::min(oldest[i].num_drafts, settings_.speculation.steps);
        tokens[i] += *rc::gen::inRange<std::int64_t>(0, most + 1);
      }
      num_ended_ += scheduler_.update(oldest, tokens).size();
      check_pool();
    }
    while (in_flight_.size() < (settings_.overlap ? 2U : 1U)) {
      engine::ScheduledStep next;
      scheduler_.schedule(next);
      num_ended_ += scheduler_.take_failed().size();
      check_pool();
      if (next.empty()) {
        break;
      }
      check_step(next);
      in_flight_.push_back(std::move(next));
    }
  }
  [[nodiscard]] bool is_idle() const { return in_flight_.empty(); }
  void check_end() const {
    RC_ASSERT(num_ended_ == all_.size());
    RC_ASSERT(scheduler_.protected_size() == 0 || settings_.host.tokens > 0);
    RC_ASSERT(scheduler_.private_tokens() == 0);
    if (settings_.state_slots > 0) {
      const std::int64_t unused = scheduler_.free_states() + scheduler_.evictable_states();
      RC_ASSERT(unused + scheduler_.protected_states() == settings_.state_slots);
      RC_ASSERT(unused == settings_.state_slots || settings_.host.tokens > 0);
    }
    RC_ASSERT(scheduler_.waiting().empty());
  }
  [[nodiscard]] std::int64_t num_retractions() const { return scheduler_.num_retractions(); }

 private:
  /// Free, cached and held tokens are the pool; no page is lost or given twice.
  void check_pool() const {
    const std::int64_t page = settings_.page_size;
    std::int64_t held = 0;
    std::int64_t delayed = 0;
    for (const auto& request : all_) {
      held += (request->kv_len + page - 1) / page * page - request->tree_len;
      delayed += request->delayed;
    }
    RC_ASSERT(scheduler_.free_tokens() >= 0);
    if (page == 1) {
      RC_ASSERT(scheduler_.private_tokens() == held + delayed);
    } else if (delayed == 0) {
      RC_ASSERT(scheduler_.private_tokens() == held);
    } else {
      RC_ASSERT(scheduler_.private_tokens() >= held);
    }
    const double ratio = scheduler_.iteration().new_token_ratio;
    RC_ASSERT(ratio >= 0.0 && ratio <= 1.0);
  }
  void check_step(const engine::ScheduledStep& step) const {
    std::int64_t prefills = 0;
    std::int64_t tokens = 0;
    std::int64_t whole = 0;  // Prompts of which a part stays.
    for (const auto& part : step) {
      RC_ASSERT(part.num_scheduled_tokens > 0);
      if (part.is_prefill) {
        ++prefills;
        tokens += part.num_scheduled_tokens;
        whole += part.samples ? 0 : 1;
      } else {
        const bool verifies = scheduler_.iteration().mode == sglang::Mode::kDecode;
        RC_ASSERT(part.num_scheduled_tokens == (verifies ? settings_.speculation.draft_tokens : 1));
      }
    }
    RC_ASSERT(whole <= 1);
    if (settings_.chunked_prefill_size > 0) {
      RC_ASSERT(tokens <= std::max(settings_.chunked_prefill_size, settings_.page_size));
    }
    const auto running = std::ssize(scheduler_.running());
    switch (scheduler_.iteration().mode) {
      case sglang::Mode::kDecode:
        RC_ASSERT(prefills == 0);
        RC_ASSERT(std::ssize(step) == running);
        break;
      case sglang::Mode::kExtend:
        RC_ASSERT(prefills == std::ssize(step));
        RC_ASSERT(running + prefills <= settings_.max_running_requests + 1);
        break;
      case sglang::Mode::kMixed:
        RC_ASSERT(settings_.enable_mixed_chunk);
        RC_ASSERT(running == 0);
        RC_ASSERT(std::ssize(step) <= settings_.max_running_requests + 1);
        break;
      case sglang::Mode::kNone:
        RC_FAIL("a step without a mode");
    }
  }

  sglang::Options settings_;
  sglang::Scheduler scheduler_;
  std::vector<sglang::RequestPtr> all_;
  std::deque<engine::ScheduledStep> in_flight_;
  std::size_t num_ended_ = 0;
};

RC_GTEST_PROP(Sglang, LosesNoPageAndKeepsItsBudgets, ()) {
  const test::Scenario scenario = test::random_scenario({.handed_over = true});
  SglangMachine machine(random_settings());
  auto next = scenario.requests.begin();
  constexpr int kMoreThanEnough = 20'000;
  int turn = 0;
  for (; turn < kMoreThanEnough && (next != scenario.requests.end() || !machine.is_idle());
       ++turn) {
    const bool one_comes = *rc::gen::element(false, false, true);
    if (next != scenario.requests.end() && (one_comes || machine.is_idle())) {
      machine.add(*next++);
    }
    machine.step();
  }
  RC_ASSERT(turn < kMoreThanEnough);
  machine.check_end();
  RC_CLASSIFY(machine.num_retractions() > 0, "retracted");
}

test::EngineRun run(const test::Scenario& scenario, bool jump) {
  test::EngineRun run;
  const test::LinearModel model(scenario.costs);
  const auto engine = engine::make_step_engine(
      *engine::find_scheduler(engine::schedulers(), "sglang"),
      {.options = scenario.options, .model = model, .host = scenario.host, .sink = run.sink},
      jump);
  test::drive(*engine, scenario.requests, scenario.aborts);
  run.totals = engine->totals();
  run.end = engine->now();
  return run;
}

/// Requests of which none waits for a grammar: vLLM's options have their times.
test::Scenario scenario_for_sglang(bool has_host = true) {
  test::Scenario scenario = test::random_scenario({.handed_over = true, .aborts = true});
  sglang::Options settings = random_settings();
  if (!has_host) {
    settings.host = {};  // Its copies may outlast the last request.
  }
  scenario.options = with_settings(settings);
  for (domain::Request& request : scenario.requests) {
    request.grammar = {};
  }
  return scenario;
}

RC_GTEST_PROP(Sglang, JumpsAsItSteps, ()) {
  const test::Scenario scenario = scenario_for_sglang();
  const test::EngineRun stepping = run(scenario, false);
  const test::EngineRun jumping = run(scenario, true);
  test::expect_equal(stepping, jumping);
  RC_ASSERT(jumping.sink.requests.size() == scenario.requests.size());
  RC_CLASSIFY(jumping.totals.jumped_steps > 0, "jumped");
  RC_CLASSIFY(jumping.totals.preemptions > 0, "retracted");
}

test::RanksRun run_ranks(const test::Scenario& scenario,
                         std::size_t ranks,
                         bool jump,
                         bool alone = false) {
  return test::run_ranks(ranks,
                         scenario.options,
                         test::LinearModel(scenario.costs),
                         scenario.host,
                         scenario.requests,
                         jump,
                         scenario.aborts,
                         alone);
}

/// Attention in data parallel: jumped groups equal stepped ones, all ranks take the same steps, no
/// request and no page is lost.
RC_GTEST_PROP(Sglang, RanksJumpAsTheyStep, ()) {
  const test::Scenario scenario = scenario_for_sglang(false);
  const auto ranks = *rc::gen::inRange<std::size_t>(1, 5);
  const test::RanksRun stepped = run_ranks(scenario, ranks, false);
  const test::RanksRun jumped = run_ranks(scenario, ranks, true);
  test::expect_equal(stepped, jumped);
  test::expect_whole(jumped, scenario.requests.size());
}

RC_GTEST_PROP(Sglang, OneRankIsThePlainEngine, ()) {
  const test::Scenario scenario = scenario_for_sglang(false);
  const test::RanksRun plain = run_ranks(scenario, 1, false, true);
  const test::RanksRun group = run_ranks(scenario, 1, *rc::gen::arbitrary<bool>());
  RC_ASSERT(group.steps[0].dummy_steps == 0);
  test::expect_whole(plain, scenario.requests.size());
  test::expect_equal(plain.ranks[0], group.ranks[0]);
}

/// Without a cache one request alone is computed in chunks and then token by token by any engine.
RC_GTEST_PROP(Sglang, AloneIsAsFastAsVllm, ()) {
  test::Scenario scenario = test::random_scenario({});
  scenario.requests.resize(1);
  domain::Request& request = scenario.requests.front();
  request.prompt.clear();
  sglang::Options settings;
  settings.rules = sglang::rules_of(*rc::gen::element("0.5.5", "main", "0.5.23"));
  settings.max_total_num_tokens = 4096;
  settings.disable_radix_cache = true;
  settings.overlap = *rc::gen::arbitrary<bool>();
  settings.chunked_prefill_size = *rc::gen::inRange<std::int64_t>(8, 60);
  engine::EngineOptions vllm;
  vllm.max_num_batched_tokens = core::Tokens(settings.chunked_prefill_size);
  vllm.num_gpu_blocks = core::Blocks(1024);
  vllm.enable_prefix_caching = false;
  vllm.async_scheduling = settings.overlap;
  const test::LinearModel model(scenario.costs);
  const test::EngineRun reference =
      test::run_engine(vllm, model, scenario.host, scenario.requests, test::Twin::kReference);
  scenario.options = with_settings(settings);
  const test::EngineRun own = run(scenario, true);
  const domain::RequestRecord& a = reference.sink.requests.front();
  const domain::RequestRecord& b = own.sink.requests.front();
  RC_ASSERT(a.first_token == b.first_token);
  RC_ASSERT(a.last_token == b.last_token);
  RC_ASSERT(a.output_tokens == b.output_tokens);
  RC_ASSERT(reference.sink.gaps == own.sink.gaps);
  // Every end costs the overlapped loop a step more, which vLLM foresees.
  const std::int64_t extra = settings.overlap && b.output_tokens.value() > 1 ? 1 : 0;
  RC_ASSERT(own.totals.steps <= reference.totals.steps + extra + 1);
}

}  // namespace
}  // namespace ridgeline
