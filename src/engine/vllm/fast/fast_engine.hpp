#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/check.hpp"
#include "core/int128.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "domain/step.hpp"
#include "domain/token_sink.hpp"
#include "engine/engine.hpp"
#include "engine/first_use.hpp"
#include "engine/leg.hpp"
#include "engine/loop/pace.hpp"
#include "engine/vllm/fast/scheduler_runs.hpp"
#include "engine/vllm/fast/step_lines.hpp"

namespace ridgeline::engine::vllm::fast {

/// The decodes of the next batches.
struct Decodes {
  std::int64_t most;  ///< Batches for which there are blocks.
  StepLines::Line* line;
  core::Tokens context;  ///< Less what sharing spares.
  core::Tokens shared;   ///< domain::StepBatch::shared_context.
  core::Tokens spared;
};

/// Successive batches that hold the same decodes, each decode one token further per batch.
struct Run {
  StepLines::Line* line;
  std::int64_t first;    ///< Number of the first batch.
  std::int64_t decodes;  ///< In each batch; the context grows by as many tokens per batch.
  core::Tokens context;  ///< In the first batch, less what sharing spares.
  core::Tokens shared;   ///< domain::StepBatch::shared_context of each batch.
  core::Tokens spared;
  core::SimTime start;    ///< Start of the first batch.
  core::Duration period;  ///< Period of the first batch.
  core::Duration growth;  ///< Growth of the period, per batch.
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
        hides_host_(hides_host(inputs.options)),
        scheduler_(
            inputs.options,
            {.decode_lengths = inputs.model.needs_decode_lengths(), .instance = inputs.instance}),
        lines_(inputs.model, inputs.host),
        depth_(inputs.options.async_scheduling ? 2 : 1),
        first_use_(inputs.options.first_use) {}

  void submit(const domain::Request& request, core::SimTime queued) override {
    submit_leg(request, queued, {});
  }
  void submit_leg(const domain::Request& request, core::SimTime queued, const Leg& leg) override;
  void finish_load(LoadId id, core::SimTime at, bool arrived) override;
  void release_blocks(core::RequestId id, core::SimTime at) override;
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
  inline void fill_pipeline(core::SimTime limit, bool pause_at_completion);
  [[nodiscard]] inline StepLines::Line* line_of(const Batch& batch, core::Tokens context);
  [[nodiscard]] inline bool launch(Batch& batch);
  [[nodiscard]] std::optional<core::SimTime> end_of_first_with(const domain::Request& request,
                                                               core::SimTime at,
                                                               core::SimTime next_end);
  [[nodiscard]] domain::StepTime time_off_lines(const Batch& batch) const;
  static void put_time_on_line(const domain::AffineStep& step,
                               core::Tokens context,
                               core::Duration gpu,
                               core::Duration period,
                               domain::StepTime& time);
  void log_step(const Batch& batch, core::Duration period, const domain::StepTime& time);
  [[gnu::always_inline]] inline std::int64_t complete_oldest();
  void hand_over_gaps();
  [[gnu::noinline]] void hand_over_tokens(const Batch& batch);
  [[nodiscard]] inline std::optional<Decodes> next_decodes(std::int64_t most);
  /// Pace of up to `most` batches of the decodes on a line that holds the context of the first.
  [[nodiscard]] Pace pace_on(const StepLines::Line& line,
                             core::Tokens context,
                             std::int64_t most) const {
    return pace_of(
        {.gpu = line.gpu(context),
         .slope = line.slope,
         .host = HostWork::of(inputs_.options, line.cpu, {}, inputs_.host.front(line.decodes)),
         .room = line.highest - context},
        scheduler_.decodes().count(),
        most);
  }
  /// One tick more than the horizon leaves, as Pace::batches_within() counts batches that end
  /// earlier.
  [[nodiscard]] core::Duration room_from(core::SimTime start) const {
    return inputs_.horizon - start + core::Duration::ticks(1);
  }
  [[nodiscard]] inline std::optional<Run> plan_run(std::int64_t most,
                                                   core::SimTime limit,
                                                   bool pause_at_completion);
  [[gnu::noinline]] bool take_run(std::int64_t most, core::SimTime limit, bool pause_at_completion);
  inline void end_batches(const Run& run);
  inline void put_in_flight(const Run& run);
  inline void count(const Run& run);
  [[gnu::noinline]] void log_run(const Run& run);
  /// What is held for another engine while no batch is in flight is not counted: the mean is over
  /// batches.
  void hold_blocks_until(core::SimTime now) {
    RIDGELINE_CHECK(now >= now_, "engine: its clock goes forward");
    if (num_in_flight_ > 0) [[likely]] {
      used_block_ticks_ +=
          static_cast<core::Int128>(scheduler_.cache().num_used()) * (now - now_).count();
    }
    now_ = now;
  }
  void wake(core::SimTime at);
  [[gnu::noinline]] void report_loads();
  [[gnu::noinline]] void report_prefills(const Batch& batch);
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
  bool hides_host_;  ///< The host works while the GPU does.
  Scheduler scheduler_;
  StepLines lines_;
  std::size_t depth_;
  FirstUse first_use_;
  std::array<Batch, kMaxDepth> batches_;
  std::array<Batch*, kMaxDepth> in_flight_ = {&batches_[0], &batches_[1]};  ///< Oldest first.
  std::size_t num_in_flight_ = 0;
  core::SimTime now_;
  bool schedule_due_ = false;
  std::int64_t batches_without_tokens_ = 0;  ///< Since the last that brought one.
  bool past_horizon_ = false;                ///< The batch formed last would end after the horizon.
  EngineTotals totals_;
  /// The gaps of the last run. Batches of that run which are still in flight may add to them.
  domain::TokenGaps held_gaps_ = kNoGaps;
  /// Scratch of log_run(): to write the zeros of each would take longer than all the rest.
  domain::StepRecord run_record_;
  std::vector<domain::TokenEvent> token_events_;  ///< Tokens of the batch that ends.
  core::Duration busy_off_lines_;  ///< Sum of the periods of batches that no line of lines_ counts.
  core::Int128 used_block_ticks_ = 0;
  SlotIndex expected_ = kNoSlot;  ///< A request that ends next, as next_visible() saw it.
};

/// vLLM's scheduler (engine/vllm/plain) as an engine of its own, whose jumps keep sums over all
/// decoding requests where the step loop keeps each request: behind StepScheduler it would lose
/// that. nullptr where it does not cover the options.
[[nodiscard]] std::unique_ptr<Engine> make_engine(const EngineInputs& inputs, bool jump);

}  // namespace ridgeline::engine::vllm::fast
