#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/ids.hpp"
#include "core/rng.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "engine/kv_look.hpp"
#include "engine/leg.hpp"
#include "engine/loop/decode_set.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/options.hpp"
#include "engine/sglang/options.hpp"
#include "engine/sglang/radix_cache.hpp"
#include "engine/sglang/request.hpp"

namespace ridgeline::engine::sglang {

class PrefillAdder;

/// What a step is: prompts, decodes, or with enable_mixed_chunk both.
enum class Mode : std::uint8_t { kNone, kExtend, kDecode, kMixed };

/// One iteration of SGLang's event loop up to the launch of its batch.
struct Iteration {
  Mode mode = Mode::kNone;
  std::vector<core::RequestId> received = {};
  std::vector<core::RequestId> retracted = {};
  std::int64_t evicted_tokens = 0;
  std::int64_t loaded_back = 0;    ///< Tokens from the host ...
  std::int64_t loaded_states = 0;  ///< ... and recurrent states.
  double new_token_ratio = 0.0;    ///< After its choice; idle housekeeping comes later.
};

/// SGLang's scheduler, decision for decision (docs/internals/engine.md). Its pool, its tree and its
/// budgets count tokens, in whole pages.
class Scheduler final : public StepScheduler {
 public:
  explicit Scheduler(const EngineOptions& options);

  engine::SequencePtr add(const domain::Request& request) override;
  engine::SequencePtr add_leg(const domain::Request& request, const Leg& leg) override;
  [[nodiscard]] std::span<const LoadStart> load_starts() const override { return load_starts_; }
  void finish_load(LoadId id, bool arrived) override;
  void release_blocks(core::RequestId id) override;
  [[nodiscard]] core::Duration copy_time() const override {
    return core::Duration::saturating_sum(
        core::Duration::saturating_product(settings_.host.per_token, iteration_.loaded_back),
        core::Duration::saturating_product(settings_.host.per_state, iteration_.loaded_states));
  }
  [[nodiscard]] bool waits_for_others() const override {
    return !transferring_.empty() || !held_.empty();
  }
  engine::SequencePtr abort(core::RequestId id) override;
  void schedule(ScheduledStep& step) override;
  /// Members decode together, so that a mixed step or a preemption would have to tell them apart.
  [[nodiscard]] bool can_gather() const override {
    return !settings_.enable_mixed_chunk && !settings_.preempts() && !has_stages_ &&
           !settings_.speculation.is_on();
  }
  std::vector<engine::SequencePtr> take_failed() override;
  std::vector<engine::SequencePtr> update(const ScheduledStep& step,
                                          std::span<const std::int64_t> tokens) override;
  std::vector<engine::SequencePtr> drain() override;
  [[nodiscard]] SchedulerCounts counts() const override;
  [[nodiscard]] std::int64_t used_blocks() const override {
    const std::int64_t all = settings_.max_total_num_tokens / settings_.page_size;
    return all - free_pages_ - evictable() / settings_.page_size;
  }
  [[nodiscard]] std::int64_t num_preemptions() const override { return num_retractions_; }
  [[nodiscard]] core::Tokens queued_prompt_tokens() const override;
  [[nodiscard]] core::Tokens cached_prefix(const domain::Request& request,
                                           std::optional<KvLook> look) override;
  [[nodiscard]] std::int64_t quiet_steps() const override;
  std::vector<BlockChange> advance_quiet(std::span<ScheduledStep* const> in_flight,
                                         std::int64_t rounds) override;

  /// As add_leg(), unchecked: also of a request that the server would refuse.
  RequestPtr take(const domain::Request& request, bool ignore_eos, const Leg& leg = {});
  /// One iteration of the event loop: receives, and forms a batch or none. schedule() goes on where
  /// nothing is in flight and requests wait.
  void iterate(ScheduledStep& step);

  /// One iteration of a rank (attention_dp.hpp), whose batch the next schedule() gives, in two
  /// parts. Whether it prefills; and then, if it does not, whether it decodes, where it may: true
  /// where there is a batch. Idle housekeeping is the group's to ask for.
  bool propose_prefill();
  bool propose_decode(bool may_decode);
  void keep_house() { reset_when_idle(); }
  /// So many rounds of idle batches have passed, where it had no requests.
  void pass_idle_rounds(std::int64_t rounds);
  /// A prompt waits for iterations to pass: that try none, or that a copy to the host takes.
  [[nodiscard]] bool waits_its_turn() const {
    return (decodes_due_ > 0 || !copies_.empty()) && (chunked_ != nullptr || !waiting_.empty());
  }
  /// Requests wait for room: an ended one may leave it in the next iteration.
  [[nodiscard]] bool has_queued() const {
    return !waiting_.empty() || !preallocating_.empty() || !arrived_.empty() || !retracted_.empty();
  }
  /// Requests have come that it has not received yet.
  [[nodiscard]] bool has_arrivals() const { return !inbox_.empty(); }

