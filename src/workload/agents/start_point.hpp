#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/time.hpp"
#include "workload/agents/conversations.hpp"

namespace ridgeline::workload::agents {

/// A conversation that goes on from a turn.
struct StreamState {
  std::int32_t conversation = 0;
  std::int32_t next_turn = 0;
  core::Duration offset;  ///< From the start point to the recorded start of that turn.
  bool waits = false;     ///< For conversations that it has started.
  std::optional<std::int32_t> join_turn = {};  ///< The main turn that waits for it.
};

/// Where in a trace a lane begins.
struct StartPoint {
  std::int32_t tree = 0;  ///< Number of the trace.
  double milliseconds = 0.0;
  std::vector<StreamState> streams;  ///< Those that are alive then; the main one first.
  std::vector<std::int32_t> done;    ///< Turns of each conversation that started before.
};

/// A point drawn between two shares of a trace's duration. It depends on nothing but seed, trace
/// and lane: NumPy's default generator, seeded by a hash of them.
[[nodiscard]] StartPoint start_point(const SessionTree& tree,
                                     std::int64_t seed,
                                     std::int32_t lane,
                                     double min_ratio,
                                     double max_ratio);

}  // namespace ridgeline::workload::agents
