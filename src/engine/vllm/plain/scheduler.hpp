#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/ids.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "engine/kv_connector.hpp"
#include "engine/kv_look.hpp"
#include "engine/leg.hpp"
#include "engine/loop/member_turns.hpp"
#include "engine/loop/queue_scheduler.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/options.hpp"
#include "engine/vllm/plain/block_hashes.hpp"
#include "engine/vllm/plain/block_tables.hpp"
#include "engine/vllm/plain/content.hpp"
#include "engine/vllm/plain/encoder_cache.hpp"
#include "engine/vllm/plain/kv_cache.hpp"

namespace ridgeline::engine::vllm::plain {

enum class Status : std::uint8_t {
  kWaiting,
  kLoading,  ///< Holds blocks into which another engine's KV is being written.
  kAsleep,   ///< A session that waits for its next input.
  kRunning,
  kPreempted,
  kFinished
};

/// A streaming session: inputs that have come before their turn.
struct Session {
  std::deque<domain::Request> inputs;
  bool is_closed = false;  ///< It ends behind them.
};

/// A request inside the scheduler. The names follow vLLM's.
struct Sequence : engine::Sequence {
  Sequence(const domain::Request& request, core::Tokens max_model_len);

  Status status = Status::kWaiting;
  std::int32_t priority = 0;
  core::LoraId lora;
  std::int64_t max_tokens = 0;            ///< The client's limit.
  std::int64_t num_computed_tokens = 0;   ///< KV there, or will be once the steps in flight end.
  std::int64_t num_output_tokens = 0;     ///< Generated and known to the scheduler.
  std::int64_t num_placeholders = 0;      ///< Sampled by steps in flight: not known yet.
  std::int64_t num_in_flight_tokens = 0;  ///< Scheduled by steps that have not ended.
  std::int64_t num_drafts = 0;            ///< Proposed for the next step.
  std::int64_t drafts_to_come = 0;        ///< That its step in flight will propose.
  std::int64_t prefill_end = 0;           ///< Tokens known at its admission: up to here is prefill.
  TokenSequence tokens;
  BlockTables blocks;
  BlockHashes block_hashes;          ///< Hashes of all full blocks of known tokens.
  std::int64_t num_hashes_made = 0;  ///< Hashes that vLLM 0.8 has made so far.
  std::int64_t num_remote_tokens =
      0;                              ///< Leading prompt tokens whose KV another engine hands over.
  bool states_content = false;        ///< Its prompt says what others may have too.
  bool loads_remote = false;          ///< That KV takes time to arrive: the request waits for it.
  bool remote_arrived = true;         ///< Nothing of it is on the way.
  std::int64_t unanswered = 0;        ///< Leg::unanswered, as far as it has not been asked.
  bool load_failed = false;           ///< What it waits for came in part, or not at all.
  bool drops_step = false;            ///< The step that is about to end read KV that is not there.
  std::int64_t num_lost_tokens = 0;   ///< In flight, whose results are lost.
  bool is_prefill_chunk = false;      ///< Its last chunk has left some of its prompt.
  bool was_passed_over = false;       ///< Since it was last admitted.
  bool holds_blocks = false;          ///< When it finishes, its blocks stay.
  std::int64_t last_step = 0;         ///< The newest step that it was in.
  std::int64_t next_decode = 0;       ///< The call of schedule() from which it may decode.
  std::int64_t num_local_tokens = 0;  ///< Found in its own cache, where it loads.
  std::uint64_t load = 0;             ///< The connector's load that it waits for.
  std::int64_t num_offered = 0;       ///< Blocks offered to the connector.
  std::int64_t num_generated = 0;     ///< Before its turn, where it is a session.
  std::unique_ptr<Session> session;   ///< None: it ends with its first answer.
  std::unique_ptr<PromptImages> images;

