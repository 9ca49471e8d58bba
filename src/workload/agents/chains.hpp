#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "workload/agents/trace.hpp"

namespace ridgeline::workload::agents {

/// A request of a list and its place in the trace's entries (of a sub-agent: in its own list).
struct Placed {
  std::int64_t place = 0;
  const TraceRequest* request = nullptr;
};

/// Requests of one agent, in the order in which they were sent.
struct Chain {
  std::string suffix;  ///< "fa:000", "aux:001", "wg:000_002"; empty for the main chain.
  std::vector<Placed> requests;
  std::size_t num_peeled = 0;  ///< First ones that are no part of the agent's talk: a title.
};

/// Leading blocks that two prompts have in common.
[[nodiscard]] std::size_t common_blocks(const Blocks& a, const Blocks& b);

/// Takes a flat list in which several agents were recorded apart, the main chain first and the
/// others by their start. A prompt that goes on from the whole of an earlier one belongs to that
/// one's chain; one that shares only its beginning forks, or goes on where that chain has ended
/// with a context edit in between.
[[nodiscard]] std::vector<Chain> chains_of(const std::vector<Placed>& requests);

}  // namespace ridgeline::workload::agents
