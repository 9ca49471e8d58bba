#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/options.hpp"
#include "engine/vllm/plain/block_hashes.hpp"
#include "engine/vllm/plain/block_tables.hpp"
#include "engine/vllm/plain/content.hpp"
#include "engine/vllm/plain/kv_cache.hpp"

namespace ridgeline::engine::vllm::plain {

enum class Status : std::uint8_t {
  kWaiting,
  kLoading,  ///< Holds blocks into which another engine's KV is being written.
  kRunning,
  kPreempted,
  kFinished
};

/// Below every number of tokens.
inline constexpr std::int64_t kNotQuiet = std::numeric_limits<std::int64_t>::min();

/// What a processor fetches at a time.
inline constexpr std::size_t kCacheLine = 64;

/// A request inside the engine. The names follow vLLM's. What every step looks at comes first, in
/// one cache line, and then what it looks at where there is more to do than a token.
struct alignas(kCacheLine) Sequence {
  Sequence(const domain::Request& request, core::Tokens max_model_len);

  std::int64_t num_computed_tokens = 0;  ///< KV there, or will be once the steps in flight end.
  /// With fewer tokens computed than this, the next step of it is one token, sampled, for which the
  /// block is there, and which fills none (Scheduler::quiet_until).
  std::int64_t quiet_until = kNotQuiet;
  std::int64_t num_placeholders = 0;      ///< Sampled by steps in flight: not known yet.
  std::int64_t num_in_flight_tokens = 0;  ///< Scheduled by steps that have not ended.
  std::int64_t num_output_tokens = 0;     ///< Generated and known to the scheduler.
  core::SimTime last_token = core::SimTime::never();
  std::int64_t num_prompt_tokens = 0;
  std::int64_t stop_after = 0;       ///< Output tokens after which it ends.
  std::int64_t num_drafts = 0;       ///< Proposed for the next step.
  std::int64_t num_lost_tokens = 0;  ///< Delivered, and then computed again: it was preempted.
  std::int64_t max_tokens = 0;       ///< The client's limit.
  std::int64_t prefill_end = 0;      ///< Tokens known at its admission: up to here it is prefill.
  Status status = Status::kWaiting;
  std::int32_t priority = 0;
  core::LoraId lora;
  BlockTables blocks;
  TokenSequence tokens;
  BlockHashes block_hashes;            ///< Of all full blocks of known tokens.
  std::int64_t num_hashes_made = 0;    ///< Of those, as many as vLLM 0.8 has made so far.
  domain::RequestRecord record;        ///< Complete once the request has ended.
  std::int64_t max_output_tokens = 0;  ///< What the scheduler knows of stop_after: its limit.
  domain::Outcome outcome_at_stop = domain::Outcome::kFinished;
  std::int64_t num_verifications = 0;  ///< Steps so far that held drafts of it.
  std::int64_t num_remote_tokens =
      0;                       ///< Leading prompt tokens whose KV another engine hands over.
  bool loads_remote = false;   ///< That KV takes time to arrive: the request waits for it.
  bool remote_arrived = true;  ///< Nothing of it is on the way.

  [[nodiscard]] bool is_quiet() const { return num_computed_tokens < quiet_until; }
  [[nodiscard]] std::int64_t num_tokens() const { return num_prompt_tokens + num_output_tokens; }
  /// Tokens that the client has got.
  [[nodiscard]] std::int64_t num_delivered_tokens() const {
    return std::min(num_output_tokens + num_lost_tokens, stop_after);
  }
  /// Completes the record.
  void end(domain::Outcome outcome);
};
using SequencePtr = std::shared_ptr<Sequence>;

/// One request's part of a step.
struct ScheduledSequence {
  Sequence* sequence = nullptr;          ///< Lives until the step has ended (Scheduler::update).
  std::int64_t num_computed_tokens = 0;  ///< Before the step.
  std::int64_t num_scheduled_tokens = 0;
  std::int32_t num_drafts = 0;  ///< Of the scheduled tokens, drafts to be verified.
  bool is_prefill = false;
  bool samples = false;   ///< Its last known token is processed: at least one token comes out.
  bool is_plain = false;  ///< One token and one sampled, by a request that has sampled before.

  /// One token after those of the prompt, and no drafts.
  [[nodiscard]] bool is_decode() const { return !is_prefill && num_drafts == 0; }
};

/// The requests of a step, in order, and what of them a step-time model asks for: the sums over its
/// decodes. Its memory is used again: a request per step and token passes through here.
class ScheduledStep {
 public:
  using Iterator = std::vector<ScheduledSequence>::iterator;

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] auto begin() const { return places_.begin(); }
  [[nodiscard]] auto end() const { return begin() + static_cast<std::ptrdiff_t>(size_); }
  [[nodiscard]] Iterator begin() { return places_.begin(); }
  [[nodiscard]] Iterator end() { return begin() + static_cast<std::ptrdiff_t>(size_); }
  [[nodiscard]] const ScheduledSequence& operator[](std::size_t i) const { return places_[i]; }