  [[nodiscard]] std::int64_t num_tokens() const { return num_prompt_tokens + num_output_tokens; }
  /// Blocks stand for it, with KV in them or on its way.
  [[nodiscard]] bool holds_kv() const {
    return num_computed_tokens > 0 || status == Status::kLoading;
  }
};
using SequencePtr = std::shared_ptr<Sequence>;

/// What the prefix cache was asked and gave, as vLLM counts it.
struct PrefixStatistics {
  std::int64_t requests = 0;
  std::int64_t queries = 0;
  std::int64_t hits = 0;
  std::int64_t preempted_requests = 0;
  std::int64_t preempted_queries = 0;
  std::int64_t preempted_hits = 0;
};

/// Which requests may be admitted (vLLM's PauseState).
enum class Pause : std::uint8_t {
  kNone,
  kNew,  ///< New requests wait.
  kAll   ///< No step is formed.
};

/// vLLM V1's scheduler over the KV cache, decision for decision (docs/internals/engine.md).
class Scheduler final : public QueueScheduler<Sequence> {
 public:
  explicit Scheduler(const EngineOptions& options);

  engine::SequencePtr add(const domain::Request& request) override { return add_leg(request, {}); }
  engine::SequencePtr add_leg(const domain::Request& request, const Leg& leg) override;
  [[nodiscard]] std::span<const LoadStart> load_starts() const override { return load_starts_; }
  void finish_load(LoadId id, bool arrived) override;
  void release_blocks(core::RequestId id) override;
  void connect(KvConnector& connector) override;
  [[nodiscard]] bool waits_for_others() const override {
    return !loading_.empty() || !holding_.empty();
  }
  std::vector<engine::SequencePtr> update(const ScheduledStep& step,
                                          std::span<const std::int64_t> tokens) override;
  std::vector<engine::SequencePtr> drain() override;
  /// Running requests first, then waiting ones unless a request was preempted.
  void schedule(ScheduledStep& step) override;
  [[nodiscard]] bool can_gather() const override;
  [[nodiscard]] SchedulerCounts counts() const override;
  [[nodiscard]] std::int64_t used_blocks() const override { return kv_cache().num_used(); }
  [[nodiscard]] std::int64_t num_preemptions() const override { return num_preemptions_; }
  [[nodiscard]] core::Tokens cached_prefix(const domain::Request& request,
                                           std::optional<KvLook> look) override;
  void keep_kv_changes(const KvHistory& history) override;
  void set_now(core::SimTime now) override { manager_.pool().set_now(now); }
  void tell_kv_events(KvEventSink& sink) override;
  [[nodiscard]] std::int64_t quiet_steps() const override;
  void advance_round(ScheduledStep& step, std::span<const std::int64_t> tokens) override;
  std::vector<BlockChange> advance_quiet(std::span<ScheduledStep* const> in_flight,
                                         std::int64_t rounds) override;

  /// As add_leg(), unchecked: also of a request that could never run.
  SequencePtr take(const domain::Request& request, const Leg& leg);
  SequencePtr take(SequencePtr sequence, const Leg& leg);
  /// The hashes of a request's full blocks.
  [[nodiscard]] std::vector<std::uint64_t> hashes(Sequence& sequence) const {
    extend_hash_chain(sequence);
    return sequence.block_hashes.list(sequence.block_hashes.size());
  }
  /// The images of a request that was taken, in order, none inside another.
  void note_images(Sequence& sequence, const std::vector<Image>& images) const {
    if (!images.empty() && options_.encoder_budget > 0) {
      sequence.images =
          std::make_unique<PromptImages>(PromptImages{.owner = sequence.record.id, .list = images});
    }
  }
  void drop(const SequencePtr& sequence) override;
  /// The requests whose KV is on the way, those that were aborted meanwhile included.
  [[nodiscard]] const std::map<LoadId, SequencePtr>& loading() const { return loading_; }
  /// Forgets what the prefix cache holds; refused, with false, while a request holds a block.
  /// `preempts`: running requests give theirs back first, and what steps in flight sample for them
  /// is lost.
  bool reset_prefix_cache(bool preempts = false);
  /// Drafts after the step formed last, for each of its requests; and whether none of them could be
  /// used, so that the second runner makes none.
  [[nodiscard]] std::int64_t next_drafts() const { return next_drafts_; }
  [[nodiscard]] bool skips_drafts() const { return skips_drafts_; }
  void pause(Pause pause) { pause_ = pause; }
  /// These blocks hold nothing of what loads were to bring: requests that are loading, and those in
  /// a step that is about to end, compute it themselves from the first of these blocks on. Returns
  /// them.
  std::vector<SequencePtr> lose_blocks(const std::vector<core::BlockId>& lost,
                                       const ScheduledStep& step);
  /// The next input of a session: its own segments of a prompt, and its limits.
  void send(const SequencePtr& session, const domain::Request& input);
  /// No more of it is to come. Returns whether it ends with that.
  bool close(const SequencePtr& session);
  /// Images of the step formed last.
  [[nodiscard]] const EncoderCache& encoder() const { return encoder_; }
  /// Whether the request could run alone on an empty cache, up to its token limit.
  [[nodiscard]] bool can_ever_run(const Sequence& sequence) const;

