#pragma once

#include <cstdint>
#include <limits>

#include "core/buffer.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/step.hpp"
#include "engine/vllm/fast/prefix_cache.hpp"

namespace ridgeline::engine::vllm::fast {

using SlotIndex = std::uint32_t;
inline constexpr SlotIndex kNoSlot = std::numeric_limits<SlotIndex>::max();

enum class Status : std::uint8_t {
  kFree,
  kPreempted,   ///< Back in the queue, with what it has generated.
  kPrefilling,  ///< Running, with tokens known but not computed: its numbers stand in the slot.
  kDecoding,    ///< In every batch; its numbers follow from the batch's.
  kLeaving,     ///< Running, but all that it may compute is computed or in flight.
};

/// A running or preempted request. While it decodes nothing in here changes: in batch m it has
/// base + m tokens computed, and it ends with the batch that FinishRing knows. Slots are reused;
/// `generation` tells one tenant from the next.
struct alignas(64) Slot {
  // What its end in a batch looks at stands in the first cache line.
  std::int64_t base = 0;
  std::int64_t stop_after = 0;   ///< Output tokens after which it ends.
  std::int64_t order = 0;        ///< Ascends along the running list.
  std::int64_t starved_at = -1;  ///< The last batch that had no budget left for its token ...
  std::int64_t begun = 0;    ///< The batch that computed its last known token: it decodes since.
  SlotIndex next = kNoSlot;  ///< In the running list.
  SlotIndex previous = kNoSlot;
  std::uint32_t generation = 0;
  core::LoraId lora;
  Status status = Status::kFree;
  bool wastes = false;  ///< Is in one batch more than it should: its end comes as a surprise.
  std::int64_t prompt_tokens = 0;
  std::int64_t known = 0;     ///< Tokens known, except while it decodes or leaves.
  std::int64_t computed = 0;  ///< While prefilling: KV there, or will be once steps in flight end.
  std::int64_t starved_run = 0;  ///< Batches in a row, up to starved_at, that had no token for it.
  core::SimTime last_token;      ///< Of preempted, resumed and starved requests.
  PrefixCache::Table table;
  /// As it will be when the request has its last token, but for the instants to come: what is
  /// written just before somebody reads the whole makes a processor wait.
  domain::RequestRecord record;

  [[nodiscard]] bool starved_in(std::int64_t batch) const {
    return batch <= starved_at && batch > starved_at - starved_run;
  }
};

/// A request in the queue: whole if it is new, the number of its slot if it was preempted.
struct Waiting {
  SlotIndex slot = kNoSlot;
  PrefixCache::ChainIndex chain = PrefixCache::kNone;  ///< If its prompt can be shared.
  core::RequestId id;
  core::LoraId lora;
  bool wastes = false;
  domain::Outcome outcome_at_stop = domain::Outcome::kFinished;
  core::LabelSetId label_set;
  core::SimTime arrival;
  std::int64_t prompt_tokens = 0;
  core::SimTime queued;
  std::int64_t stop_after = 0;

  static Waiting preempted(SlotIndex slot) {
    Waiting entry;
    entry.slot = slot;
    return entry;
  }
  friend bool operator==(const Waiting& a, const Waiting& b) {
    return a.slot == b.slot && (a.slot != kNoSlot || a.id == b.id);
  }
};

/// A prefill chunk's request, as far as the end of its batch needs it.
struct BatchItem {
  SlotIndex slot = 0;
  std::uint32_t generation = 0;
  bool samples = false;
  bool first = false;        ///< The token will be its first.
  core::SimTime last_token;  ///< The one before, if not.
};

/// A decode that had no token in the batch before: its gap is longer than the others'.
struct ResumedDecode {
  SlotIndex slot = 0;
  core::SimTime last_token;
};

/// A step on its way through the GPU. Buffers are reused.
struct Batch {
  std::int64_t number = 0;
  std::int64_t num_decodes = 0;
  std::int64_t wasted = 0;  ///< Decodes whose token is thrown away.
  bool goes_on = false;     ///< Of a run (fast_engine.cpp): the gaps before are its batches'.
  core::Tokens decode_context;
  core::Tokens shared_context;  ///< domain::StepBatch::shared_context.
  core::SimTime start;
  core::SimTime end;
  core::Buffer<BatchItem> items;
  core::Buffer<domain::PrefillChunk> prefills;
  core::Buffer<core::Tokens> decode_lengths;  ///< Only if the model asks.
  core::Buffer<ResumedDecode> resumed_decodes;

  /// Decodes alone, as many, each with a token for a client, and one in the batch before.
  void set_decodes(std::int64_t its_number, std::int64_t decodes) {
    number = its_number;
    num_decodes = decodes;
    wasted = 0;
    items.clear();
    prefills.clear();
    resumed_decodes.clear();
  }
  [[nodiscard]] domain::StepBatch view() const {
    return {.num_decodes = num_decodes,
            .decode_context = decode_context,
            .shared_context = shared_context,
            .decode_lengths = decode_lengths.span(),
            .prefills = prefills.span()};
  }
};

}  // namespace ridgeline::engine::vllm::fast
