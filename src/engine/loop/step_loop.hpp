#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/ids.hpp"
#include "core/int128.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "domain/step.hpp"
#include "domain/token_sink.hpp"
#include "engine/engine.hpp"
#include "engine/first_use.hpp"
#include "engine/kv_connector.hpp"
#include "engine/kv_look.hpp"
#include "engine/leg.hpp"
#include "engine/loop/decode_set.hpp"
#include "engine/loop/pace.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/loop/step_times.hpp"
#include "engine/options.hpp"
#include "engine/pipeline.hpp"

namespace ridgeline::engine {

/// An engine on simulated time, for any scheduler: while there is room for a step in flight (one;
/// two with asynchronous scheduling; as many as a pipeline has stages), form a step and price it;
/// otherwise wait for the oldest and hand out its tokens. With `jump`, rounds of quiet steps
/// (StepScheduler::quiet_steps) are taken at once, with the same results.
///
/// As a rank of a group (engine/loop/lock_step.hpp) it does each of these when the group does, with
/// the group's step time: it is never advanced by itself.
class StepLoop final : public Engine {
  friend class LockStep;

 public:
  StepLoop(const EngineInputs& inputs, std::unique_ptr<StepScheduler> scheduler, bool jump);

  void submit(const domain::Request& request, core::SimTime queued) override;
  void submit_leg(const domain::Request& request, core::SimTime queued, const Leg& leg) override;
  void abort(core::RequestId id, core::SimTime at) override;
  void finish_load(LoadId id, core::SimTime at, bool arrived) override;
  void release_blocks(core::RequestId id, core::SimTime at) override;
  void connect(KvConnector& connector) override;
  Pause advance(core::SimTime limit, bool pause_at_completion, std::int64_t max_segments) override;
  void drop_all() override;
  void fail_all(core::SimTime at) override;
  void stall(core::SimTime from, core::SimTime until) override;
  void forget_step_times() override { times_.forget(); }

  [[nodiscard]] core::SimTime now() const override { return now_; }
  [[nodiscard]] core::SimTime next_instant() const override;
  [[nodiscard]] core::SimTime next_visible() override { return next_instant(); }
  [[nodiscard]] InstanceState state(core::SimTime at) const override;
  [[nodiscard]] core::Tokens cached_prefix(const domain::Request& request) override {
    return scheduler_->cached_prefix(request, std::nullopt);
  }
  [[nodiscard]] core::Tokens cached_prefix_at(const domain::Request& request,
                                              const KvLook& look) override {
    return scheduler_->cached_prefix(request, keeps_history_ ? std::optional(look) : std::nullopt);
  }
  [[nodiscard]] EngineTotals totals() const override;
  [[nodiscard]] const EngineOptions& options() const { return inputs_.options; }

 private:
  /// A step on its way through the GPU.
  struct InFlight {
    ScheduledStep step;
    DecodeSet::InStep members;  ///< What it has of the scheduler's DecodeSet, besides.
    core::SimTime end;
    bool is_decodes = false;  ///< Each request decodes one token, behind all its drafts.
    core::Tokens context;     ///< Context of its decodes, before the step.
    core::Duration mask;      ///< Host time of its grammar masks.
    /// Requests that left while it was the newest step in flight: it, or one before it, names them.
    std::vector<SequencePtr> left;

    [[nodiscard]] std::int64_t num_requests() const { return members.count + std::ssize(step); }
  };
  /// What a step takes, and when it ends.
  struct Priced {
    domain::StepTime time;
    core::SimTime start;
    core::SimTime end;
  };
  /// Rounds of quiet steps (StepScheduler::quiet_steps): in each the oldest step in flight ends and
  /// another of the same requests is formed.
  struct QuietRun {
    std::int64_t most = 0;  ///< Rounds that are quiet.
    /// How many steps in flight hold the same request: all of them, as each round continues the
    /// step before it, or exactly one.
    std::int64_t steps_per_request = 0;
    std::int64_t rounds = 0;  ///< Rounds that end by the limit.
    core::Tokens shared_context;
    core::Duration mask;  ///< Mask time of each step.
    /// From the end of a step until another is formed.
    core::Duration delay;
    /// Ends of the steps in flight and of those formed, one after the other; where there is a pace,
    /// of those in flight only.
    std::vector<core::SimTime> ends;
    std::optional<Pace> pace;  ///< Pace of the steps formed, where they are on a line.
    std::vector<domain::StepRecord> log;

    /// As new, in the memory that it has.
    void clear() {
      std::vector<core::SimTime> own_ends = std::move(ends);
      std::vector<domain::StepRecord> own_log = std::move(log);
      *this = QuietRun();
      own_ends.clear();
      own_log.clear();
      ends = std::move(own_ends);
      log = std::move(own_log);
    }

    /// When the n-th step from the oldest in flight on ends, counted from 1.
    [[nodiscard]] core::SimTime end_of(std::int64_t n) const;
  };
  /// The steps of a quiet run on the model's line: the first of them, and how they follow.
  struct OnLine {
    const domain::AffineStep* line = nullptr;
    core::Tokens context;  ///< At which the line is asked for the first.
    std::int64_t decodes = 0;
    domain::StepTime first;
    Pace pace;  ///< `batches`: as many as are on the line, of those that are quiet.
  };

