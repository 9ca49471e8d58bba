#include "engine/vllm/fast/fast_engine.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/int128.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "domain/step.hpp"
#include "domain/token_sink.hpp"
#include "engine/engine.hpp"
#include "engine/loop/pace.hpp"
#include "engine/options.hpp"
#include "engine/vllm/fast/decode_set.hpp"
#include "engine/vllm/fast/scheduler.hpp"
#include "engine/vllm/fast/step_lines.hpp"

namespace ridgeline::engine {
namespace {

using vllm::fast::Batch;

/// The decodes of the next batches.
struct Decodes {
  std::int64_t most;  ///< Batches for which there are blocks.
  vllm::fast::StepLines::Line* line;
  core::Tokens context;  ///< Less what sharing spares.
  core::Tokens shared;   ///< domain::StepBatch::shared_context.
  core::Tokens spared;
};

/// Successive batches that hold the same decodes, each decode one token further per batch.
struct Run {
  vllm::fast::StepLines::Line* line;
  std::int64_t first;    ///< Number of the first batch.
  std::int64_t decodes;  ///< In each batch; the context grows by as many tokens per batch.
  core::Tokens context;  ///< Of the first batch, less what sharing spares.
  core::Tokens shared;   ///< domain::StepBatch::shared_context of each batch.
  core::Tokens spared;
  core::SimTime start;    ///< Of the first batch.
  core::Duration period;  ///< Of the first batch.
  core::Duration growth;  ///< Of the period, per batch.
  std::int64_t ended;     ///< Batches of the run that end before advance() stops.
  /// Batches of the run that are formed: the ended ones and the ones then in flight.
  std::int64_t formed;

  /// The time of the first `batches` batches, which end before the horizon.
  [[nodiscard]] core::Duration length(std::int64_t batches) const {
    return core::Duration::ticks(static_cast<std::int64_t>(series(period, growth, batches)));
  }
};

/// The engine that users run. It has the semantics of the plain twin (engine/vllm/plain/): batch by
/// batch where the batch changes, in closed form where it does not.
class FastEngine final : public Engine {
 public:
  FastEngine(const EngineInputs& inputs, bool jump)
      : inputs_(inputs),
        jump_(jump && inputs.tokens == nullptr),
        async_(inputs.options.async_scheduling),
        scheduler_(inputs.options, {.decode_lengths = inputs.model.needs_decode_lengths()}),
        lines_(inputs.model, inputs.host),
        depth_(async_ ? 2 : 1) {}

  void submit(const domain::Request& request, core::SimTime queued) override;
  void abort(core::RequestId id, core::SimTime at) override;
  Pause advance(core::SimTime limit, bool pause_at_completion, std::int64_t max_segments) override;
  void drop_all() override;
  void fail_all(core::SimTime at) override;
  void stall(core::SimTime from, core::SimTime until) override;
  void forget_step_times() override { lines_.forget(); }

  [[nodiscard]] core::SimTime now() const override { return now_; }
  [[nodiscard]] core::SimTime next_instant() const override;
  [[nodiscard]] core::SimTime next_visible() override;
  [[nodiscard]] core::SimTime next_visible_with(const domain::Request& request,
                                                core::SimTime at) override;
  [[nodiscard]] InstanceState state(core::SimTime at) const override;
  [[nodiscard]] core::Tokens cached_prefix(const domain::Request& request) override {
    return scheduler_.cached_prefix(request);
  }
  [[nodiscard]] EngineTotals totals() const override;

 private:
  static constexpr std::size_t kMaxDepth = 2;
  /// No gaps held; no batch has -1 decodes, so that none continues them.
  static constexpr domain::TokenGaps kNoGaps = {
      .gap = {}, .growth = {}, .count = 0, .requests = -1};