  [[nodiscard]] std::int64_t num_decodes() const { return num_decodes_; }
  /// Tokens that its decodes had computed before.
  [[nodiscard]] std::int64_t decode_context() const { return decode_context_; }

  /// Each sequence before this place decodes.
  [[nodiscard]] Iterator first_other() {
    return begin() + static_cast<std::ptrdiff_t>(std::min(first_other_, size_));
  }

  void clear() {
    size_ = 0;
    first_other_ = kNowhere;
    num_decodes_ = 0;
    decode_context_ = 0;
  }
  void add(const ScheduledSequence& one) {
    room(1).front() = one;
    first_other_ = one.is_decode() ? first_other_ : std::min(first_other_, size_);
    ++size_;
    count(one, 1);
  }
  /// So many places behind the last request, for add_decodes().
  [[nodiscard]] std::span<ScheduledSequence> room(std::size_t places) {
    if (places_.size() < size_ + places) [[unlikely]] {
      grow(size_ + places);
    }
    return std::span(places_).subspan(size_, places);
  }
  /// Adds the sequences in the first `count` places of the room: decodes, with that many tokens
  /// computed before by all of them.
  void add_decodes(std::size_t count, std::int64_t context) {
    size_ += count;
    num_decodes_ += static_cast<std::int64_t>(count);
    decode_context_ += context;
  }
  void erase(Iterator one) {
    count(*one, -1);
    std::move(one + 1, end(), one);
    --size_;
    first_other_ = 0;
  }

 private:
  static constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();

  void grow(std::size_t places);
  void count(const ScheduledSequence& one, std::int64_t times) {
    if (one.is_decode()) {
      num_decodes_ += times;
      decode_context_ += times * one.num_computed_tokens;
    }
  }

  std::vector<ScheduledSequence> places_;  ///< As many as were ever needed.
  std::size_t size_ = 0;                   ///< Of those, from the first, taken.
  std::size_t first_other_ = kNowhere;
  std::int64_t num_decodes_ = 0;
  std::int64_t decode_context_ = 0;
};

/// What the prefix cache was asked and gave, as vLLM counts it.
struct PrefixStatistics {
  std::int64_t requests = 0;
  std::int64_t queries = 0;
  std::int64_t hits = 0;
  std::int64_t preempted_requests = 0;
  std::int64_t preempted_queries = 0;
  std::int64_t preempted_hits = 0;
};

/// vLLM V1's scheduler over the KV cache, decision for decision (docs/internals/engine.md).
class Scheduler {
 public:
  explicit Scheduler(const EngineOptions& options);

  void add(const SequencePtr& sequence);
  /// The client has gone: the request ends at once and gives its blocks back.
  void abort(const SequencePtr& sequence);
  /// The KV that the request waits for is there.
  void finish_remote_load(const SequencePtr& sequence);
  /// Forgets what the prefix cache holds; refused while a request holds a block.
  bool reset_prefix_cache() { return manager_.reset_prefix_cache(); }
  /// Forms one step: running requests first, then waiting ones unless a request was preempted.
  /// `step` is overwritten; its memory is used again.
  void schedule(ScheduledStep& step);
  /// The tokens of a step are there at `now`: for each of its requests, in order, how many came out
  /// (only looked at where drafts were verified: else it is one). The gaps before them are added to
  /// `gaps`, runs of equal ones together. Returns the requests that ended with it, in order.
  std::vector<SequencePtr> update(const ScheduledStep& step,
                                  std::span<const std::int64_t> tokens,
                                  core::SimTime now,
                                  std::vector<domain::TokenGaps>& gaps);
  /// Everything still inside, in order of the queues; the scheduler forgets it.
  std::vector<SequencePtr> drain();

  /// Whether the request could run alone on an empty cache, up to its token limit.
  [[nodiscard]] bool can_ever_run(const Sequence& sequence) const;

  [[nodiscard]] const KvCache& kv_cache() const { return manager_.pool(); }
  [[nodiscard]] const std::vector<SequencePtr>& running() const { return running_; }
  /// Requests passed over first, then the queue.
  [[nodiscard]] std::vector<SequencePtr> waiting() const;
  [[nodiscard]] std::int64_t num_running() const {
    return static_cast<std::int64_t>(running_.size());
  }
  /// Sum of the prompt lengths of the waiting requests.
  [[nodiscard]] core::Tokens queued_prompt_tokens() const;
  /// As Engine::cached_prefix().
  [[nodiscard]] core::Tokens cached_prefix(const domain::Request& request) const;
  [[nodiscard]] std::int64_t num_waiting() const {
    return static_cast<std::int64_t>(waiting_.size() + skipped_.size());
  }
  [[nodiscard]] std::int64_t num_passed_over() const {
    return static_cast<std::int64_t>(skipped_.size());
  }
  /// The request that runs or waits under that id; null if there is none.
  [[nodiscard]] SequencePtr find(core::RequestId id) const;
  /// The requests that the last schedule() preempted, in order.
  [[nodiscard]] const std::vector<SequencePtr>& preempted() const { return preempted_; }
  [[nodiscard]] std::int64_t num_preemptions() const { return num_preemptions_; }
  [[nodiscard]] const PrefixStatistics& prefix_statistics() const { return statistics_; }