  [[nodiscard]] const KvCache& kv_cache() const { return manager_.pool(); }
  /// Requests passed over first, then the queue.
  [[nodiscard]] std::vector<SequencePtr> waiting() const override;
  [[nodiscard]] std::int64_t num_waiting() const {
    return static_cast<std::int64_t>(waiting_.size() + skipped_.size());
  }
  [[nodiscard]] std::int64_t num_passed_over() const {
    return static_cast<std::int64_t>(skipped_.size());
  }
  /// The requests preempted by the last schedule(), in order.
  [[nodiscard]] const std::vector<SequencePtr>& preempted() const { return preempted_; }
  [[nodiscard]] const PrefixStatistics& prefix_statistics() const { return statistics_; }

 private:
  enum class Verdict : std::uint8_t { kAdmitted, kSkipped, kBlocked };
  /// What a waiting request would get.
  struct Admission {
    CachedPrefix prefix;
    bool looked_up = false;
    std::int64_t cached = 0;  ///< Tokens that need no computing: found, handed over or loaded.
    std::int64_t local = 0;   ///< Tokens found here.
    std::int64_t tokens = 0;  ///< To compute in this step.
    std::int64_t lookahead = 0;
    bool loads = false;       ///< Gets blocks only, until its KV has arrived.
    std::int64_t stored = 0;  ///< Blocks that the connector loads.
  };

  /// A victim's part of the step that is being formed.
  struct Withdrawn {
    bool was_scheduled = false;
    std::int64_t computed = 0;  ///< Tokens that count as computed all the same.
  };

