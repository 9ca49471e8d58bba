#pragma once

#include <cstddef>

#include <rapidcheck.h>

#include "core/units.hpp"
#include "equal_runs.hpp"
#include "support/ranks.hpp"

namespace ridgeline::test {

/// Every rank did the same in both runs.
inline void expect_equal(const RanksRun& a, const RanksRun& b) {
  for (std::size_t rank = 0; rank < a.ranks.size(); ++rank) {
    expect_equal(a.ranks[rank], b.ranks[rank]);
    RC_ASSERT(a.steps[rank].dummy_steps == b.steps[rank].dummy_steps);
    RC_ASSERT(a.steps[rank].waited == b.steps[rank].waited);
    RC_ASSERT(a.last[rank] == b.last[rank]);
  }
}

/// All ranks took the same steps, each request has left one of them, and no block is held.
inline void expect_whole(const RanksRun& run, std::size_t requests) {
  std::size_t left = 0;
  for (std::size_t rank = 0; rank < run.ranks.size(); ++rank) {
    left += run.ranks[rank].sink.requests.size();
    RC_ASSERT(run.ranks[rank].totals.steps == run.ranks.front().totals.steps);
    RC_ASSERT(run.ranks[rank].totals.busy == run.ranks.front().totals.busy);
    RC_ASSERT(run.last[rank].used_blocks == core::Blocks(0));
  }
  RC_ASSERT(left == requests);
}

}  // namespace ridgeline::test
