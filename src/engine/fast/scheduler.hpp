#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/ring.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "domain/step.hpp"
#include "engine/fast/content_keys.hpp"
#include "engine/fast/kv_pool.hpp"
#include "engine/options.hpp"

namespace ridgeline::engine::fast {

enum class Status : std::uint8_t { kFree, kWaiting, kRunning, kPreempted };

/// A request inside the engine. Slots are reused; `generation` tells one tenant from the next. What
/// a decode step touches stands first, in two cache lines.
struct alignas(64) Slot {
  std::int64_t prompt_tokens = 0;
  std::int64_t output_tokens = 0;    ///< Generated and known.
  std::int64_t computed_tokens = 0;  ///< KV there, or will be once the steps in flight end.
  std::int64_t block_limit = 0;      ///< Tokens that the blocks held have room for.
  std::int64_t key_limit = 0;        ///< Known tokens at which one more block can be keyed.
  std::int64_t stop_after = 0;       ///< Output tokens after which it ends.
  std::int64_t max_output_tokens = 0;
  core::SimTime last_token;
  std::int64_t prefill_end = 0;     ///< Tokens known at its admission.
  std::int64_t decoding_since = 0;  ///< First of the unbroken row of batches that decode it.
  std::int64_t last_batch = -1;     ///< Number of the last batch that has it.
  std::int32_t placeholders = 0;    ///< Sampled by steps in flight.
  std::uint32_t generation = 0;
  Status status = Status::kFree;
  domain::Outcome outcome_at_stop = domain::Outcome::kFinished;

  std::vector<KvPool::Block> blocks;
  std::int64_t num_keyed_blocks = 0;  ///< Of `blocks`, findable in the prefix cache.
  ContentKeys keys;                   ///< Stands behind the last keyed block.
  std::vector<domain::Segment> prompt;
  domain::RequestRecord record;  ///< Its output_tokens and last_token are filled in at the end.

  [[nodiscard]] std::int64_t known_tokens() const { return prompt_tokens + output_tokens; }
};

using SlotIndex = std::uint32_t;

/// One request's part of a batch, as far as its end needs it.
struct BatchItem {
  SlotIndex slot = 0;
  std::uint32_t generation = 0;
  bool samples = false;
};

/// A step on its way through the GPU. Buffers are reused.
struct Batch {
  std::int64_t number = 0;
  std::vector<BatchItem> items;
  std::vector<domain::PrefillChunk> prefills;
  std::vector<core::Tokens> decode_lengths;  ///< Only if the model asks.
  std::int64_t num_decodes = 0;
  core::Tokens decode_context;
  core::SimTime start;
  core::SimTime end;

  [[nodiscard]] domain::StepBatch view() const {
    return {.num_decodes = num_decodes,
            .decode_context = decode_context,
            .decode_lengths = decode_lengths,
            .prefills = prefills};
  }
};

/// The scheduler of the fast twin: reference::Scheduler's decisions on flat state, and runs of
/// decode-only batches at once.
class Scheduler {
 public:
  Scheduler(const EngineOptions& options, bool keep_decode_lengths);

  /// Takes a request in, or returns the record of its refusal.
  std::optional<domain::RequestRecord> add(const domain::Request& request, core::SimTime queued);
  /// Forms a batch at `now` into `batch`; false if there is nothing to do.
  bool schedule(Batch& batch, core::SimTime now);
  /// The tokens of a batch are there at `now`. Reports gaps and ended requests; returns how many
  /// ended.
  std::int64_t update(const Batch& batch, core::SimTime now, domain::RecordSink& sink);
  void drain(domain::RecordSink& sink);

  /// How many further batches, beyond those in flight (numbers `oldest` to the newest), repeat the
  /// newest one exactly; all its requests must have had a token at `now`. Zero if in doubt. KV
  /// blocks are not considered.
  [[nodiscard]] std::int64_t repeatable_batches(std::int64_t oldest, core::SimTime now) const;
  /// Takes `count` such batches: their tokens are known up to `last_token`, the ones in flight move
  /// on. `on_block(i)` is called for each block taken at the i-th of them, from 1.
  template <class OnBlock>
  void jump(std::int64_t count, core::SimTime last_token, OnBlock on_block);
  /// The largest count up to `most` whose blocks are free.
  [[nodiscard]] std::int64_t batches_with_blocks(std::int64_t most) const;