  [[nodiscard]] std::int64_t earlier_states() const;
  void schedule_members();
  [[nodiscard]] bool members_fit() const;
  void extend_member(engine::Sequence& member);
  void extend_members_before(std::int64_t place) {
    turns_.take_before(place, [this](engine::Sequence& member) { extend_member(member); });
  }
  void gather(const ScheduledStep& step);
  [[nodiscard]] std::int64_t last_quiet_step(const Sequence& sequence, std::int64_t first) const;
  void settle(Sequence& sequence);
  void leave_decodes(engine::Sequence& sequence) override;
  void stop_gathering(Sequence& sequence);
  std::vector<BlockChange> count_rounds(std::int64_t rounds);
  /// Members' blocks are counts: of one kind, and none of them can be found.
  [[nodiscard]] bool counts_blocks() const {
    return has_one_full_cache_ && !kv_cache().has_lookups();
  }
  [[nodiscard]] std::int64_t quiet_steps_of_members() const;
  void schedule_running(ScheduledStep& step);
  void schedule_waiting(ScheduledStep& step);
  [[nodiscard]] bool has_waiting() const { return !waiting_.empty() || !skipped_.empty(); }
  void form(ScheduledStep& step);
  [[nodiscard]] bool waits_for_turn() const;
  [[nodiscard]] bool holds_prefills_back() const;
  void note_prefills();
  void note_step(const ScheduledStep& step);
  void note_quiet_steps(std::int64_t steps);
  [[nodiscard]] bool frees_at_once(const Sequence& sequence) const {
    return !defers_frees_ || sequence.last_step <= steps_ended_;
  }
  void free_blocks(Sequence& sequence);
  [[nodiscard]] Queue& home_of(const Sequence& passed_over);
  [[nodiscard]] std::int64_t draft_step_tokens() const;
  [[nodiscard]] std::int64_t prefill_threshold() const;
  [[nodiscard]] std::int64_t cut_to_images(Sequence& sequence,
                                           std::int64_t computed,
                                           std::int64_t tokens);
  [[nodiscard]] std::int64_t cut_chunk(Sequence& sequence, std::int64_t tokens);
  [[nodiscard]] Verdict cut_admission(Sequence& sequence, Admission& admission);
  void take_images(Sequence& sequence);
  void note_prompt(Sequence& sequence);
  bool end_turn(Sequence& sequence);
  void begin_turn(Sequence& sequence, const domain::Request& input);
  void enqueue(const SequencePtr& sequence);
  [[nodiscard]] bool pads(const Admission& admission) const;
  [[nodiscard]] bool has_budget() const { return budget_ > 0 && input_budget_ > draft_slots_; }
  void spend(std::int64_t tokens) {
    budget_ -= tokens;
    input_budget_ -= tokens + draft_slots_;
  }
  [[nodiscard]] std::int64_t tokens_to_run(const Sequence& sequence) const;
  [[nodiscard]] bool last_token_in_flight(const Sequence& sequence) const;
  bool make_room(Sequence& sequence, std::int64_t tokens, ScheduledStep& step, std::size_t& cursor);
  [[nodiscard]] std::size_t choose_victim() const;
  [[nodiscard]] Withdrawn withdraw(Sequence& victim, ScheduledStep& step);
  Verdict try_admit(const SequencePtr& sequence, ScheduledStep& step);
  bool is_held_back(Sequence& sequence);
  void take_remote_tokens(Sequence& sequence);
  [[nodiscard]] Admission plan(Sequence& sequence);
  bool cut_to_budget(Admission& admission) const;
  [[nodiscard]] std::int64_t cut_to_states(const Sequence& sequence,
                                           std::int64_t computed,
                                           std::int64_t tokens,
                                           std::int64_t junction) const;
  [[nodiscard]] std::int64_t last_kept_state(std::int64_t tokens) const;
  [[nodiscard]] std::int64_t spare_prompt_end(const Sequence& sequence,
                                              std::int64_t computed,
                                              std::int64_t tokens) const;
  void admit(const SequencePtr& sequence, const Admission& admission, ScheduledStep& step);
  void adopt(Sequence& sequence, CachedPrefix prefix);
  void hold_for_load(const SequencePtr& sequence, const Admission& admission);
  void give_up_load(Sequence& sequence);
  [[nodiscard]] std::int64_t find_stored(const Sequence& sequence, std::int64_t local) const;
  void offer_blocks(Sequence& sequence, const ScheduledSequence& part);
  void note_adapters(const ScheduledStep& step);
  [[nodiscard]] bool exceeds_lora_cap(const Sequence& sequence) const;
  [[nodiscard]] bool fits(const Sequence& sequence, const Admission& admission) const;
  [[nodiscard]] std::int64_t watermark_blocks() const;
  [[nodiscard]] std::int64_t blocks_of_prefills() const;
  void count_lookup(const Sequence& sequence, const CachedPrefix& prefix);
  [[nodiscard]] bool has_loaded_behind(const Sequence& blocked) const;
  [[nodiscard]] std::vector<SequencePtr> loaded() const;
  void give_back(Sequence& holder);
  void end_standstill(ScheduledStep& step);
  bool take_from_loaded(Sequence& sequence, std::int64_t tokens);
  void preempt(const SequencePtr& victim, std::int64_t computed);
  void begin_lookups();
  void push_waiting(Queue& queue, const SequencePtr& sequence, bool front);
  void put(ScheduledStep& step, Sequence& sequence, std::int64_t tokens);
  void count_in_flight(const ScheduledSequence& part) const;
  void choose_drafts(const ScheduledStep& step);
  [[nodiscard]] bool uses_drafts(const Sequence& sequence, bool samples) const;
  void take_back(const ScheduledSequence& part) const;
  bool take_tokens(Sequence& sequence, const ScheduledSequence& part, std::int64_t tokens) override;
  /// Tokens of a request that decodes: the next, and its drafts.
  [[nodiscard]] std::int64_t tokens_per_step() const { return 1 + options_.num_speculative_tokens; }
  [[nodiscard]] std::int64_t quiet_tokens(const Sequence& sequence) const;
  [[nodiscard]] std::int64_t blocks_taken(std::int64_t tokens) const;
  [[nodiscard]] std::int64_t tokens_until_event(const Sequence& sequence) const;
  static void go_on(Sequence& sequence, std::int64_t tokens);
  void take_quiet_token(Sequence& sequence);
  bool extend(Sequence& sequence, std::int64_t tokens, std::int64_t lookahead);
  void hash_full_blocks(Sequence& sequence, std::int64_t tokens);
  void extend_hash_chain(Sequence& sequence) const;
  SequencePtr remove(Sequence& sequence) override;

