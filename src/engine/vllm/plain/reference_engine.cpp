#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/int128.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "domain/step.hpp"
#include "engine/acceptance.hpp"
#include "engine/engine.hpp"
#include "engine/options.hpp"
#include "engine/pipeline.hpp"
#include "engine/vllm/plain/scheduler.hpp"
#include "latency/step_time_model.hpp"

namespace ridgeline::engine {
namespace {

using vllm::plain::ScheduledSequence;
using vllm::plain::ScheduledStep;
using vllm::plain::Sequence;
using vllm::plain::Status;

/// A step on its way through the GPU.
struct InFlight {
  ScheduledStep step;
  core::SimTime end;
};

/// vLLM's engine loop on simulated time: while the pipeline (one step, or two with asynchronous
/// scheduling) has room, form a step; otherwise wait for the oldest one and take its tokens.
class ReferenceEngine final : public Engine {
 public:
  explicit ReferenceEngine(const EngineInputs& inputs)
      : inputs_(inputs),
        scheduler_(inputs.options),
        needs_decode_lengths_(inputs.model.needs_decode_lengths()),
        depth_(static_cast<std::size_t>(steps_in_flight(inputs.options))),
        steps_(depth_) {}

  void submit(const domain::Request& request, core::SimTime queued) override;
  void abort(core::RequestId id, core::SimTime at) override;
  Pause advance(core::SimTime limit, bool pause_at_completion, std::int64_t max_segments) override;
  void drop_all() override;

  [[nodiscard]] core::SimTime now() const override { return now_; }
  [[nodiscard]] core::SimTime next_instant() const override;
  [[nodiscard]] core::SimTime next_visible() const override { return next_instant(); }
  [[nodiscard]] InstanceState state(core::SimTime at) const override;
  [[nodiscard]] core::Tokens cached_prefix(const domain::Request& request) override {
    return scheduler_.cached_prefix(request);
  }
  [[nodiscard]] EngineTotals totals() const override;

 private:
  [[nodiscard]] bool fill_pipeline();
  [[nodiscard]] InFlight& in_flight(std::size_t place) { return steps_[ring_place(place)]; }
  [[nodiscard]] std::size_t ring_place(std::size_t place) const;
  [[nodiscard]] bool launch(InFlight& next);
  bool complete_oldest();
  void draw_tokens(const ScheduledStep& step);
  [[nodiscard]] domain::StepBatch batch_of(ScheduledStep& step);
  [[nodiscard]] core::Tokens shared_context() const;
  core::SimTime leave_pipeline(const domain::StepBatch& batch, core::Duration exposed);

