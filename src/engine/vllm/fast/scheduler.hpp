#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/buffer.hpp"
#include "core/check.hpp"
#include "core/fetch.hpp"
#include "core/ring.hpp"
#include "core/time.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "domain/token_sink.hpp"
#include "engine/leg.hpp"
#include "engine/options.hpp"
#include "engine/vllm/fast/block_size.hpp"
#include "engine/vllm/fast/decode_set.hpp"
#include "engine/vllm/fast/finish_ring.hpp"
#include "engine/vllm/fast/prefix_cache.hpp"
#include "engine/vllm/fast/slot.hpp"

namespace ridgeline::engine::vllm::fast {

/// Prefix-cache statistics as vLLM counts them, in tokens, or in blocks where the profile counts
/// blocks. Some profiles count preempted requests in a second set.
struct PrefixCounts {
  std::int64_t requests = 0;
  std::int64_t queries = 0;
  std::int64_t hits = 0;

  void add(const PrefixCounts& other, std::int64_t times) {
    requests += other.requests * times;
    queries += other.queries * times;
    hits += other.hits * times;
  }
};

/// What a caller needs of a scheduler besides its decisions.
struct Extras {
  bool decode_lengths = false;     ///< Batches list the length of each decode.
  bool block_ids = false;          ///< Tables know their block ids; not together with runs.
  core::InstanceId instance = {};  ///< EngineInputs::instance.
};

/// The scheduler of the fast twin: the decisions of vllm::plain::Scheduler for first come, first
/// served, at a cost that follows the changes of the batch and not its size.
/// docs/internals/speed.md says why that is exact; docs/internals/fast-engine.md explains the
/// terms.
class Scheduler final : private PrefixCache::Keyed {
 public:
  Scheduler(const EngineOptions& options, Extras extras);

  /// Whether this scheduler implements these options; otherwise the plain twin runs them.
  static bool covers(const EngineOptions& options);

  /// Whether a request can run at all, alone if need be.
  [[nodiscard]] inline bool fits(const domain::Request& request) const;
  /// The record of a request that does not fit.
  [[nodiscard]] static domain::RequestRecord refusal(const domain::Request& request,
                                                     core::SimTime queued);
  /// Adds a request that fits to the queue.
  inline void add(const domain::Request& request, core::SimTime queued, const Leg& leg = {});
  /// The KV of a request that loads is there, or (`arrived` false) never comes.
  void finish_load(core::RequestId id, bool arrived);
  /// The blocks of a request that has ended and holds them are free.
  void release_blocks(core::RequestId id);
  /// The requests to which the last schedule() gave blocks for their KV, in order.
  [[nodiscard]] std::span<const LoadStart> load_starts() const { return load_starts_.span(); }
  /// Whether requests wait for what another engine does.
  [[nodiscard]] bool waits_for_others() const {
    return static_cast<std::int64_t>(loading_.size()) > num_ready_ || !holding_.empty() ||
           !abandoned_.empty();
  }
  /// Whether a batch that is formed next may start a load, or is reported (Leg::reports_steps).
  [[nodiscard]] bool may_report() const { return num_reporting_ > 0 && batches_to_next_end() == 0; }
  /// Aborts a request: reports it as aborted and gives back its blocks. Its tokens in the batches
  /// `in_flight` (oldest first) become wasted ones. An id that is not in the scheduler is ignored.
  void abort(core::RequestId id, std::span<Batch* const> in_flight, domain::RecordSink& sink);
  /// Forms a batch at `now` into `batch`; returns false if there is nothing to compute.
  /// `newest_end`: when the newest batch in flight ends, if there is one.
  bool schedule(Batch& batch, core::SimTime now, core::SimTime newest_end);
  /// Reports, at the end `now` of a batch, the gaps of all decodes that had a token in the batch
  /// before.
  void report_gaps(const Batch& batch, core::SimTime now, domain::RecordSink& sink) const;
  /// Reports the requests to which the batch that ends at `now` gives their first token.
  void report_first_tokens(const Batch& batch,
                           core::SimTime now,
                           domain::FirstTokenSink& sink) const;
  /// Lists the requests to which the batch that ends next gives a token, in ascending order of
  /// their ids. Looks at every running request.
  void list_tokens(const Batch& batch, std::vector<domain::TokenEvent>& events) const;
  /// Ends a batch at `now`: reports all other gaps and the requests that end with it. Returns their
  /// number.
  std::int64_t update(const Batch& batch, core::SimTime now, domain::RecordSink& sink);
  void drain(domain::Outcome outcome, core::SimTime failed, domain::RecordSink& sink);

