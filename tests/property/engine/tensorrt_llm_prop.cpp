// TensorRT-LLM's scheduler over random workloads: its invariants step by step, quiet steps at once
// against one by one, and a single request against vLLM's.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/ids.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "engine/acceptance.hpp"
#include "engine/engine.hpp"
#include "engine/loop/step_loop.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/options.hpp"
#include "engine/profiles.hpp"
#include "engine/tensorrt_llm/options.hpp"
#include "engine/tensorrt_llm/scheduler.hpp"
#include "engine/tensorrt_llm/sequence.hpp"
#include "engine/tensorrt_llm/settings.hpp"
#include "equal_ranks.hpp"
#include "equal_runs.hpp"
#include "random_scenario.hpp"
#include "support/drive.hpp"
#include "support/linear_model.hpp"
#include "support/ranks.hpp"

namespace ridgeline::engine::tensorrt_llm {
namespace {

struct TensorRtScenario {
  test::Scenario base;
  Settings settings;
};

Settings random_settings() {
  using rc::gen::element;
  Settings settings;
  settings.capacity_scheduler_policy = *element(CapacityPolicy::kGuaranteedNoEvict,
                                                CapacityPolicy::kMaxUtilization,
                                                CapacityPolicy::kMaxUtilization,
                                                CapacityPolicy::kStaticBatch);
  settings.context_chunking_policy =
      *element(ChunkingPolicy::kFirstComeFirstServed, ChunkingPolicy::kEqualProgress);
  settings.enable_partial_reuse = *element(false, true);
  settings.copy_on_partial_reuse = *element(false, true);
  settings.skips_duplicate_prefixes = *element(true, true, false);
  settings.batch_wait_timeout_iters = *element<std::int64_t>(0, 0, 0, 4);
  settings.batch_wait_max_tokens_ratio = *element(0.0, 0.5, 1.0);
  return settings;
}

TensorRtScenario random_tensorrt_scenario() {
  using rc::gen::element;
  TensorRtScenario scenario{.base = test::random_scenario({.aborts = true}),
                            .settings = random_settings()};
  engine::EngineOptions& options = scenario.base.options;
  options.enable_chunked_prefill = *element(false, true);
  options.num_speculative_tokens = *element<std::int64_t>(0, 0, 0, 1, 3);
  options.draft_acceptance = *element(std::vector<double>{}, std::vector<double>{0.9, 0.5, 0.2});
  options.pipeline_depth = *element<std::int64_t>(0, 0, 0, 3);
  scenario.settings.two_step_lookahead = options.pipeline_depth > 0;
  // As the server asks for: room for a chunk, and for a generation with its drafts.
  options.max_num_batched_tokens = std::max({options.max_num_batched_tokens,
                                             options.block_size,
                                             core::Tokens(1 + options.num_speculative_tokens)});
  return scenario;
}

/// A scheduler with its steps in flight, without time, that checks what holds of every step.
class CheckedMachine {
 public:
  explicit CheckedMachine(const TensorRtScenario& scenario)
      : options_(scenario.base.options),
        settings_(scenario.settings),
        scheduler_(options_, settings_),
        depth_(static_cast<std::size_t>(engine::steps_in_flight(options_))) {}

  bool add(const domain::Request& request) {
    const auto sequence = scheduler_.add(request);
    if (sequence != nullptr) {
      all_.push_back(sequence);
    }
    return sequence != nullptr;
  }
  std::int64_t abort(core::RequestId id) { return scheduler_.abort(id) != nullptr ? 1 : 0; }
  /// The oldest step ends, and others are formed; returns how many requests ended.
  std::int64_t step() {
    std::int64_t ended = 0;
    if (!in_flight_.empty()) {
      ended = end_oldest();
    }
    while (in_flight_.size() < depth_) {
      const std::int64_t pauses = scheduler_.counts().preemptions;
      ScheduledStep next;
      scheduler_.schedule(next);
      check(next);
      if (!next.empty()) {
        in_flight_.push_back(std::move(next));
      } else if (!in_flight_.empty() || scheduler_.counts().preemptions == pauses) {
        break;
      }
    }
    return ended;
  }
  [[nodiscard]] bool is_idle() const { return in_flight_.empty(); }
  [[nodiscard]] const Scheduler& scheduler() const { return scheduler_; }

