#pragma once

#include "core/rng.hpp"
#include "engine/sglang/options.hpp"
#include "engine/sglang/radix_cache.hpp"
#include "engine/sglang/request.hpp"

namespace ridgeline::engine::sglang {

/// Puts the waiting queue in the order of the schedule policy (SchedulePolicy.calc_priority).
/// Policies that look at the cache count as accesses to it; `tree` is nullptr where it is off.
void sort_waiting(WaitingQueue& waiting,
                  const Options& options,
                  RadixCache* tree,
                  core::RngStream& draws);

/// How much better the priority of `a` is than that of `b`, in the sense of the options.
[[nodiscard]] std::int64_t priority_lead(const Sequence& a,
                                         const Sequence& b,
                                         const Options& options);

}  // namespace ridgeline::engine::sglang