  /// The number of batches, from the next one on, that hold the same decodes and nothing else, each
  /// decode one token further, unless a request arrives. Zero if that is not certain.
  [[nodiscard]] std::int64_t repeatable_batches() {
    // A head of the queue that has not been tried yet may be admitted.
    const bool is_new = has_waiting() && !head_blocked_ && blocked_budget_ < 0 &&
                        num_running_ < options_.max_num_seqs &&
                        decodes_.count() < token_budget(options_).value();
    return is_new ? 0 : batches_to_change();
  }
  /// repeatable_batches() for a caller between two batches, changing nothing: zero too where a
  /// batch in flight ends a request. No request ends, and none has a first token, before the last
  /// of these batches ends.
  [[nodiscard]] inline std::int64_t batches_to_next_end() const;
  /// Call before form_decodes(): the head of the queue is tried, and does not fit, in each of these
  /// batches.
  void begin_forming_decodes() {
    budget_ = token_budget(options_).value() - decodes_.count();
    RIDGELINE_CHECK(budget_ >= 0 && prefilling_.empty() && skipped_decodes_.empty(),
                    "scheduler: a run is of decodes alone, within the token budget");
    preempted_ = false;
    head_blocked_ = has_waiting() && num_running_ < options_.max_num_seqs && budget_ > 0;
    head_budget_ = head_blocked_ ? budget_ : head_budget_;
  }
  /// Forms the next `count` batches of decodes alone, in which decodes begin `new_blocks` blocks.
  [[gnu::always_inline]] void form_decodes(std::int64_t count, std::int64_t new_blocks) {
    if (head_blocked_) [[unlikely]] {
      take_blocks_past_head(count, new_blocks);
    } else {
      cache_.allocate(new_blocks);
    }
    num_batches_ += count;
    done_at_forming_ = num_batches_ - (async_ ? 2 : 1) - 1;
  }
  /// Call after the last of these batches is formed: enters the single blocks that it filled. Some
  /// of the batches may have ended.
  void enter_single_blocks_after_run() {
    if (!single_block_decodes_.empty()) [[unlikely]] {
      enter_all_single_blocks();
    }
  }
  /// Ends the oldest `count` of these batches, the last one at `now`. A full pipeline stays in
  /// flight.
  void end_decodes(std::int64_t count, core::SimTime now) {
    RIDGELINE_CHECK(count > 0 && last_done_ + count < num_batches_ && now >= last_end_,
                    "scheduler: batches end that were formed, and a run's last one is in flight");
    last_done_ += count;
    last_end_ = now;
    preempted_alone_ = is_stuck_ = false;
  }
  /// Whether each of the next batches is sure to hold the whole prompt of that new request if it
  /// comes before it is formed, and besides it the decodes. Nothing else may come or end.
  [[nodiscard]] inline bool takes_whole_prompt_within(std::int64_t batches,
                                                      const domain::Request& request) const;
  /// Whether a request is known to end with that batch.
  [[nodiscard]] bool request_ends_in(std::int64_t batch) const {
    return ends_.first(batch) != kNoSlot;
  }