 private:
  using Queue = std::deque<SequencePtr>;
  enum class Verdict : std::uint8_t { kAdmitted, kSkipped, kBlocked };
  /// What a waiting request would get.
  struct Admission {
    CachedPrefix prefix;
    bool looked_up = false;
    std::int64_t cached = 0;  ///< Tokens that need no computing: found, handed over or loaded.
    std::int64_t tokens = 0;  ///< To compute in this step.
    std::int64_t lookahead = 0;
    bool loads = false;  ///< Gets blocks only, until its KV has arrived.
  };

  /// What became of a victim's part of the step that is being formed.
  struct Withdrawn {
    bool was_scheduled = false;
    std::int64_t computed = 0;  ///< Tokens that count as computed all the same.
  };

  void schedule_running(ScheduledStep& step);
  [[nodiscard]] std::size_t schedule_quiet(ScheduledStep& step, std::size_t from);
  void schedule_waiting(ScheduledStep& step);
  [[nodiscard]] bool has_waiting() const { return !waiting_.empty() || !skipped_.empty(); }
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
  bool cut_to_budget(Admission& admission, const ScheduledStep& step) const;
  void admit(const SequencePtr& sequence, const Admission& admission, ScheduledStep& step);
  void adopt(Sequence& sequence, CachedPrefix prefix);
  void hold_for_load(Sequence& sequence, const Admission& admission);
  void note_adapters(const ScheduledStep& step);
  [[nodiscard]] bool exceeds_lora_cap(const Sequence& sequence) const;
  [[nodiscard]] bool fits(const Sequence& sequence, const Admission& admission) const;
  [[nodiscard]] std::int64_t watermark_blocks() const;
  [[nodiscard]] std::int64_t blocks_of_running_prefills() const;
  void count_lookup(const Sequence& sequence, const CachedPrefix& prefix);
  void preempt(const SequencePtr& victim, std::int64_t computed);
  void push_waiting(Queue& queue, const SequencePtr& sequence, bool front);
  void put(ScheduledStep& step, Sequence& sequence, std::int64_t tokens);
  void take_back(const ScheduledSequence& part) const;
  [[nodiscard]] std::int64_t quiet_until(const Sequence& sequence) const;
  SequencePtr finish(Sequence& sequence);
  [[nodiscard]] std::size_t update_quiet(const ScheduledStep& step,
                                         std::size_t from,
                                         core::SimTime now,
                                         domain::TokenGaps& run) const;
  bool take_tokens(const ScheduledSequence& scheduled,
                   std::int64_t tokens,
                   core::SimTime now,
                   std::vector<domain::TokenGaps>& gaps);
  static void deliver(Sequence& sequence,
                      std::int64_t tokens,
                      core::SimTime now,
                      std::vector<domain::TokenGaps>& gaps);
  void look_again(Sequence& sequence, bool ends);
  bool extend(Sequence& sequence, std::int64_t tokens, std::int64_t lookahead);
  void hash_full_blocks(Sequence& sequence, std::int64_t tokens);
  void extend_hash_chain(Sequence& sequence) const;
  SequencePtr remove(const Sequence& sequence);

  EngineOptions options_;
  bool by_priority_;
  bool loses_results_;          ///< What a preempted request sampled is lost.
  bool waits_for_results_;      ///< Several steps in flight, each of other requests.
  bool foresees_end_;           ///< A request whose last token is in flight is not scheduled again.
  std::int64_t last_position_;  ///< Tokens that a request may compute.
  std::int64_t lookahead_;
  std::int64_t draft_slots_;  ///< Input positions that drafting takes per scheduled request.
  BlockManager manager_;
  Queue waiting_;
  Queue skipped_;  ///< Passed over: waiting for an adapter slot or for KV.
  std::vector<SequencePtr> running_;
  std::vector<SequencePtr> leaving_;    ///< Ended, but still in steps in flight.
  std::vector<core::LoraId> adapters_;  ///< Distinct ones of the step being formed.
  std::int64_t budget_ = 0;             ///< Tokens left in the step being formed.
  std::int64_t input_budget_ = 0;       ///< Input positions left in it.
  std::vector<SequencePtr> preempted_;
  std::int64_t num_preemptions_ = 0;
  PrefixStatistics statistics_;
};

}  // namespace ridgeline::engine::vllm::plain