 private:
  std::int64_t end_oldest() {
    std::vector<std::int64_t> tokens;
    for (const ScheduledSequence& part : in_flight_.front()) {
      auto& sequence = *part.sequence;
      const bool draws = part.samples && part.num_drafts > 0;
      tokens.push_back(
          1 +
          (draws ? engine::accepted_drafts(
                       options_, sequence.record.id, sequence.num_verifications++, part.num_drafts)
                 : 0));
    }
    const auto ended = scheduler_.update(in_flight_.front(), tokens);
    in_flight_.pop_front();
    return std::ssize(ended);
  }

  void check(const ScheduledStep& step) const {
    RC_ASSERT(std::ssize(step) <= options_.max_num_seqs);
    std::int64_t tokens = 0;
    bool generates = false;
    std::set<core::RequestId> once;
    for (const ScheduledSequence& part : step) {
      tokens += part.num_scheduled_tokens;
      RC_ASSERT(part.num_scheduled_tokens > 0);
      RC_ASSERT(once.insert(part.sequence->record.id).second);
      RC_ASSERT(!part.is_prefill || !generates);  // Contexts come first.
      generates = generates || !part.is_prefill;
    }
    RC_ASSERT(tokens <= options_.max_num_batched_tokens.value());
    const auto& selection = scheduler_.selection();
    RC_ASSERT(settings_.capacity_scheduler_policy == CapacityPolicy::kMaxUtilization ||
              selection.paused.empty());
    check_blocks();
  }

  /// Each request has the blocks of its tokens, and each block as many holders as references.
  void check_blocks() const {
    std::vector<std::int64_t> holders(static_cast<std::size_t>(scheduler_.kv_cache().num_blocks()));
    core::RequestId before;
    for (const auto& sequence : scheduler_.running()) {
      RC_ASSERT(!before.valid() || before < sequence->record.id);  // In the order of arrival.
      before = sequence->record.id;
      RC_ASSERT(sequence->holds_blocks || sequence->blocks.empty());
      RC_ASSERT(std::ssize(sequence->blocks) <=
                scheduler_.kv_cache().blocks_of(sequence->kv_tokens));
      for (const core::BlockId block : sequence->blocks) {
        ++holders[block.value()];
      }
    }
    std::int64_t free = 0;
    for (std::size_t block = 0; block < holders.size(); ++block) {
      RC_ASSERT(scheduler_.kv_cache().references(
                    core::BlockId(static_cast<std::uint32_t>(block))) == holders[block]);
      free += holders[block] == 0 ? 1 : 0;
    }
    RC_ASSERT(scheduler_.kv_cache().num_free() == free);
  }