  /// A request that ends with that batch; kNoSlot where none is known. Its slot is fetched.
  [[nodiscard]] SlotIndex fetch_ending(std::int64_t batch) const {
    const SlotIndex index = ends_.first(batch);
    fetch(index);
    return index;
  }
  /// Fetches the slots that its end changes, once its own is there.
  void fetch_neighbours(SlotIndex index) const {
    fetch(slots_[index].next);
    fetch(slots_[index].previous);
  }
  [[nodiscard]] const PrefixCache& cache() const { return cache_; }
  [[nodiscard]] const DecodeSet& decodes() const { return decodes_; }
  [[nodiscard]] std::int64_t num_running() const { return num_running_; }
  [[nodiscard]] std::int64_t num_waiting() const {
    return static_cast<std::int64_t>(waiting_.size() + loading_.size());
  }
  /// Sum of the prompt lengths of the waiting requests.
  [[nodiscard]] core::Tokens queued_prompt_tokens() const;
  /// As Engine::cached_prefix().
  [[nodiscard]] core::Tokens cached_prefix(const domain::Request& request);
  [[nodiscard]] std::int64_t num_batches() const { return num_batches_; }
  /// The shared context of the requests that run now.
  [[nodiscard]] core::Tokens shared_context() const {
    return options_.block_size * num_shared_blocks_;
  }
  [[nodiscard]] std::int64_t num_preemptions() const { return num_preemptions_; }
  [[nodiscard]] const PrefixCounts& prefix_counts() const { return lookups_; }
  /// Counts of preempted requests, in profiles that count them in a second set.
  [[nodiscard]] const PrefixCounts& preempted_prefix_counts() const { return preempted_lookups_; }
  [[nodiscard]] bool preempted_in_last_call() const { return preempted_; }
  /// When the last batch ended.
  [[nodiscard]] core::SimTime last_end() const { return last_end_; }

  /// The first of the running requests in order of admission; Slot::next leads to the others.
  [[nodiscard]] SlotIndex first_running() const { return first_running_; }
  [[nodiscard]] const Slot& slot(SlotIndex index) const {
    RIDGELINE_CHECK(index < slots_.size(), "scheduler: the slot exists");
    return slots_[index];
  }
  /// Place `i` of the queue.
  [[nodiscard]] const Waiting& waiting(std::int64_t i) const {
    return waiting_[static_cast<std::size_t>(i)];
  }
  /// The tokens that a running or preempted request has generated in batches that have ended.
  [[nodiscard]] std::int64_t output_tokens(SlotIndex index) const;
  /// A running request's blocks in order. Requires Extras::block_ids.
  [[nodiscard]] BlockIds::Ids block_ids(SlotIndex index) const {
    return cache_.ids_of(slots_[index].table, index);
  }

 private:
  void fetch(SlotIndex index) const {
    if (index != kNoSlot) {
      core::fetch(slots_[index]);
    }
  }

  enum class Verdict : std::uint8_t { kAdmitted, kLoads, kPassedOver, kBlocked };
  /// How far run_decodes() has scheduled the running list.
  enum class Running : std::uint8_t {
    kNotScheduled,   ///< Not at all: requests are scheduled in schedule_running().
    kScheduled,      ///< All running requests have their tokens and blocks.
    kBatchComplete,  ///< And no request can be admitted: the batch is complete.
  };

  [[nodiscard]] std::int64_t keyed_blocks(PrefixCache::Owner owner) const override {
    return between_batches_ ? keyed_so_far(owner) : keyed_blocks(slots_[owner]);
  }
  [[nodiscard]] std::int64_t keyed_blocks(const Slot& slot) const;

