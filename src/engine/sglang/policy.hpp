#pragma once

#include <cstdint>

#include "core/rng.hpp"
#include "engine/sglang/options.hpp"
#include "engine/sglang/radix_cache.hpp"
#include "engine/sglang/request.hpp"

namespace ridgeline::engine::sglang {

/// What the order of the waiting queue follows, beside its requests.
struct SortInputs {
  const Options& options;
  RadixCache* tree;            ///< nullptr where it is off.
  std::int64_t passes_before;  ///< How often the queue was sorted.
  std::int64_t prefilled;      ///< Tokens of prompts that the server has computed.
};

/// Puts the waiting queue in the order of the schedule policy (SchedulePolicy.calc_priority).
/// Policies that look at the cache count as accesses to it; so do others from time to time
/// (Rules::refreshes_waiting).
void sort_waiting(WaitingQueue& waiting, const SortInputs& in, core::RngStream& draws);

/// How much better the priority of `a` is than that of `b`, in the sense of the options.
[[nodiscard]] std::int64_t priority_lead(const Sequence& a,
                                         const Sequence& b,
                                         const Options& options);

}  // namespace ridgeline::engine::sglang