  engine::EngineOptions options_;
  Settings settings_;
  Scheduler scheduler_;
  std::size_t depth_;
  std::deque<ScheduledStep> in_flight_;
  std::vector<engine::SequencePtr> all_;
};

RC_GTEST_PROP(TensorRtLlm, KeepsItsInvariantsInEveryStep, ()) {
  const TensorRtScenario scenario = random_tensorrt_scenario();
  CheckedMachine machine(scenario);
  std::int64_t inside = 0;
  auto next = scenario.base.requests.begin();
  constexpr int kMoreThanEnough = 100'000;
  int turn = 0;
  for (; turn < kMoreThanEnough && (next != scenario.base.requests.end() || inside > 0); ++turn) {
    if (next != scenario.base.requests.end() &&
        (machine.is_idle() || *rc::gen::element(false, false, true))) {
      inside += machine.add(*next) ? 1 : 0;
      ++next;
    }
    inside -= machine.step();
    if (*rc::gen::inRange(0, 60) == 0) {
      inside -= machine.abort(core::RequestId(*rc::gen::inRange<std::uint32_t>(
          0, 1 + static_cast<std::uint32_t>(scenario.base.requests.size()))));
    }
  }
  RC_ASSERT(turn < kMoreThanEnough);
  const auto& kv = machine.scheduler().kv_cache();
  RC_ASSERT(kv.num_free() == kv.num_blocks());
  RC_CLASSIFY(machine.scheduler().counts().preemptions > 0, "paused");
  RC_CLASSIFY(machine.scheduler().counts().prefix_hits > core::Tokens(0), "reused");
}

test::EngineRun run_tensorrt(const TensorRtScenario& scenario, bool jump) {
  test::EngineRun run;
  const test::LinearModel model(scenario.base.costs);
  const engine::EngineInputs inputs{.options = scenario.base.options,
                                    .model = model,
                                    .host = scenario.base.host,
                                    .sink = run.sink};
  engine::StepLoop loop(
      inputs, std::make_unique<Scheduler>(scenario.base.options, scenario.settings), jump);
  test::drive(loop, scenario.base.requests, scenario.base.aborts);
  run.totals = loop.totals();
  run.end = loop.now();
  return run;
}

RC_GTEST_PROP(TensorRtLlm, JumpsAreTheSameAsSteps, ()) {
  const TensorRtScenario scenario = random_tensorrt_scenario();
  const test::EngineRun stepping = run_tensorrt(scenario, false);
  const test::EngineRun jumping = run_tensorrt(scenario, true);
  test::expect_equal(stepping, jumping);
  RC_ASSERT(jumping.sink.requests.size() == scenario.base.requests.size());
  RC_CLASSIFY(jumping.totals.jumped_steps > 0, "jumped");
  RC_CLASSIFY(jumping.totals.jumped_steps > 0 && jumping.totals.preemptions > 0,
              "jumped and paused");
}

TensorRtScenario random_attention_dp() {
  TensorRtScenario scenario = random_tensorrt_scenario();
  engine::EngineOptions& options = scenario.base.options;
  options.pipeline_depth = 0;
  scenario.settings.two_step_lookahead = false;
  scenario.settings.enable_attention_dp = true;
  scenario.settings.attention_dp_enable_balance = *rc::gen::element(false, true, true);
  scenario.settings.attention_dp_timeout_iters = *rc::gen::element<std::int64_t>(0, 3, 50);
  scenario.settings.attention_dp_batching_wait_iters = *rc::gen::element<std::int64_t>(0, 2, 10);
  options.scheduler = "tensorrt-llm";
  auto own = std::make_shared<OwnOptions>();
  own->settings = scenario.settings;
  options.own = std::move(own);
  return scenario;
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
/// request and no block is lost.
RC_GTEST_PROP(TensorRtLlm, RanksJumpAsTheyStep, ()) {
  const TensorRtScenario scenario = random_attention_dp();
  const auto ranks = *rc::gen::inRange<std::size_t>(1, 5);
  const test::RanksRun stepped = run_ranks(scenario.base, ranks, false);
  const test::RanksRun jumped = run_ranks(scenario.base, ranks, true);
  test::expect_equal(stepped, jumped);
  test::expect_whole(jumped, scenario.base.requests.size());
}

RC_GTEST_PROP(TensorRtLlm, OneRankIsThePlainEngine, ()) {
  const TensorRtScenario scenario = random_attention_dp();
  const test::RanksRun plain = run_ranks(scenario.base, 1, false, true);
  const test::RanksRun group = run_ranks(scenario.base, 1, *rc::gen::arbitrary<bool>());
  RC_ASSERT(group.steps[0].dummy_steps == 0);
  test::expect_equal(plain.ranks[0], group.ranks[0]);
}

/// Alone, without a cache, both engines compute the prompt and then token by token.
RC_GTEST_PROP(TensorRtLlm, OneRequestTakesAsLongAsInVllm, ()) {
  TensorRtScenario scenario = random_tensorrt_scenario();
  engine::EngineOptions& options = scenario.base.options;
  options.enable_prefix_caching = false;
  options.enable_chunked_prefill = false;
  options.max_num_batched_tokens = options.max_model_len;
  options.num_speculative_tokens = 0;
  options.pipeline_depth = 0;
  options.long_prefill_token_threshold = {};
  options.max_num_scheduled_tokens = {};
  options.profile = engine::profiles().back();
  options.profile.watermark = 0.0;
  scenario.base.requests.resize(1);
  scenario.base.aborts.clear();
  auto& request = scenario.base.requests.front();
  request.prompt_tokens = std::min(request.prompt_tokens, options.max_model_len - core::Tokens(2));
  request.prompt = {};
  const test::EngineRun ours = run_tensorrt(scenario, true);
  const test::EngineRun vllm = test::run_scenario(scenario.base, test::Twin::kReference);
  RC_ASSERT(ours.sink.requests == vllm.sink.requests);
  RC_ASSERT(ours.sink.gaps == vllm.sink.gaps);
  RC_ASSERT(ours.totals.step_time == vllm.totals.step_time);
}

}  // namespace
}  // namespace ridgeline::engine::tensorrt_llm
