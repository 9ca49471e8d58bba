#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "core/buffer.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/step.hpp"
#include "engine/leg.hpp"
#include "engine/vllm/fast/prefix_cache.hpp"

namespace ridgeline::engine::vllm::fast {

using SlotIndex = std::uint32_t;
inline constexpr SlotIndex kNoSlot = std::numeric_limits<SlotIndex>::max();

enum class Status : std::uint8_t {
  kFree,
  kPreempted,   ///< In the queue; keeps the tokens that it has generated.
  kLoading,     ///< Holds blocks into which another engine's KV is being written, without a seat.
  kLoaded,      ///< Holds the blocks with that KV, and waits for a seat.
  kHolding,     ///< Has ended; another engine reads its blocks.
  kPrefilling,  ///< Running; has known tokens that are not computed. Its numbers are in the slot.
  kDecoding,    ///< Running, in every batch. Its numbers follow from the batch's number.
  kLeaving,     ///< Running; all that it may compute is computed or in flight.
};

/// A running or preempted request. While it decodes its slot does not change: in batch m it has
/// base + m tokens computed, and it ends with the batch that FinishRing knows. Slots are reused;
/// `generation` tells the requests of one slot apart.
struct alignas(64) Slot {
  // The members that the end of a request reads stand in the first cache line.
  std::int64_t base = 0;
  std::int64_t stop_after = 0;           ///< Output tokens after which it ends.
  std::int64_t order = 0;                ///< Ascends along the running list.
  std::int64_t last_skipped_batch = -1;  ///< The last batch whose budget had no token for it.
  std::int64_t begun = 0;    ///< The batch that computed its last known token; it decodes since.
  SlotIndex next = kNoSlot;  ///< In the running list.
  SlotIndex previous = kNoSlot;
  std::uint32_t generation = 0;
  core::LoraId lora;
  Status status = Status::kFree;
  /// It is in one batch after its last token; that batch's token is wasted.
  bool in_extra_batch = false;
  bool holds_blocks = false;   ///< Leg::holds_blocks.
  bool reports_steps = false;  ///< Leg::reports_steps.
  std::int64_t prompt_tokens = 0;
  std::int64_t known = 0;     ///< Tokens known; not kept up while it decodes or leaves.
  std::int64_t computed = 0;  ///< While it computes its prompt: tokens computed or in flight.
  std::int64_t loaded = 0;    ///< For a request that loads: tokens with KV once it is there.
  /// The blocks that it holds at least: those that it got for KV of another engine, or that are
  /// read after its end. Other blocks follow from its tokens.
  std::int64_t least_blocks = 0;
  /// The number of batches in a row, up to last_skipped_batch, that skipped it.
  std::int64_t batches_skipped = 0;
  core::SimTime last_token;  ///< Set while it is preempted, resumed or skipped.
  PrefixCache::Table table;
  /// The record as it will be at the request's last token, without the later instants. It is filled
  /// at admission: a store just before the whole record is read would stall the processor.
  domain::RequestRecord record;

  [[nodiscard]] bool skipped_in(std::int64_t batch) const {
    return batch <= last_skipped_batch && batch > last_skipped_batch - batches_skipped;
  }
};

/// An entry of the queue: a whole request if it is new, the number of its slot if it was preempted.
struct Waiting {
  SlotIndex slot = kNoSlot;
  PrefixCache::ChainIndex chain = PrefixCache::kNone;  ///< Chain of a prompt that can be shared.
  core::RequestId id;
  core::LoraId lora;
  bool in_extra_batch = false;
  domain::Outcome outcome_at_stop = domain::Outcome::kFinished;
  core::LabelSetId label_set;
  core::SimTime arrival;
  std::int64_t prompt_tokens = 0;
  core::SimTime queued;
  std::int64_t stop_after = 0;
  Leg leg;

  static Waiting preempted(SlotIndex slot) {
    Waiting entry;
    entry.slot = slot;
    return entry;
  }
  friend bool operator==(const Waiting& a, const Waiting& b) {
    return a.slot == b.slot && (a.slot != kNoSlot || a.id == b.id);
  }
};

/// A request whose KV another engine hands over, from the scheduling that gave it blocks until it
/// runs.
struct Loading {
  Waiting entry;  ///< Its slot holds the blocks; none once it gave them back, to be looked up anew.
  bool is_ready = false;    ///< Nothing is on the way any more: it runs once there is room.
  bool has_failed = false;  ///< What was on the way did not come.
};

/// The request of a prefill chunk, as far as the end of its batch needs it.
struct BatchItem {
  SlotIndex slot = 0;
  std::uint32_t generation = 0;
  bool samples = false;
  bool first = false;        ///< The sampled token is the request's first.
  core::SimTime last_token;  ///< When the token before came, if it is not.
};

/// A decode that the batch before skipped: its gap is longer than the others'.
struct ResumedDecode {
  SlotIndex slot = 0;
  core::SimTime last_token;
};

/// A step in flight or being formed. Its buffers are reused.
struct Batch {
  std::int64_t number = 0;
  std::int64_t num_decodes = 0;
  std::int64_t wasted_decodes = 0;  ///< Decodes whose token is thrown away.
  /// It belongs to a run (fast_engine.cpp) whose first batches have ended: its gap continues
  /// theirs.
  bool continues_run = false;
  core::Tokens decode_context;
  core::Tokens shared_context;  ///< domain::StepBatch::shared_context.
  core::SimTime start;
  core::SimTime end;
  core::Buffer<BatchItem> items;
  core::Buffer<domain::PrefillChunk> prefills;
  std::vector<core::Tokens> decode_lengths;  ///< Only if the model needs them.
  core::Buffer<ResumedDecode> resumed_decodes;

  /// Makes this a batch of decodes alone, each with a delivered token and one in the batch before.
  void set_decodes(std::int64_t its_number, std::int64_t decodes) {
    number = its_number;
    num_decodes = decodes;
    wasted_decodes = 0;
    items.clear();
    prefills.clear();
    resumed_decodes.clear();
  }
  [[nodiscard]] domain::StepBatch view() const {
    return {.num_decodes = num_decodes,
            .decode_context = decode_context,
            .shared_context = shared_context,
            .decode_lengths = decode_lengths,
            .prefills = prefills.span()};
  }
};

}  // namespace ridgeline::engine::vllm::fast