  [[nodiscard]] const KvPool& pool() const { return pool_; }
  [[nodiscard]] std::int64_t num_running() const {
    return static_cast<std::int64_t>(running_.size());
  }
  [[nodiscard]] std::int64_t num_waiting() const {
    return static_cast<std::int64_t>(waiting_.size());
  }
  [[nodiscard]] std::int64_t num_batches() const { return num_batches_; }
  [[nodiscard]] std::int64_t num_preemptions() const { return num_preemptions_; }
  [[nodiscard]] std::int64_t prefix_queries() const { return prefix_queries_; }
  [[nodiscard]] std::int64_t prefix_hits() const { return prefix_hits_; }
  [[nodiscard]] bool preempted_in_last_call() const { return preempted_; }
  /// Running requests that had a token in the last update().
  [[nodiscard]] std::int64_t num_delivered() const { return delivered_; }

 private:
  void schedule_running(Batch& batch, std::int64_t& budget);
  void schedule_waiting(Batch& batch, std::int64_t& budget, core::SimTime now);
  enum class Verdict : std::uint8_t { kAdmitted, kSkipped, kBlocked };
  Verdict try_admit(SlotIndex index, Batch& batch, std::int64_t& budget, core::SimTime now);
  [[nodiscard]] bool counts_lookup(const Slot& slot) const;
  void count_lookup(const Slot& slot, std::int64_t hit_blocks);
  void preempt_last();
  void put(Batch& batch, SlotIndex index, std::int64_t tokens);
  bool extend(Slot& slot, std::int64_t tokens);
  void take_block(Slot& slot) {
    slot.blocks.push_back(pool_.allocate());
    slot.block_limit += block_size_;
  }
  void key_full_blocks(Slot& slot, std::int64_t tokens);
  void find_cached_prefix(Slot& slot);
  void release_blocks(Slot& slot);
  void finish(SlotIndex index, domain::RecordSink& sink);
  SlotIndex take_slot();
  [[nodiscard]] std::int64_t blocks_for(std::int64_t tokens) const {
    return (tokens + block_size_ - 1) / block_size_;
  }

  EngineOptions options_;
  std::int64_t block_size_;
  std::int64_t watermark_blocks_;
  bool look_ahead_;
  bool whole_prompts_;       ///< Prompts are not cut.
  std::int64_t length_cap_;  ///< Tokens that a request may compute.
  bool frees_in_order_;
  bool keep_decode_lengths_;
  KvPool pool_;
  std::vector<Slot> slots_;
  std::vector<SlotIndex> free_slots_;
  std::vector<SlotIndex> running_;
  core::Ring<SlotIndex> waiting_;
  std::vector<KvPool::Block> hit_;  ///< Scratch: the cached prefix of the request being admitted.
  bool preempted_ = false;
  std::vector<SlotIndex> passed_over_;  ///< By the last call, in order; they are back in the queue.
  bool head_blocked_ = false;  ///< The waiting head was tried in the last call and did not fit.
  bool head_had_hit_ = false;
  std::int64_t head_lookup_ = 0;  ///< Tokens that trying it counted.
  std::int64_t delivered_ = 0;
  std::int64_t num_batches_ = 0;
  std::int64_t num_preemptions_ = 0;
  std::int64_t prefix_queries_ = 0;
  std::int64_t prefix_hits_ = 0;
};

template <class OnBlock>
void Scheduler::jump(std::int64_t count, core::SimTime last_token, OnBlock on_block) {
  for (const SlotIndex index : running_) {
    Slot& slot = slots_[index];
    // The i-th batch processes the token at position computed + i - 1 and needs a block where one
    // begins.
    for (std::int64_t i = slot.block_limit - slot.computed_tokens + 1; i <= count;
         i += block_size_) {
      take_block(slot);
      on_block(i);
    }
    slot.output_tokens += count;
    slot.computed_tokens += count;
    slot.last_token = last_token;
    slot.last_batch += count;
    key_full_blocks(slot, slot.computed_tokens);
  }
  num_batches_ += count;
  prefix_queries_ += head_blocked_ ? head_lookup_ * count : 0;
}

}  // namespace ridgeline::engine::fast