  EngineOptions options_;
  bool by_priority_;
  bool has_one_full_cache_;
  bool keeps_states_;               ///< At the ends of blocks: chunks end there.
  bool loses_results_;              ///< What a preempted request sampled is lost.
  std::int64_t steps_per_request_;  ///< In flight, of a request that decodes.
  bool foresees_end_;           ///< A request whose last token is in flight is not scheduled again.
  std::int64_t last_position_;  ///< Tokens that a request may compute.
  std::int64_t lookahead_;
  std::int64_t hash_ahead_;  ///< Tokens behind a block that its hash covers.
  std::int64_t rewritten_;   ///< Newest tokens whose KV several draft modules may write again.
  std::int64_t seats_;       ///< Requests that run at a time.
  bool defers_frees_;
  std::int64_t
      turns_of_decodes_;       ///< Calls of schedule() from one decode of a request to the next.
  std::int64_t draft_slots_;   ///< Input positions that drafting takes per scheduled request.
  std::int64_t token_budget_;  ///< Tokens of a step.
  BlockManager manager_;
  EncoderCache encoder_;
  ImagePlan image_plan_;  ///< What the request that is looked at would have.
  std::int64_t num_asleep_ = 0;
  KvConnector* connector_ = nullptr;
  std::vector<LoadStart> load_starts_;     ///< Loads that the last schedule() started.
  std::map<LoadId, SequencePtr> loading_;  ///< Their KV is on the way.
  /// A finished request whose blocks are still read: by another instance, by the connector, or by
  /// both.
  struct Holding {
    SequencePtr sequence;
    std::int64_t readers = 1;
  };
  /// One request that was sent again may have several: those of its earliest attempt are released
  /// first.
  std::multimap<core::RequestId, Holding> holding_;
  Queue skipped_;  ///< Passed over: waiting for a grammar, an adapter slot or KV; or holding KV.
  std::vector<SequencePtr> passed_over_;  ///< By the waiting pass that is going on, in no queue.
  Pause pause_ = Pause::kNone;
  /// Blocks that a step in flight may write, and that step's number.
  struct Deferred {
    std::int64_t step = 0;
    BlockTables blocks;
    BlockHashes hashes;
  };
  std::deque<Deferred> deferred_;
  std::int64_t steps_formed_ = 0;  ///< That are not empty.
  std::int64_t steps_ended_ = 0;   ///< How many of them have ended.
  std::int64_t calls_ = 0;         ///< Calls of schedule() so far.
  bool holds_prefills_ = false;    ///< In the step being formed.
  bool carries_prefill_ = false;   ///< The step being formed.
  bool skips_drafts_ = false;
  std::int64_t next_drafts_ = 0;
  std::int64_t last_prefill_ = 0;  ///< The newest step formed that carries one.
  bool is_short_of_room_ = false;  ///< The last step that took prefills has left some waiting.
  /// Whether the step being formed pads admitted requests that need one token to the drafts'
  /// length: beside running requests without a prefill among them; ...
  bool pads_beside_decodes_ = false;
  bool pads_cached_ = false;  ///< ... and also beside none, those with computed tokens.
  /// A request that ran alone has preempted itself, and no token has come out since; and twice so.
  bool preempted_alone_ = false;
  bool is_stuck_ = false;
  std::vector<core::LoraId> adapters_;  ///< Distinct ones of the step being formed.
  std::int64_t threshold_ = 0;          ///< Tokens of a prefill in the step being formed; 0: all.
  std::int64_t budget_ = 0;             ///< Tokens left in it.
  std::int64_t input_budget_ = 0;       ///< Input positions left in it.
  std::vector<SequencePtr> preempted_;
  std::int64_t num_preemptions_ = 0;
  std::vector<Sequence*> singles_;  ///< Running requests that are no members, in order.
  std::int64_t num_admitted_ = 0;
  MemberTurns turns_;   ///< When members' blocks change; or, as long as none is looked up, ...
  BlockPhases phases_;  ///< ... when they begin one: which one is known when they are settled.
  PrefixStatistics statistics_;
};

}  // namespace ridgeline::engine::vllm::plain
