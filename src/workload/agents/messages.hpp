#pragma once

#include <cstdint>
#include <vector>

#include "workload/agents/chains.hpp"
#include "workload/agents/conversations.hpp"

namespace ridgeline::workload::agents {

/// The messages of each turn of a conversation: of the blocks that a turn adds, the first are the
/// recorded answer of the turn before, the rest is the user's. Where a turn takes back what earlier
/// ones said, the whole chat is sent again.
[[nodiscard]] std::vector<TurnMessages> messages_of(const std::vector<Placed>& requests,
                                                    std::int64_t block_size,
                                                    std::int64_t prefix_blocks);

}  // namespace ridgeline::workload::agents