  /// With asynchronous scheduling, a request whose last permitted token is in flight is not
  /// scheduled again. Returns the number of decodes that have ended but are scheduled once more,
  /// because the scheduler could not foresee their end.
  std::int64_t retire_last_tokens() {
    return async_ && num_batches_ > 0 && request_ends_in(num_batches_ - 1) ? retire_ending() : 0;
  }
  std::int64_t retire_ending();
  [[nodiscard]] inline std::int64_t batches_to_change();
  [[nodiscard]] inline bool only_decodes() const;
  [[nodiscard]] inline bool decodes_repeat() const;
  inline Running run_decodes(Batch& batch, std::int64_t wasted);
  inline bool finish_forming(Batch& batch);
  void schedule_running(Batch& batch);
  void run_all(Batch& batch, bool everything);
  void name_decode_blocks();
  void take_blocks_in_order();
  void run_in_order(Batch& batch);
  bool make_room(SlotIndex index, std::int64_t blocks);
  void count_decodes(Batch& batch);
  void list_decode_lengths(Batch& batch);
  void skip_decode(Slot& slot, SlotIndex index);
  void resume_skipped(Batch& batch);
  void add_single_block_decode(SlotIndex index);
  void enter_single_blocks(bool in_batch, std::int64_t before);
  [[gnu::noinline]] void enter_all_single_blocks();
  /// Whether a request waits for nothing but room.
  [[nodiscard]] bool has_waiting() const { return !waiting_.empty() || num_ready_ > 0; }
  [[nodiscard]] bool has_room() const {
    return budget_ > 0 && num_running_ < options_.max_num_seqs && !(is_stuck_ && num_running_ > 0);
  }
  /// Blocks that a request may take that is admitted now.
  [[nodiscard]] std::int64_t admissible_blocks() const {
    return cache_.num_free() - (num_running_ == 0 ? 0 : watermark_blocks_);
  }
  void unblock_head() {
    head_blocked_ = false;
    blocked_budget_ = -1;
  }
  void schedule_waiting(Batch& batch, core::SimTime now);
  bool schedule_queue(std::size_t most, Batch& batch, core::SimTime now);
  void schedule_around_loads(Batch& batch, core::SimTime now);
  bool schedule_loaded(Batch& batch, core::SimTime now);
  [[nodiscard]] bool has_loaded_from(std::size_t place) const;
  Verdict try_ready(std::size_t place, Batch& batch, core::SimTime now);
  Verdict try_loaded(SlotIndex index, Batch& batch, core::SimTime now);
  Verdict try_load(const Waiting& entry, std::int64_t known, std::int64_t reach);
  void take_loaded(SlotIndex index);
  [[nodiscard]] static bool holds_loaded(const Loading& load);
  void end_standstill(Batch& batch, core::SimTime now);
  [[gnu::noinline]] bool take_from_loaded(std::int64_t blocks);
  [[gnu::noinline]] void end_stuck(const Batch& batch);
  void leave_loading(std::size_t place);
  void settle_failed(Loading& load);
  void requeue(Loading& load);
  void give_back(SlotIndex index);
  void hold_for_reader(SlotIndex index, std::int64_t blocks, std::int64_t keyed);
  bool abort_loading(core::RequestId id, domain::RecordSink& sink);
  void drain_loads(domain::Outcome outcome, core::SimTime failed, domain::RecordSink& sink);
  void leave_queue(const Waiting& entry);
  void expect_earlier_attempts();
  void note_duplicates();
  Verdict try_admit(const Waiting& entry, Batch& batch, core::SimTime now);
  [[nodiscard]] bool is_alone_with_its_content(const Waiting& entry) const;
  void take_blocks_past_head(std::int64_t batches, std::int64_t new_blocks);
  inline bool admit_whole(const Waiting& entry, Batch& batch, core::SimTime now);
  void admit(const Waiting& entry, Batch& batch, std::int64_t tokens, core::SimTime now);
  const Chain& chain_of(const Waiting& entry);
  void find(const Waiting& entry, std::int64_t known);
  inline void count_lookup(const Waiting& entry, std::int64_t known);
  void put(Batch& batch, SlotIndex index, std::int64_t tokens);
  inline void begin_decoding(SlotIndex index);
  void stop_decoding(Slot& slot, Status next);
  void preempt(SlotIndex index);
  void report_tokens(const Batch& batch, core::SimTime now, domain::RecordSink& sink);
  inline void finish(SlotIndex index, domain::RecordSink& sink);
  [[gnu::noinline]] std::int64_t finish_ending(SlotIndex first, domain::RecordSink& sink);
  std::int64_t finish_all(SlotIndex first, domain::RecordSink& sink);
  void discard_tokens_in_flight(SlotIndex index, std::span<Batch* const> in_flight) const;
  [[nodiscard]] bool decodes_in(SlotIndex index, const Batch& batch) const;
  void abort_running(SlotIndex index);
  void abort_preempted(SlotIndex index);
  void leave_running(SlotIndex index);
  void report_gone(const Waiting& entry,
                   domain::Outcome outcome,
                   domain::RecordSink& sink,
                   core::SimTime failed = core::SimTime::never());
  inline void release(SlotIndex index,
                      std::int64_t blocks,
                      std::int64_t keyed,
                      bool comes_back = false);
  void release_shared(SlotIndex index, std::int64_t blocks, std::int64_t keyed);
  [[nodiscard]] static PrefixCache::OwnContent own_content(const Slot& slot) {
    return {
        .id = slot.record.id, .lora = slot.lora, .prompt_tokens = core::Tokens(slot.prompt_tokens)};
  }
  void make_all_blocks_findable();
  /// Whether an entry is new and has a prompt of its own.
  [[nodiscard]] bool is_own(const Waiting& entry) const {
    return entry.slot == kNoSlot && entry.chain == PrefixCache::kNone &&
           !cache_.prompts_quote_requests();
  }
  /// Whether an entry was preempted and finds only the blocks that it left itself.
  [[nodiscard]] bool has_left_blocks(const Waiting& entry) const {
    return entry.slot != kNoSlot && slots_[entry.slot].table.own;
  }
  void take_hold(const Waiting& entry, SlotIndex index);
  [[nodiscard]] std::int64_t evicted_of(const Waiting& entry) const;
  void vacate(SlotIndex index);
  inline SlotIndex take_slot(const Waiting& entry, core::SimTime now);
  [[gnu::noinline]] void add_slot();
  [[gnu::noinline]] void assign_unique_chain(PrefixCache::Table& table);
  [[gnu::noinline]] void assign_chain(const domain::Request& request, Waiting& entry);
  void link_last(SlotIndex index);
  void unlink(SlotIndex index);

