#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/options.hpp"
#include "engine/reference/content.hpp"
#include "engine/reference/kv_cache.hpp"

namespace ridgeline::engine::reference {

enum class Status : std::uint8_t { kWaiting, kRunning, kPreempted, kFinished };

/// A request inside the engine. The names follow vLLM's.
struct Sequence {
  Sequence(const domain::Request& request, core::Tokens max_model_len);

  TokenSequence tokens;
  domain::RequestRecord record;
  Status status = Status::kWaiting;
  std::int64_t num_prompt_tokens = 0;
  std::int64_t num_output_tokens = 0;     ///< Generated and known to the scheduler.
  std::int64_t num_computed_tokens = 0;   ///< KV there, or will be once the steps in flight end.
  std::int64_t num_placeholders = 0;      ///< Sampled by steps in flight: not known yet.
  std::int64_t prefill_end = 0;           ///< Tokens known at its admission: up to here it is prefill.
  std::int64_t stop_after = 0;            ///< Output tokens after which it ends.
  std::int64_t max_output_tokens = 0;     ///< What the scheduler knows of that: its limit.
  domain::Outcome outcome_at_stop = domain::Outcome::kFinished;
  std::vector<core::BlockId> blocks;
  std::vector<std::uint64_t> block_hashes;  ///< Of all full blocks of known tokens.
  std::int64_t num_hashed_blocks = 0;       ///< Of `blocks`, entered into the prefix cache.

  [[nodiscard]] std::int64_t num_tokens() const { return num_prompt_tokens + num_output_tokens; }
};

/// One request's part of a step.
struct ScheduledSequence {
  std::shared_ptr<Sequence> sequence;
  std::int64_t num_computed_tokens = 0;  ///< Before the step.
  std::int64_t num_scheduled_tokens = 0;
  bool is_prefill = false;
  bool samples = false;  ///< Its last known token is processed: a token comes out.
};
using ScheduledStep = std::vector<ScheduledSequence>;

/// vLLM V1's scheduler over the KV cache, decision for decision (docs/internals/engine.md).
class Scheduler {
 public:
  explicit Scheduler(const EngineOptions& options);

  void add(std::shared_ptr<Sequence> sequence);
  /// Forms one step: running requests first, then waiting ones unless somebody was preempted.
  ScheduledStep schedule();
  /// The tokens of a step are there. Returns the requests that ended with it, in order.
  std::vector<std::shared_ptr<Sequence>> update(const ScheduledStep& step);
  /// Everything still inside, in order of the queues; the scheduler forgets it.
  std::vector<std::shared_ptr<Sequence>> drain();

  /// Whether the request could run alone on an empty cache, up to its token limit.
  [[nodiscard]] bool can_ever_run(const Sequence& sequence) const;

  [[nodiscard]] const KvCache& kv_cache() const { return kv_; }
  [[nodiscard]] std::int64_t num_running() const { return static_cast<std::int64_t>(running_.size()); }
  [[nodiscard]] std::int64_t num_waiting() const { return static_cast<std::int64_t>(waiting_.size()); }
  [[nodiscard]] std::int64_t num_preemptions() const { return num_preemptions_; }
  [[nodiscard]] std::int64_t prefix_queries() const { return prefix_queries_; }
  [[nodiscard]] std::int64_t prefix_hits() const { return prefix_hits_; }
  [[nodiscard]] bool preempted_in_last_call() const { return preempted_; }

 private:
  void schedule_running(ScheduledStep& step, std::int64_t& budget);
  void schedule_waiting(ScheduledStep& step, std::int64_t& budget);
  bool admit_head(ScheduledStep& step, std::int64_t& budget);
  void preempt_last();
  void record_scheduled(ScheduledStep& step,
                        const std::shared_ptr<Sequence>& sequence,
                        std::int64_t tokens);
  void advance_computed(ScheduledStep& step);

  [[nodiscard]] std::int64_t blocks_for(std::int64_t tokens) const;
  bool extend(Sequence& sequence, std::int64_t tokens);
  void hash_full_blocks(Sequence& sequence, std::int64_t tokens);
  void extend_hash_chain(Sequence& sequence) const;
  void free(Sequence& sequence);

  EngineOptions options_;
  KvCache kv_;
  std::deque<std::shared_ptr<Sequence>> waiting_;
  std::vector<std::shared_ptr<Sequence>> running_;
  bool preempted_ = false;
  std::int64_t num_preemptions_ = 0;
  std::int64_t prefix_queries_ = 0;
  std::int64_t prefix_hits_ = 0;
};

}  // namespace ridgeline::engine::reference