  [[nodiscard]] const Iteration& iteration() const { return iteration_; }
  [[nodiscard]] const RequestList& running() const { return running_.requests; }
  [[nodiscard]] const WaitingQueue& waiting() const { return waiting_; }
  /// On a decode server: requests without slots for their prompt, with slots into which KV comes,
  /// taken back, and with KV but without a seat.
  [[nodiscard]] const WaitingQueue& preallocating() const { return preallocating_; }
  [[nodiscard]] const RequestList& transferring() const { return transferring_; }
  [[nodiscard]] const WaitingQueue& retracted() const { return retracted_; }
  [[nodiscard]] const WaitingQueue& arrived() const { return arrived_; }
  [[nodiscard]] const Sequence* chunked() const { return chunked_.get(); }
  [[nodiscard]] bool batch_is_full() const { return running_.is_full; }
  [[nodiscard]] std::int64_t free_tokens() const { return free_pages_ * settings_.page_size; }
  [[nodiscard]] std::int64_t evictable() const { return tree_.evictable(); }
  [[nodiscard]] std::int64_t protected_size() const { return tree_.protected_size(); }
  /// Slots for recurrent states.
  [[nodiscard]] std::int64_t free_states() const { return tree_.states().free(); }
  [[nodiscard]] std::int64_t evictable_states() const { return tree_.states().evictable(); }
  [[nodiscard]] std::int64_t protected_states() const { return tree_.states().protected_size(); }
  /// The host's pool; and tokens copied there since the last call.
  [[nodiscard]] std::int64_t host_free() const { return tree_.host_free(); }
  [[nodiscard]] std::int64_t take_backed_up() { return std::exchange(backed_up_, 0); }
  [[nodiscard]] std::int64_t num_retractions() const { return num_retractions_; }
  /// Tokens of requests' own pages: the pool less what is free or in the tree. For checks.
  [[nodiscard]] std::int64_t private_tokens() const;

 private:
  friend class PrefillAdder;

  /// A batch that goes on from step to step, with the latch that stops prefills.
  struct Running {
    RequestList requests;  ///< Members of the DecodeSet included.
    bool is_full = false;
    RequestList singles = {};    ///< Those that are no members, in the same order.
    bool some_finished = false;  ///< Some singles have ended.
  };
  /// The batch of the last iteration.
  struct Last {
    Mode mode = Mode::kNone;
    RequestList requests;  ///< Requests of a prefill.
    RequestPtr chunked;    ///< The request that a prefill left in mid-prompt.
  };

  [[nodiscard]] bool has_few_running() const;
  void pass_interval(std::int64_t iterations);
  void pass(ScheduledStep& step);
  bool choose_prefill(ScheduledStep& step);
  void choose_decode(ScheduledStep& step, bool may_decode);
  void receive();
  void enter(const RequestPtr& request);
  void merge_last();
  void admit_loads();
  void resume_retracted();
  void preallocate();
  [[nodiscard]] std::int64_t grown() const;
  [[nodiscard]] std::int64_t decode_budget(bool beside_retracted) const;
  void take_back(const RequestPtr& victim);
  void keep_for_reader(Sequence& request);
  bool form_prefill(ScheduledStep& step);
  [[nodiscard]] bool prefill_is_due();
  void fill_adder(PrefillAdder& adder);
  void launch_prefill(PrefillAdder& adder, ScheduledStep& step);
  void mix_with_running(ScheduledStep& step);
  void form_decode(ScheduledStep& step);
  void put_decodes(ScheduledStep& step);
  [[nodiscard]] bool is_empty(const ScheduledStep& step) const {
    return step.empty() && decodes_.in_step().count == 0;
  }
  void drop_finished();
  [[nodiscard]] bool awaits_last_token(const Sequence& request) const;
  bool set_ending_apart();
  void gather(const ScheduledStep& step);
  void settle(Sequence& request);
  void settle_members();
  void dissolve_members();
  void stop_gathering(Sequence& request);
  void leave_decodes(engine::Sequence& request) override;
  void reset_when_idle();