  Batch& in_flight(std::size_t i) { return *in_flight_[i]; }
  [[nodiscard]] const Batch& in_flight(std::size_t i) const { return *in_flight_[i]; }
  void fill_pipeline(core::SimTime limit, bool pause_at_completion);
  [[nodiscard]] vllm::fast::StepLines::Line* line_of(const Batch& batch, core::Tokens context);
  [[nodiscard]] bool launch(Batch& batch);
  [[nodiscard]] domain::StepTime time_off_lines(const Batch& batch) const;
  void log_step(const Batch& batch, core::Duration period, const domain::StepTime& time);
  [[gnu::always_inline]] inline std::int64_t complete_oldest();
  void hand_over_gaps();
  [[gnu::noinline]] void hand_over_tokens(const Batch& batch);
  [[nodiscard]] inline std::optional<Decodes> next_decodes(std::int64_t most);
  /// Of up to `most` batches of the decodes on a line that holds the context of the first.
  [[nodiscard]] Pace pace_on(const vllm::fast::StepLines::Line& line,
                             core::Tokens context,
                             std::int64_t most) const {
    return pace_of({.gpu = line.gpu(context),
                    .slope = line.slope,
                    .cpu = line.cpu,
                    .room = line.highest - context},
                   scheduler_.decodes().count(),
                   most,
                   async_);
  }
  /// One tick more than the horizon leaves, as Pace::batches_within() counts batches that end
  /// earlier.
  [[nodiscard]] core::Duration room_from(core::SimTime start) const {
    return inputs_.horizon - start + core::Duration::ticks(1);
  }
  [[nodiscard]] std::optional<Run> plan_run(std::int64_t most,
                                            core::SimTime limit,
                                            bool pause_at_completion);
  [[gnu::noinline]] bool take_run(std::int64_t most, core::SimTime limit, bool pause_at_completion);
  void end_batches(const Run& run);
  void put_in_flight(const Run& run);
  void count(const Run& run);
  [[gnu::noinline, gnu::cold]] void log_run(Run run);
  void hold_blocks_until(core::SimTime now) {
    RIDGELINE_CHECK(now >= now_, "engine: its clock goes forward");
    used_block_ticks_ +=
        static_cast<core::Int128>(scheduler_.cache().num_used()) * (now - now_).count();
    now_ = now;
  }
  void note_peak() {
    totals_.peak_used_blocks =
        std::max(totals_.peak_used_blocks, core::Blocks(scheduler_.cache().num_used()));
  }
  [[nodiscard]] core::Tokens spared(core::Tokens shared_context) const {
    return shared_context > core::Tokens(0) ? inputs_.model.spared_context(shared_context)
                                            : core::Tokens(0);
  }