  [[nodiscard]] static bool has_blocks(const Slot& slot) {
    return slot.status != Status::kFree && slot.status != Status::kPreempted;
  }
  [[nodiscard]] bool decodes_or_leaves(const Slot& slot) const {
    return slot.status == Status::kDecoding || slot.status == Status::kLeaving;
  }
  [[nodiscard]] std::int64_t known_tokens(const Slot& slot) const;
  [[nodiscard]] std::int64_t tokens_so_far(const Slot& slot) const;
  [[nodiscard]] std::int64_t keyed_so_far(SlotIndex index) const;
  [[nodiscard]] std::int64_t computed_tokens(const Slot& slot, SlotIndex index) const;
  [[nodiscard]] std::int64_t wanted_tokens(const Slot& slot) const;
  [[nodiscard]] std::int64_t blocks_to_compute(const Slot& slot, std::int64_t tokens) const;
  [[nodiscard]] std::int64_t blocks_of(const Slot& slot, SlotIndex index) const {
    return std::max(blocks_for(computed_tokens(slot, index)), slot.least_blocks);
  }
  [[nodiscard]] std::int64_t blocks_for(std::int64_t tokens) const {
    return block_size_.covering(tokens);
  }
  [[nodiscard]] inline bool waiting_stays_out(std::int64_t budget) const;