  EngineInputs inputs_;
  vllm::plain::Scheduler scheduler_;
  bool needs_decode_lengths_;
  std::size_t depth_;
  std::vector<InFlight> steps_;  ///< A ring of as many as may be in flight.
  std::size_t oldest_ = 0;
  std::size_t num_in_flight_ = 0;
  Pipeline pipeline_;
  core::SimTime now_;
  bool schedule_due_ = false;  ///< A batch may be formed at now_.
  bool past_horizon_ = false;  ///< A batch was formed that ends too late.
  EngineTotals totals_;
  core::Int128 used_block_ticks_ = 0;
  std::vector<domain::PrefillChunk> prefills_;
  std::vector<core::Tokens> decode_lengths_;
  std::vector<std::int64_t> tokens_;  ///< That come out of the step that ends, where it had drafts.
  std::vector<domain::TokenGaps> gaps_;  ///< Before the tokens of that step.
};

void ReferenceEngine::submit(const domain::Request& request, core::SimTime queued) {
  RIDGELINE_CHECK(queued >= now_, "request submitted in the past");
  RIDGELINE_CHECK(queued <= inputs_.horizon, "request submitted after the horizon");
  auto sequence = std::make_shared<Sequence>(request, inputs_.options.max_model_len);
  sequence->record.queued = queued;
  if (!scheduler_.can_ever_run(*sequence)) {
    sequence->record.outcome = domain::Outcome::kRejected;
    inputs_.sink.on_request(sequence->record);
    return;
  }
  scheduler_.add(sequence);
  if (num_in_flight_ == 0 && !schedule_due_) {
    now_ = queued;
    schedule_due_ = true;
  }
}

void ReferenceEngine::abort(core::RequestId id, core::SimTime at) {
  RIDGELINE_CHECK(at >= now_, "request aborted in the past");
  used_block_ticks_ +=
      static_cast<core::Int128>(scheduler_.kv_cache().num_used()) * (at - now_).count();
  now_ = at;
  if (const auto sequence = scheduler_.find(id)) {
    scheduler_.abort(sequence);
    inputs_.sink.on_request(sequence->record);
  }
}

core::SimTime ReferenceEngine::next_instant() const {
  if (schedule_due_) {
    return now_;
  }
  return num_in_flight_ > 0 ? steps_[oldest_].end : core::SimTime::never();
}

InstanceState ReferenceEngine::state(core::SimTime at) const {
  RIDGELINE_CHECK(at >= now_ && at <= next_instant(), "state asked for an instant not reached");
  const vllm::plain::KvCache& cache = scheduler_.kv_cache();
  return {.at = at,
          .running = scheduler_.num_running(),
          .waiting = scheduler_.num_waiting(),
          .queued_prompt_tokens = scheduler_.queued_prompt_tokens(),
          .used_blocks = core::Blocks(cache.num_used()),
          .free_blocks = core::Blocks(cache.num_free())};
}

Pause ReferenceEngine::advance(core::SimTime limit,
                               bool pause_at_completion,
                               std::int64_t max_segments) {
  for (std::int64_t segments = 0;; ++segments) {
    if (schedule_due_) {
      if (now_ >= limit) {
        return Pause::kLimit;
      }
      schedule_due_ = false;
      past_horizon_ = !fill_pipeline();
    }
    if (past_horizon_) {
      return Pause::kHorizon;
    }
    if (num_in_flight_ == 0) {
      RIDGELINE_CHECK(scheduler_.num_waiting() == 0, "requests wait although nothing runs");
      return Pause::kIdle;
    }
    if (in_flight(0).end >= limit) {
      return Pause::kLimit;
    }
    if (segments >= max_segments) {
      return Pause::kBudget;
    }
    const bool finished = complete_oldest();
    schedule_due_ = true;
    if (finished && pause_at_completion) {
      return Pause::kCompletion;
    }
  }
}

/// Where in the ring the step stands that many places behind the oldest in flight.
std::size_t ReferenceEngine::ring_place(std::size_t place) const {
  const std::size_t at = oldest_ + place;
  return at < depth_ ? at : at - depth_;
}

/// Forms batches until as many are in flight as can be; false if one of them would end after the
/// horizon.
bool ReferenceEngine::fill_pipeline() {
  while (num_in_flight_ < depth_) {
    InFlight& next = in_flight(num_in_flight_);
    scheduler_.schedule(next.step);
    totals_.peak_used_blocks =
        std::max(totals_.peak_used_blocks, core::Blocks(scheduler_.kv_cache().num_used()));
    if (!next.step.empty()) {
      if (!launch(next)) {
        return false;
      }
    } else if (num_in_flight_ > 0 || scheduler_.preempted().empty()) {
      return true;
    }
  }
  return true;
}

/// Of its decodes the step knows the sums; requests that compute more than one token are listed.
domain::StepBatch ReferenceEngine::batch_of(ScheduledStep& step) {
  prefills_.clear();
  decode_lengths_.clear();
  for (auto one = needs_decode_lengths_ ? step.begin() : step.first_other(); one != step.end();
       ++one) {
    const core::Tokens before(one->num_computed_tokens);
    if (one->is_decode()) {
      if (needs_decode_lengths_) {
        decode_lengths_.push_back(before);
      }
      continue;
    }
    // Drafts are verified as a short prefill is computed: all at once, after what is cached.
    prefills_.push_back({.past = before,
                         .new_tokens = core::Tokens(one->num_scheduled_tokens),
                         .samples = one->samples,
                         .drafts = one->is_prefill ? 0 : one->num_drafts});
    auto& record = one->sequence->record;
    record.first_scheduled = std::min(record.first_scheduled, now_);
  }
  return {.num_decodes = step.num_decodes(),
          .decode_context = core::Tokens(step.decode_context()),
          .shared_context = shared_context(),
          .decode_lengths = decode_lengths_,
          .prefills = prefills_};
}

/// With windows or states, a block stands for other tokens in each group.
core::Tokens ReferenceEngine::shared_context() const {
  return has_one_full_cache(inputs_.options)
             ? inputs_.options.block_size * scheduler_.kv_cache().num_shared()
             : core::Tokens();
}

/// Puts a step in flight; false where it would end after the horizon.
bool ReferenceEngine::launch(InFlight& next) {
  const domain::StepBatch batch = batch_of(next.step);
  domain::StepTime time = inputs_.model.predict(batch);
  time.cpu = inputs_.host.of(static_cast<std::int64_t>(next.step.size()), time.cpu);
  const core::Duration gpu = time.gpu();
  const core::Duration duration = step_period(gpu, time.cpu, inputs_.options.async_scheduling);
  time.add(domain::Bottleneck::kOverhead, duration - gpu);

  const core::SimTime start = num_in_flight_ == 0 ? now_ : in_flight(num_in_flight_ - 1).end;
  const bool pipelined = inputs_.options.pipeline_depth > 0;
  const core::SimTime end = pipelined ? leave_pipeline(batch, duration - gpu)
                                      : core::SimTime::saturating_sum(start, duration);
  if (end > inputs_.horizon) {
    return false;
  }
  if (pipelined) {
    // Other steps are in other stages: this one's share of the time is how much later it ends.
    time = in_proportion(time, end - start);
  }
  if (inputs_.options.log_steps) {
    const core::Blocks used(scheduler_.kv_cache().num_used());
    inputs_.sink.on_steps(
        domain::StepRecord::of_one(totals_.steps, batch, start, end - start, time, used));
  }
  ++totals_.steps;
  totals_.busy += end - start;
  for (std::size_t kind = 0; kind < domain::kNumBottlenecks; ++kind) {
    totals_.step_time.by_bottleneck[kind] += time.by_bottleneck[kind];
  }
  totals_.step_time.cpu += time.cpu;
  next.end = end;
  ++num_in_flight_;
  return true;
}

/// The host's work that nothing hides stands before the first stage.
core::SimTime ReferenceEngine::leave_pipeline(const domain::StepBatch& batch,
                                              core::Duration exposed) {
  std::vector<core::Duration> times = inputs_.model.stages(batch);
  times.front() = core::Duration::saturating_sum(times.front(), exposed);
  return pipeline_.pass(now_, times);
}

bool ReferenceEngine::complete_oldest() {
  const InFlight& oldest = in_flight(0);
  const core::Duration since_last = oldest.end - now_;
  used_block_ticks_ +=
      static_cast<core::Int128>(scheduler_.kv_cache().num_used()) * since_last.count();
  now_ = oldest.end;
  draw_tokens(oldest.step);
  // The gap to expect: from the end of the step before to the end of this one.
  gaps_.assign(1, {.gap = since_last, .growth = {}, .count = 1, .requests = 0});
  const auto finished = scheduler_.update(oldest.step, tokens_, now_, gaps_);
  for (const domain::TokenGaps& gaps : gaps_) {
    if (gaps.requests > 0) {
      inputs_.sink.on_token_gaps(gaps);
    }
  }
  oldest_ = oldest_ + 1 < depth_ ? oldest_ + 1 : 0;
  --num_in_flight_;
  for (const auto& sequence : finished) {
    inputs_.sink.on_request(sequence->record);
  }
  return !finished.empty();
}

/// What comes out for each request of a step: a token, and the drafts before it that are accepted.
/// Drafts that only fill up a batch (those of a prefill) never are.
void ReferenceEngine::draw_tokens(const ScheduledStep& step) {
  if (inputs_.options.num_speculative_tokens == 0) {
    return;
  }
  tokens_.assign(step.size(), 1);
  for (std::size_t i = 0; i < step.size(); ++i) {
    const ScheduledSequence& scheduled = step[i];
    if (scheduled.samples && scheduled.num_drafts > 0 && !scheduled.is_prefill) {
      Sequence& sequence = *scheduled.sequence;
      tokens_[i] += accepted_drafts(
          inputs_.options, sequence.record.id, sequence.num_verifications++, scheduled.num_drafts);
    }
  }
}

EngineTotals ReferenceEngine::totals() const {
  EngineTotals totals = totals_;
  totals.preemptions = scheduler_.num_preemptions();
  const std::int64_t unit =
      inputs_.options.profile.prefix_stats_in_blocks ? inputs_.options.block_size.value() : 1;
  totals.prefix_queries = core::Tokens(scheduler_.prefix_statistics().queries * unit);
  totals.prefix_hits = core::Tokens(scheduler_.prefix_statistics().hits * unit);
  totals.used_block_seconds = static_cast<double>(used_block_ticks_) * 1e-12;
  return totals;
}

void ReferenceEngine::drop_all() {
  num_in_flight_ = 0;
  schedule_due_ = false;
  for (const auto& sequence : scheduler_.drain()) {
    inputs_.sink.on_request(sequence->record);
  }
}

}  // namespace

std::unique_ptr<Engine> make_reference_engine(const EngineInputs& inputs) {
  return std::make_unique<ReferenceEngine>(inputs);
}

}  // namespace ridgeline::engine
