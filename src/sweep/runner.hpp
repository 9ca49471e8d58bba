#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>

#include "core/result.hpp"
#include "sweep/measure.hpp"
#include "sweep/row.hpp"
#include "sweep/shard.hpp"
#include "sweep/shard_file.hpp"
#include "sweep/store.hpp"
#include "sweep/sweep.hpp"

namespace ridgeline::sweep {

/// How far a process is with its shard.
struct Tally {
  std::int64_t points = 0;                             ///< Points of the shard.
  std::int64_t found = 0;                              ///< Points in the store when it began.
  std::int64_t done = 0;                               ///< Points computed since.
  std::array<std::int64_t, kNumStatuses> by_status{};  ///< `done` by status.
};

struct RunnerOptions {
  Shard shard = {};
  std::int64_t jobs = 1;  ///< Points at a time, each on a thread.
  Clock clock;
  /// Called after every point, by one thread at a time.
  std::function<void(const Tally&)> progress = {};
};

/// Measures the points of a shard that the store lacks, and appends each result to a file of this
/// process. Which thread takes which point changes nothing. When `interrupt` is set, points that
/// are under way are given up, and the store is whole. Fails where the store cannot be written.
[[nodiscard]] core::Result<Tally> run_shard(const Sweep& sweep,
                                            const Measure& measure,
                                            const Store& store,
                                            const RunnerOptions& options,
                                            const std::atomic<bool>& interrupt);

}  // namespace ridgeline::sweep