  EngineInputs inputs_;
  bool jump_;
  bool async_;
  vllm::fast::Scheduler scheduler_;
  vllm::fast::StepLines lines_;
  std::size_t depth_;
  std::array<Batch, kMaxDepth> batches_;
  std::array<Batch*, kMaxDepth> in_flight_ = {&batches_[0], &batches_[1]};  ///< Oldest first.
  std::size_t num_in_flight_ = 0;
  core::SimTime now_;
  bool schedule_due_ = false;
  bool past_horizon_ = false;  ///< The batch formed last would end after the horizon.
  EngineTotals totals_;
  /// The gaps of the last run. Batches of that run which are still in flight may add to them.
  domain::TokenGaps held_gaps_ = kNoGaps;
  std::vector<domain::TokenEvent> token_events_;  ///< Of the batch that ends, for a token sink.
  core::Duration busy_off_lines_;  ///< Sum of the periods of batches that no line of lines_ counts.
  core::Int128 used_block_ticks_ = 0;
};

void FastEngine::submit(const domain::Request& request, core::SimTime queued) {
  RIDGELINE_CHECK(queued >= now_, "request submitted in the past");
  RIDGELINE_CHECK(queued <= inputs_.horizon, "request submitted after the horizon");
  if (!scheduler_.fits(request)) [[unlikely]] {
    inputs_.sink.on_request(vllm::fast::Scheduler::refusal(request, queued));
    return;
  }
  scheduler_.add(request, queued);
  if (num_in_flight_ == 0 && !schedule_due_) {
    now_ = queued;
    schedule_due_ = true;
  }
}

void FastEngine::abort(core::RequestId id, core::SimTime at) {
  RIDGELINE_CHECK(at >= now_, "request aborted in the past");
  hold_blocks_until(at);
  std::array<Batch*, kMaxDepth> batches{};
  for (std::size_t i = 0; i < num_in_flight_; ++i) {
    batches[i] = &in_flight(i);
  }
  scheduler_.abort(id, std::span(batches.data(), num_in_flight_), inputs_.sink);
}

core::SimTime FastEngine::next_instant() const {
  if (schedule_due_) {
    return now_;
  }
  return num_in_flight_ > 0 ? in_flight(0).end : core::SimTime::never();
}

/// The end of the first batch in flight that brings a first token, where those are reported, or a
/// request's last one. If none
/// does, that of the batch of decodes with which a request ends next; or of the last batch before
/// it that is certain.
core::SimTime FastEngine::next_visible() {
  core::SimTime end = next_instant();
  for (std::size_t i = 0; i < num_in_flight_; ++i) {
    const Batch& batch = in_flight(i);
    end = batch.end;
    const auto items = batch.items.span();
    const bool has_first =
        inputs_.first_tokens != nullptr &&
        std::any_of(items.begin(), items.end(), [](const auto& item) { return item.first; });
    if (has_first || scheduler_.request_ends_in(batch.number)) {
      return end;
    }
  }
  const std::int64_t batches = scheduler_.batches_to_next_end();
  const std::optional<Decodes> decodes = batches > 0 ? next_decodes(batches) : std::nullopt;
  if (!decodes) {
    return end;
  }
  // Twice at most: until the GPU's time has grown past the host's, and from then on.
  core::Tokens context = decodes->context;
  for (std::int64_t left = decodes->most; left > 0 && decodes->line->holds(context);) {
    const Pace pace = pace_on(*decodes->line, context, left);
    const std::int64_t in_time = pace.batches_within(room_from(end), pace.batches);
    end += pace.length(in_time);
    context += core::Tokens(scheduler_.decodes().count() * in_time);
    left = in_time < pace.batches ? 0 : left - in_time;
  }
  return end;
}

/// The request is in no batch that is in flight: the next batch with it begins when those have
/// ended.
core::SimTime FastEngine::next_visible_with(const domain::Request& request, core::SimTime at) {
  const core::SimTime without = next_visible();
  if (at >= without) {
    return without;
  }
  return num_in_flight_ > 0 && scheduler_.fits(request)
             ? std::min(without, std::max(at, in_flight(num_in_flight_ - 1).end))
             : at;
}

InstanceState FastEngine::state(core::SimTime at) const {
  RIDGELINE_CHECK(at >= now_ && at <= next_instant(), "state asked for an instant not reached");
  return {.at = at,
          .running = scheduler_.num_running(),
          .waiting = scheduler_.num_waiting(),
          .queued_prompt_tokens = scheduler_.queued_prompt_tokens(),
          .used_blocks = core::Blocks(scheduler_.cache().num_used()),
          .free_blocks = core::Blocks(scheduler_.cache().num_free())};
}

Pause FastEngine::advance(core::SimTime limit,
                          bool pause_at_completion,
                          std::int64_t max_segments) {
  for (std::int64_t segments = 0;; ++segments) {
    while (schedule_due_) {
      if (now_ >= limit) {
        return Pause::kLimit;
      }
      schedule_due_ = false;
      fill_pipeline(limit, pause_at_completion);
    }
    if (past_horizon_) [[unlikely]] {
      return Pause::kHorizon;
    }
    if (num_in_flight_ == 0) {
      RIDGELINE_CHECK(scheduler_.num_waiting() == 0, "requests wait although nothing runs");
      hand_over_gaps();
      return Pause::kIdle;
    }
    if (in_flight(0).end >= limit) {
      return Pause::kLimit;
    }
    if (segments >= max_segments) {
      return Pause::kBudget;
    }
    const std::int64_t ended = complete_oldest();
    schedule_due_ = true;
    if (ended > 0 && pause_at_completion) {
      return Pause::kCompletion;
    }
  }
}

/// Forms batches until the pipeline is full. Where a run of batches is possible, forms the run
/// instead and lets some of its batches end; then another batch may be due (schedule_due_).
void FastEngine::fill_pipeline(core::SimTime limit, bool pause_at_completion) {
  while (num_in_flight_ < depth_) {
    if (jump_ && num_in_flight_ + 1 == depth_) {
      const std::int64_t most = scheduler_.repeatable_batches();
      if (most > 0 && take_run(most, limit, pause_at_completion)) {
        return;
      }
    }
    Batch& batch = in_flight(num_in_flight_);
    const core::SimTime newest_end = num_in_flight_ == 0 ? now_ : in_flight(num_in_flight_ - 1).end;
    const bool formed = scheduler_.schedule(batch, now_, newest_end);
    note_peak();
    if (formed) {
      if (!launch(batch)) [[unlikely]] {
        past_horizon_ = true;
        return;
      }
    } else if (num_in_flight_ > 0 || !scheduler_.preempted_in_last_call()) {
      return;
    }
  }
}

/// The line for a batch of decodes with at most one whole prompt; null if the model has none.
vllm::fast::StepLines::Line* FastEngine::line_of(const Batch& batch, core::Tokens context) {
  if (batch.items.empty()) {
    return lines_.at(batch.num_decodes, context);
  }
  const domain::PrefillChunk& chunk = batch.prefills.front();
  if (batch.prefills.size() > 1 || chunk.past > core::Tokens(0) || !chunk.samples) {
    return nullptr;
  }
  return lines_.at(batch.num_decodes, chunk.new_tokens.value(), context);
}

/// Puts a batch in flight. Returns false, and changes nothing, if it would end after the horizon.
bool FastEngine::launch(Batch& batch) {
  const core::Tokens context =
      std::max(batch.decode_context - spared(batch.shared_context), core::Tokens(0));
  RIDGELINE_CHECK(num_in_flight_ < depth_, "engine: a batch enters where there is room in flight");
  batch.start = num_in_flight_ == 0 ? now_ : in_flight(num_in_flight_ - 1).end;
  const core::Duration room = inputs_.horizon - batch.start;
  core::Duration period;
  if (vllm::fast::StepLines::Line* const line = line_of(batch, context); line != nullptr)
      [[likely]] {
    const core::Duration gpu = line->gpu(context);
    period = step_period(gpu, line->cpu, async_);
    if (period > room) [[unlikely]] {
      return false;
    }
    line->count(1, context);
    if (inputs_.options.log_steps) {
      domain::StepTime time = lines_.step_of(*line).at(context);
      time.add(domain::Bottleneck::kOverhead, period - gpu);
      time.cpu = line->cpu;
      log_step(batch, period, time);
    }
  } else {
    domain::StepTime time = time_off_lines(batch);
    const core::Duration gpu = time.gpu();
    period = step_period(gpu, time.cpu, async_);
    if (period > room) [[unlikely]] {
      return false;
    }
    time.add(domain::Bottleneck::kOverhead, period - gpu);
    totals_.step_time.add(time, 1);
    totals_.step_time.cpu += time.cpu;
    busy_off_lines_ += period;
    if (inputs_.options.log_steps) {
      log_step(batch, period, time);
    }
  }
  RIDGELINE_CHECK(period >= core::Duration(), "step-time model: a step takes no negative time");
  ++num_in_flight_;
  totals_.busy += period;
  batch.end = batch.start + period;
  return true;
}

/// The time of a batch without a line: the GPU's and the host's.
domain::StepTime FastEngine::time_off_lines(const Batch& batch) const {
  domain::StepTime time = inputs_.model.predict(batch.view());
  time.cpu =
      inputs_.host.of(batch.num_decodes + static_cast<std::int64_t>(batch.items.size()), time.cpu);
  return time;
}

void FastEngine::log_step(const Batch& batch, core::Duration period, const domain::StepTime& time) {
  inputs_.sink.on_steps(domain::StepRecord::of_one(batch.number,
                                                   batch.view(),
                                                   batch.start,
                                                   period,
                                                   time,
                                                   core::Blocks(scheduler_.cache().num_used())));
}

std::int64_t FastEngine::complete_oldest() {
  const Batch& batch = in_flight(0);
  hold_blocks_until(batch.end);
  std::swap(in_flight_[0], in_flight_[1]);
  --num_in_flight_;
  if (batch.continues_run && batch.num_decodes - batch.wasted_decodes == held_gaps_.requests) {
    ++held_gaps_.count;
  } else {
    hand_over_gaps();
    scheduler_.report_gaps(batch, now_, inputs_.sink);
  }
  if (inputs_.tokens != nullptr) [[unlikely]] {
    hand_over_tokens(batch);
  }
  if (inputs_.first_tokens != nullptr && !batch.items.empty()) [[unlikely]] {
    scheduler_.report_first_tokens(batch, now_, *inputs_.first_tokens);
  }
  // The buffer stays valid: no batch is formed before update() returns.
  return scheduler_.update(batch, now_, inputs_.sink);
}

void FastEngine::hand_over_gaps() {
  if (held_gaps_.count > 0) {
    RIDGELINE_CHECK(held_gaps_.requests > 0, "token gaps: requests that a run's gaps belong to");
    inputs_.sink.on_token_gaps(held_gaps_);
    held_gaps_ = kNoGaps;
  }
}

void FastEngine::hand_over_tokens(const Batch& batch) {
  scheduler_.list_tokens(batch, token_events_);
  if (!token_events_.empty()) {
    inputs_.tokens->on_tokens(now_, token_events_);
  }
}

/// Up to `most` batches of the decodes, as long as there are free blocks. None where not even one
/// batch can be formed, or none is on a line.
inline std::optional<Decodes> FastEngine::next_decodes(std::int64_t most) {
  const vllm::fast::DecodeSet& decodes = scheduler_.decodes();
  const std::int64_t first = scheduler_.num_batches();
  most = decodes.batches_within(scheduler_.cache().num_free(), first, most);
  if (most == 0) {
    return std::nullopt;
  }
  const core::Tokens shared = scheduler_.shared_context();
  const core::Tokens saved = spared(shared);
  const core::Tokens context = decodes.context(first) - saved;
  vllm::fast::StepLines::Line* const line =
      context >= core::Tokens(0) ? lines_.at(decodes.count(), context) : nullptr;
  if (line == nullptr) {
    return std::nullopt;
  }
  return Decodes{.most = most, .line = line, .context = context, .shared = shared, .spared = saved};
}

/// The run from here, as far as next_decodes() and the horizon permit. None where not even one
/// batch can be formed.
std::optional<Run> FastEngine::plan_run(std::int64_t most,
                                        core::SimTime limit,
                                        bool pause_at_completion) {
  const std::optional<Decodes> decodes = next_decodes(most);
  if (!decodes) {
    return std::nullopt;
  }
  const Pace pace = pace_on(*decodes->line, decodes->context, decodes->most);
  const bool has_older = num_in_flight_ > 0;
  const core::SimTime start = has_older ? in_flight(0).end : now_;
  most = pace.batches_within(room_from(start), pace.batches);
  if (most == 0) [[unlikely]] {
    return std::nullopt;
  }
  if (has_older && (start >= limit ||
                    (pause_at_completion && scheduler_.request_ends_in(in_flight(0).number)))) {
    most = 1;
  }
  // A request may end with the last batch: complete_oldest() ends that one later.
  const std::int64_t ended = most > 1 ? pace.batches_within(limit - start, most - 1) : 0;
  const Run run{.line = decodes->line,
                .first = scheduler_.num_batches(),
                .decodes = scheduler_.decodes().count(),
                .context = decodes->context,
                .shared = decodes->shared,
                .spared = decodes->spared,
                .start = start,
                .period = pace.period,
                .growth = pace.growth,
                .ended = ended,
                .formed = std::min(most, ended + static_cast<std::int64_t>(depth_))};
  RIDGELINE_CHECK(run.ended >= 0 && run.ended < run.formed,
                  "run: its last batch is formed and stays in flight");
  return run;
}

/// Forms and ends a run. Precondition: the next `most` batches hold the same decodes unless a
/// request arrives. The run's batches that end before `limit` end here, and so does the batch in
/// flight before the run. The last batch never ends here: a request may end with it. Returns false,
/// and changes nothing, where not even one batch can be formed.
bool FastEngine::take_run(std::int64_t most, core::SimTime limit, bool pause_at_completion) {
  const std::optional<Run> planned = plan_run(most, limit, pause_at_completion);
  if (!planned) {
    return false;
  }
  const Run& run = *planned;
  const vllm::fast::DecodeSet& decodes = scheduler_.decodes();
  const bool has_older = num_in_flight_ > 0;
  scheduler_.begin_forming_decodes();
  scheduler_.form_decodes(1, decodes.blocks_in(run.first));
  if (has_older && run.formed > 1) {
    note_peak();
    complete_oldest();
    scheduler_.form_decodes(1, decodes.blocks_in(run.first + 1));
  }
  if (run.ended > 0) {
    end_batches(run);
  }
  note_peak();
  scheduler_.enter_single_blocks_after_run();
  put_in_flight(run);
  count(run);
  if (inputs_.options.log_steps) {
    log_run(run);
  }
  schedule_due_ = num_in_flight_ < depth_;
  return true;
}

/// Ends the first run.ended batches of a run. As each batch ends, another one is formed.
void FastEngine::end_batches(const Run& run) {
  const vllm::fast::DecodeSet& decodes = scheduler_.decodes();
  const std::int64_t next = scheduler_.num_batches();
  const std::int64_t later = run.first + run.formed - next;
  const core::Duration whole = run.length(run.ended);
  const vllm::fast::DecodeSet::NewBlocks blocks = decodes.new_blocks(next, later);
  // A block taken at the end of the i-th batch is in use for the rest of the run's length.
  used_block_ticks_ +=
      static_cast<core::Int128>(whole.count()) * (scheduler_.cache().num_used() + blocks.number) -
      static_cast<core::Int128>(run.period.count()) * blocks.places -
      static_cast<core::Int128>(run.growth.count()) * blocks.pairs();
  if (later > 0) {
    scheduler_.form_decodes(later, blocks.number);
  }
  now_ = run.start + whole;
  scheduler_.end_decodes(run.ended, now_);
  hand_over_gaps();
  held_gaps_ = {
      .gap = run.period, .growth = run.growth, .count = run.ended, .requests = run.decodes};
}

void FastEngine::put_in_flight(const Run& run) {
  core::SimTime start = run.ended > 0 ? now_ : run.start;
  for (std::int64_t i = run.ended; i < run.formed; ++i) {
    RIDGELINE_CHECK(num_in_flight_ < depth_,
                    "engine: a batch enters where there is room in flight");
    Batch& batch = in_flight(num_in_flight_);
    ++num_in_flight_;
    batch.set_decodes(run.first + i, run.decodes);
    batch.continues_run = run.ended > 0;
    batch.decode_context = run.context + run.spared + core::Tokens(run.decodes * i);
    batch.shared_context = run.shared;
    batch.start = start;
    batch.end = start + run.period + run.growth * i;
    start = batch.end;
  }
}

void FastEngine::count(const Run& run) {
  const core::Tokens grown(run.decodes * sum_below(run.formed));
  run.line->count(run.formed, run.context * run.formed + grown);
  totals_.busy += in_flight(num_in_flight_ - 1).end - run.start;
  totals_.jumped_steps += run.ended;
}

void FastEngine::log_run(Run run) {
  const domain::AffineStep& step = lines_.step_of(*run.line);
  domain::StepTime time = step.at(run.context);
  time.add(domain::Bottleneck::kOverhead, run.period - time.gpu());
  time.cpu = run.line->cpu;
  inputs_.sink.on_steps({.first_step = run.first,
                         .steps = run.formed,
                         .start = run.start,
                         .period = run.period,
                         .period_growth = run.growth,
                         .num_decodes = run.decodes,
                         .decode_context = run.context + run.spared,
                         .shared_context = run.shared,
                         .num_prefills = 0,
                         .prefill_tokens = {},
                         .time = time,
                         .gpu_growth = step.slope * run.decodes,
                         .growth_kind = step.slope_kind,
                         .used_blocks = core::Blocks(scheduler_.cache().num_used())});
}

EngineTotals FastEngine::totals() const {
  RIDGELINE_CHECK(used_block_ticks_ >= 0, "engine: blocks are in use for some time");
  EngineTotals totals = totals_;
  totals.steps = scheduler_.num_batches();
  domain::StepTime on_lines = lines_.total();
  on_lines.add(domain::Bottleneck::kOverhead, totals_.busy - busy_off_lines_ - on_lines.gpu());
  totals.step_time.add(on_lines, 1);
  totals.step_time.cpu += on_lines.cpu;
  totals.preemptions = scheduler_.num_preemptions();
  const std::int64_t unit =
      inputs_.options.profile.prefix_stats_in_blocks ? inputs_.options.block_size.value() : 1;
  totals.prefix_queries = core::Tokens(scheduler_.prefix_counts().queries * unit);
  totals.prefix_hits = core::Tokens(scheduler_.prefix_counts().hits * unit);
  totals.used_block_seconds = static_cast<double>(used_block_ticks_) * 1e-12;
  return totals;
}

void FastEngine::drop_all() {
  num_in_flight_ = 0;
  schedule_due_ = false;
  hand_over_gaps();
  scheduler_.drain(domain::Outcome::kUnfinished, core::SimTime::never(), inputs_.sink);
}

void FastEngine::fail_all(core::SimTime at) {
  hold_blocks_until(at);
  num_in_flight_ = 0;
  schedule_due_ = false;
  hand_over_gaps();
  scheduler_.drain(domain::Outcome::kFailed, at, inputs_.sink);
}

void FastEngine::stall(core::SimTime from, core::SimTime until) {
  const core::Duration delay = until - from;
  hand_over_gaps();
  for (std::size_t i = 0; i < num_in_flight_; ++i) {
    Batch& batch = in_flight(i);
    batch.end = core::SimTime::saturating_sum(batch.end, delay);
    batch.continues_run = false;  // The gap before its tokens is longer.
    past_horizon_ = past_horizon_ || batch.end > inputs_.horizon;
  }
  hold_blocks_until(until);
}

}  // namespace

std::unique_ptr<Engine> vllm::fast::make_engine(const EngineInputs& inputs, bool jump) {
  if (!vllm::fast::Scheduler::covers(inputs.options) || inputs.kv_history > core::Duration()) {
    return nullptr;
  }
  return std::make_unique<FastEngine>(inputs, jump);
}

}  // namespace ridgeline::engine