  [[nodiscard]] std::int64_t pages_for_decode() const;
  [[nodiscard]] std::int64_t pages_expected() const;
  [[nodiscard]] bool check_decode_memory();
  void retract();
  void retract_one(const RequestPtr& request, std::int64_t remaining);
  void fail(const RequestPtr& request);

  [[nodiscard]] std::int64_t slots_in_flight(const Sequence& request) const;
  [[nodiscard]] std::int64_t pages(std::int64_t tokens) const {
    return (tokens + settings_.page_size - 1) / settings_.page_size;
  }
  [[nodiscard]] std::int64_t whole_pages(std::int64_t tokens) const {
    return tokens / settings_.page_size * settings_.page_size;
  }
  void make_room(std::int64_t tokens);
  void extend_kv(Sequence& request, std::int64_t tokens);
  void match_prefix(Sequence& request);
  void take_state();
  void shed_states(std::int64_t wanted);
  void give_state(Sequence& request);
  void track_prefill(Sequence& request);
  [[nodiscard]] std::int64_t tracked_at_end(const Sequence& request, std::int64_t kept) const;
  void load_back(Sequence& request);
  void end_copies();
  void start_writes();
  void cache_unfinished(Sequence& request, bool is_chunk);
  void cache_finished(Sequence& request);
  void release(Sequence& request);
  void lock(Sequence& request);
  void unlock(Sequence& request);
  [[nodiscard]] bool take_tokens(Sequence& request,
                                 const ScheduledSequence& part,
                                 std::int64_t tokens);
  [[nodiscard]] std::int64_t slots_for_decode(const Sequence& request) const;
  [[nodiscard]] std::int64_t kept_of_drafts(const Sequence& request) const;
  void free_delayed(Sequence& request, const ScheduledSequence& part);
  [[nodiscard]] std::int64_t longest(const domain::Request& request) const;
  [[nodiscard]] bool can_ever_run(const domain::Request& request, bool ignore_eos) const;
  [[nodiscard]] RequestPtr owner_of(const Sequence& request) const;
  [[nodiscard]] RequestList inside() const;

  Options settings_;
  std::uint64_t seed_;
  bool has_stages_;  ///< It is a pipeline.
  RadixCache tree_;
  std::int64_t free_pages_;
  double init_ratio_;
  double min_ratio_;
  double ratio_decay_;
  double ratio_;
  WaitingQueue inbox_;  ///< Arrived, not received yet.
  WaitingQueue waiting_;
  Running running_;
  Last last_;
  BlockPhases phases_;  ///< When members take a page.
  // On a decode server, in this order but for those taken back, which resume before others.
  WaitingQueue preallocating_;
  RequestList transferring_;
  WaitingQueue arrived_;
  WaitingQueue retracted_;
  std::vector<LoadStart> load_starts_;  ///< Since the last step, or the last iteration().
  bool loads_are_told_ = false;         ///< They were those of a step that was proposed.
  bool decodes_for_others_ = false;     ///< A request came that loads its prompt.
  bool prefills_for_others_ = false;
  /// A copy between GPU and host, whose node is locked until it has ended.
  struct Copy {
    TreeNode* node = nullptr;
    std::int64_t ends = 0;  ///< At the beginning of that iteration.
  };
  std::vector<Copy> copies_;
  std::int64_t num_iterations_ = 0;
  std::int64_t backed_up_ = 0;
  RequestList held_;    ///< Ended, with KV that another engine reads.
  RequestList ending_;  ///< In no further batch: their last token is in flight.
  std::int64_t num_placed_ = 0;
  RequestPtr chunked_;            ///< In mid-prompt.
  std::int64_t decodes_due_ = 0;  ///< Iterations still to come that try no prefill.
  std::int64_t num_sorts_ = 0;    ///< Passes over the waiting queue.
  std::int64_t prefilled_ = 0;    ///< Tokens of prompts so far.
  Iteration iteration_;
  RequestList failed_;
  std::optional<ScheduledStep> proposed_;
  core::RngStream draws_;
  std::int64_t receive_counter_ = 0;
  std::int64_t stamp_ = 0;  ///< Stamp of the last entry into the queue.
  std::int64_t in_flight_ = 0;
  std::int64_t queued_prompt_tokens_ = 0;
  std::int64_t num_retractions_ = 0;
  core::Tokens prefix_queries_;
  core::Tokens prefix_hits_;
};

}  // namespace ridgeline::engine::sglang