  EngineOptions options_;
  BlockSize block_size_;
  std::int64_t watermark_blocks_;
  bool async_;
  bool look_ahead_;
  bool whole_prompts_;       ///< Prompts are not cut.
  std::int64_t length_cap_;  ///< The most tokens that a request may compute.
  bool keep_decode_lengths_;
  PrefixCache cache_;
  DecodeSet decodes_;
  core::Buffer<std::int64_t> decode_bases_;  ///< Bases of the decodes, in running order, ...
  std::int64_t listed_changes_ = -1;         ///< ... as they were after so many changes of the set.
  FinishRing ends_;
  std::vector<Slot> slots_;
  core::Buffer<SlotIndex> free_slots_;
  SlotIndex first_running_ = kNoSlot;
  SlotIndex last_running_ = kNoSlot;
  std::int64_t num_running_ = 0;
  std::int64_t next_order_ = 0;
  core::Ring<Waiting> waiting_;
  std::vector<Loading> loading_;  ///< In the order in which they got their blocks.
  std::int64_t num_ready_ = 0;    ///< Loads that are ready (Loading::is_ready).
  /// Entries at the head of waiting_ that stand before those of loading_: in versions with one
  /// queue, the requests preempted since.
  std::size_t num_ahead_ = 0;
  /// A request that ran alone has preempted itself, and no token has come out since; and twice so.
  bool preempted_alone_ = false;
  bool is_stuck_ = false;
  core::Buffer<SlotIndex> abandoned_;    ///< Aborted, while KV is written into their blocks.
  core::Buffer<SlotIndex> holding_;      ///< Ended, while another engine reads their blocks.
  core::Buffer<LoadStart> load_starts_;  ///< Loads that the last schedule() started.
  /// Requests inside whose loads have not started, or whose steps are reported.
  std::int64_t num_reporting_ = 0;
  core::Buffer<SlotIndex> prefilling_;  ///< Requests that compute their prompt, in running order.
  core::Buffer<SlotIndex> sampled_;     ///< Requests that decode after the batch being formed.
  core::Buffer<SlotIndex> skipped_decodes_;  ///< Decodes without a token in the newest batch.
  /// Requests preempted while a token of theirs is in flight.
  core::Buffer<SlotIndex> preempted_in_flight_;
  /// Decodes that enter single blocks, in running order.
  core::Buffer<SlotIndex> single_block_decodes_;
  core::InstanceId instance_;
  core::Buffer<SlotIndex> ending_;  ///< Scratch of finish_all().
  /// Passed over by the last call, in order; back in the queue.
  core::Buffer<Waiting> passed_over_;
  std::int64_t budget_ = 0;  ///< Tokens left in the batch being formed.
  bool forming_ = false;     ///< The running requests of the batch being formed are scheduled.
  core::SimTime newest_end_;
  bool preempted_ = false;
  /// The head of the queue was tried for the newest batch and did not fit, and nothing was freed
  /// since.
  bool head_blocked_ = false;
  std::int64_t head_budget_ = 0;  ///< The budget left when the head was tried.
  /// The budget left when the head was tried, if no other request shares its content: with the same
  /// budget the head does not fit until something is freed. Negative: not known.
  std::int64_t blocked_budget_ = -1;
  std::int64_t blocked_evicted_ = 0;  ///< evicted_of() the head at its last look-up.
  PrefixCache::Match match_;          ///< Match of the entry of the queue that was tried last.
  PrefixCache::Match query_;          ///< Match of the last call of cached_prefix().
  bool between_batches_ = false;      ///< The cache is asked while no batch is formed or ended.
  Chain unique_chain_;
  core::RequestId unique_chain_of_;
  PrefixCounts head_lookup_;               ///< What the last try of the head counted.
  bool head_lookup_is_preempted_ = false;  ///< It was counted in preempted_lookups_.
  std::int64_t num_batches_ = 0;
  std::int64_t last_done_ = -1;        ///< The last batch that ended.
  std::int64_t done_at_forming_ = -1;  ///< last_done_ when the newest batch was formed.
  core::SimTime last_end_;
  std::int64_t num_preemptions_ = 0;
  std::int64_t num_shared_blocks_ = 0;  ///< Holders beyond the first, summed over all blocks.
  PrefixCounts lookups_;
  PrefixCounts preempted_lookups_;
};

// Functions that every request calls once or more; inline for speed.

/// Tokens known of a request that decodes or leaves: its prompt and the tokens of batches that have
/// ended.
inline std::int64_t Scheduler::known_tokens(const Slot& slot) const {
  // The batch in flight skipped this decode and lowered its base by one, but has not ended yet.
  const bool ahead = async_ && slot.last_skipped_batch == last_done_ + 1;
  return slot.base + last_done_ + 2 + (ahead ? 1 : 0);
}

inline std::int64_t Scheduler::computed_tokens(const Slot& slot, SlotIndex index) const {
  switch (slot.status) {
    case Status::kDecoding:
      return slot.base + num_batches_;
    case Status::kLeaving:
      return slot.base + ends_.batch_of(index) + 1;
    default:
      return slot.computed;
  }
}

/// The blocks of a request that have keys: a block gets one once its tokens are known and are
/// computed or in a batch.
inline std::int64_t Scheduler::keyed_blocks(const Slot& slot) const {
  if (!decodes_or_leaves(slot)) {
    return slot.table.keyed;
  }
  const bool in_batch = forming_ && slot.status == Status::kDecoding;
  const std::int64_t tokens = known_tokens(slot) - (in_batch ? 0 : 1);
  return std::max(slot.table.keyed, block_size_.whole(tokens));
}

inline void Scheduler::link_last(SlotIndex index) {
  Slot& slot = slots_[index];
  RIDGELINE_CHECK(slot.status == Status::kPrefilling,
                  "running list: a request joins to compute its prompt");
  RIDGELINE_CHECK(num_running_ < options_.max_num_seqs, "running list: max_num_seqs is kept");
  slot.order = next_order_++;
  slot.next = kNoSlot;
  slot.previous = last_running_;
  (last_running_ == kNoSlot ? first_running_ : slots_[last_running_].next) = index;
  last_running_ = index;
  ++num_running_;
}

inline void Scheduler::unlink(SlotIndex index) {
  const Slot& slot = slots_[index];
  RIDGELINE_CHECK(num_running_ > 0, "running list: a request leaves an empty list");
  RIDGELINE_CHECK((slot.previous == kNoSlot ? first_running_ : slots_[slot.previous].next) == index,
                  "running list: neighbours name each other");
  (slot.previous == kNoSlot ? first_running_ : slots_[slot.previous].next) = slot.next;
  (slot.next == kNoSlot ? last_running_ : slots_[slot.next].previous) = slot.previous;
  --num_running_;
}

/// Gives back the blocks of a request.
inline void Scheduler::release(SlotIndex index,
                               std::int64_t blocks,
                               std::int64_t keyed,
                               bool comes_back) {
  Slot& slot = slots_[index];
  RIDGELINE_CHECK(has_blocks(slot), "scheduler: only a running request holds blocks");
  if (slot.table.own) {
    cache_.release_own(slot.table, index, blocks, keyed, own_content(slot), comes_back);
  } else {
    release_shared(index, blocks, keyed);
  }
}

inline void Scheduler::vacate(SlotIndex index) {
  RIDGELINE_CHECK(slots_[index].status != Status::kFree, "slot: a request vacates its slot once");
  if (slots_[index].table.chain != PrefixCache::kNone) {
    cache_.drop_chain(slots_[index].table.chain);
  }
  cache_.abandon_left_blocks(index);
  slots_[index].status = Status::kFree;
  ++slots_[index].generation;
  free_slots_.push_back(index);
}

inline bool Scheduler::fits(const domain::Request& request) const {
  const std::int64_t prompt = request.prompt_tokens.value();
  const std::int64_t most =
      std::min(request.max_tokens.value(), options_.max_model_len.value() - prompt);
  return most >= 1 && blocks_for(prompt + most) <= cache_.num_usable();
}

inline void Scheduler::add(const domain::Request& request, core::SimTime queued, const Leg& leg) {
  if (leg.was_sent_before) [[unlikely]] {
    expect_earlier_attempts();
  }
  const std::int64_t prompt = request.prompt_tokens.value();
  const std::int64_t room = options_.max_model_len.value() - prompt;
  // Without a server, that refuses it, a prompt that leaves no room gets one token.
  const std::int64_t most = std::min(request.max_tokens.value(), std::max<std::int64_t>(room, 1));
  RIDGELINE_CHECK(prompt >= 1 && most >= 1, "scheduler: a request in the queue fits alone");
  Waiting& entry = waiting_.extend();
  entry.slot = kNoSlot;
  entry.chain = PrefixCache::kNone;
  entry.id = request.id;
  entry.lora = request.lora;
  entry.label_set = request.label_set;
  entry.arrival = request.arrival;
  entry.queued = queued;
  entry.leg = leg;
  num_reporting_ += leg.loads || leg.reports_steps ? 1 : 0;
  entry.prompt_tokens = prompt;
  entry.stop_after = std::min(request.output_tokens.value(), most);
  entry.outcome_at_stop = room < std::min(request.output_tokens.value(), request.max_tokens.value())
                              ? domain::Outcome::kLengthCapped
                              : domain::Outcome::kFinished;
  // With asynchronous scheduling, the batch after a request's last token is formed before that
  // token is known. The request is in that batch unless the scheduler can foresee its end.
  const bool foreseen = look_ahead_ && entry.stop_after == most;
  entry.in_extra_batch = async_ && !foreseen && prompt + entry.stop_after <= length_cap_;
  if (options_.enable_prefix_caching && !request.prompt.empty()) {
    assign_chain(request, entry);
  }
}

}  // namespace ridgeline::engine::vllm::fast