  void await_grammar(const SequencePtr& sequence, core::SimTime queued);
  void release_grammars();
  /// When the next grammar is compiled that a request waits for; never() where there is none.
  [[nodiscard]] core::SimTime next_grammar() const {
    return compiling_.empty() ? core::SimTime::never() : compiling_.begin()->first;
  }
  /// When the step that is due may be formed.
  [[nodiscard]] core::SimTime forms_at() const { return std::max(now_, masks_until_); }
  [[nodiscard]] bool fill_pipeline();
  [[nodiscard]] bool form(InFlight& next);
  /// The scheduler, for which it is that instant where it keeps changes, or KV elsewhere.
  [[nodiscard]] StepScheduler& scheduler_at(core::SimTime now) {
    if (connector_ != nullptr) {
      connector_->set_now(now);
    }
    if (keeps_history_) {
      scheduler_->set_now(now);
    }
    return *scheduler_;
  }
  /// The step that many places behind the oldest in flight.
  [[nodiscard]] InFlight& in_flight(std::size_t place) { return steps_[ring_place(place)]; }
  [[nodiscard]] std::size_t ring_place(std::size_t place) const;
  [[nodiscard]] core::SimTime newest_end();
  [[nodiscard]] bool launch(InFlight& next);
  void put_in_flight(InFlight& next, const domain::StepBatch& batch, const Priced& priced);
  void report_prefills(const ScheduledStep& step, const Priced& priced);
  [[nodiscard]] domain::StepBatch batch_of(InFlight& next);
  [[nodiscard]] core::Duration mask_of(const ScheduledStep& step) const;
  [[nodiscard]] Priced price(const domain::StepBatch& batch,
                             std::int64_t requests,
                             core::Duration mask,
                             core::SimTime now,
                             core::SimTime newest_end);
  void count(const domain::StepTime& time, core::Duration busy, std::int64_t steps);
  void take_leavers();
  [[nodiscard]] core::SimTime last_token_of(const InFlight& step) const;
  void hand_out_tokens();
  void retire_oldest();
  bool complete_oldest();
  void draw_tokens(const ScheduledStep& step);
  void deliver(const InFlight& ended);
  void add_gaps(std::int64_t tokens, core::Duration gap);
  void hand_over_tokens();
  void hand_over_gaps();
  void report_end(const SequencePtr& sequence, domain::Outcome outcome);
  void hold_blocks_until(core::SimTime now, std::int64_t used);
  void wake(core::SimTime at);

  [[nodiscard]] bool jump(core::SimTime limit);
  [[nodiscard]] bool is_quiet(QuietRun& run);
  void jump_with_drafts(core::SimTime limit, std::int64_t rounds);
  void start_run(QuietRun& run);
  [[nodiscard]] std::optional<OnLine> on_line(const QuietRun& run);
  void cut_at(core::SimTime limit, QuietRun& run);
  void count_on_line(const OnLine& place, QuietRun& run);
  void log_on_line(const OnLine& place, QuietRun& run);
  void plan_step_by_step(core::SimTime limit, QuietRun& run);
  void take_rounds(QuietRun& run);
  void report_gaps(const QuietRun& run);
  void hold_blocks(QuietRun& run, std::int64_t used, std::span<const BlockChange> changes);
  void move_steps(const QuietRun& run);

  EngineInputs inputs_;
  std::unique_ptr<StepScheduler> scheduler_;
  StepTimes times_;
  KvConnector* connector_ = nullptr;
  bool keeps_history_;  ///< EngineInputs::kv_history.
  bool jump_;
  bool needs_decode_lengths_;
  bool delays_forming_;  ///< No step is formed while masks are made.
  std::size_t depth_;
  std::vector<InFlight> steps_;  ///< A ring of as many as may be in flight.
  FirstUse first_use_;
  QuietRun run_;                      ///< The jump that is taken; kept for its memory, as are ...
  std::vector<ScheduledStep*> ring_;  ///< ... the parts of the steps in flight, ...
  std::vector<core::SimTime> last_tokens_;  ///< ... and when their requests had a token.
  std::size_t oldest_ = 0;
  std::size_t num_in_flight_ = 0;
  Pipeline pipeline_;
  core::SimTime now_;
  bool schedule_due_ = false;                            ///< A step may be formed at now_.
  bool past_horizon_ = false;                            ///< A step was formed that ends too late.
  std::map<core::GrammarId, core::SimTime> grammars_;    ///< When each is compiled.
  std::multimap<core::SimTime, SequencePtr> compiling_;  ///< Requests that wait for one, by then.
  /// Until then the masks of the step that runs are made; only then another is formed.
  core::SimTime masks_until_;
  EngineTotals totals_;
  core::Int128 used_block_ticks_ = 0;
  std::vector<domain::PrefillChunk> prefills_;
  std::vector<core::Tokens> decode_lengths_;
  std::int64_t steps_without_tokens_ = 0;         ///< Since the last that brought one.
  std::vector<std::int64_t> tokens_;              ///< That come out of the step that ends.
  std::vector<domain::TokenGaps> gaps_;           ///< Before the tokens of that step.
  std::vector<domain::TokenEvent> token_events_;  ///< That step's, for EngineInputs::tokens.
};

}  // namespace ridgeline::engine
