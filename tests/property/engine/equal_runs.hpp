#pragma once

#include <cstddef>

#include <rapidcheck.h>

#include "support/drive.hpp"

namespace ridgeline::test {

/// Two runs of one scenario: equal request by request, gap by gap, step by step and in every total.
inline void expect_equal(const EngineRun& reference, const EngineRun& other) {
  RC_ASSERT(reference.sink.requests.size() == other.sink.requests.size());
  for (std::size_t i = 0; i < reference.sink.requests.size(); ++i) {
    RC_ASSERT(reference.sink.requests[i] == other.sink.requests[i]);
  }
  RC_ASSERT(reference.sink.gaps == other.sink.gaps);
  RC_ASSERT(reference.sink.steps.size() == other.sink.steps.size());
  for (std::size_t i = 0; i < reference.sink.steps.size(); ++i) {
    const auto& a = reference.sink.steps[i];
    const auto& b = other.sink.steps[i];
    RC_ASSERT(a.first_step == b.first_step);
    RC_ASSERT(a.start == b.start);
    RC_ASSERT(a.period == b.period);
    RC_ASSERT(a.num_decodes == b.num_decodes);
    RC_ASSERT(a.decode_context == b.decode_context);
    RC_ASSERT(a.prefill_tokens == b.prefill_tokens);
    RC_ASSERT(a.time == b.time);
  }
  RC_ASSERT(reference.end == other.end);
  RC_ASSERT(reference.totals.steps == other.totals.steps);
  RC_ASSERT(reference.totals.preemptions == other.totals.preemptions);
  RC_ASSERT(reference.totals.step_time == other.totals.step_time);
  RC_ASSERT(reference.totals.busy == other.totals.busy);
  RC_ASSERT(reference.totals.prefix_queries == other.totals.prefix_queries);
  RC_ASSERT(reference.totals.prefix_hits == other.totals.prefix_hits);
  RC_ASSERT(reference.totals.peak_used_blocks == other.totals.peak_used_blocks);
  RC_ASSERT(reference.totals.used_block_seconds == other.totals.used_block_seconds);
}

}  // namespace ridgeline::test
