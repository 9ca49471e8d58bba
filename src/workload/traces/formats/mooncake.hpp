#pragma once

#include <vector>

#include "core/units.hpp"
#include "domain/request.hpp"
#include "workload/traces/reading/fields.hpp"
#include "workload/traces/reading/json_cursor.hpp"

namespace ridgeline::workload {

/// The block of Mooncake's hash ids (FAST25-release/README: "512 tokens").
inline constexpr core::Tokens kMooncakeBlock{512};

/// The block of the hash ids of Alibaba's traces (github.com/alibaba-edu/qwen-bailian-usagetraces).
inline constexpr core::Tokens kBailianBlock{16};

/// Reads a list of hash ids as segments of whole blocks.
bool read_hash_ids(JsonCursor& json,
                   std::vector<domain::Segment>& prompt,
                   core::Tokens block = kMooncakeBlock);

/// Cuts the last block to what the prompt has; more ids than blocks are a problem.
bool fit_hash_ids(const TraceLine& line,
                  core::Tokens input_tokens,
                  std::vector<domain::Segment>& prompt,
                  core::Tokens block = kMooncakeBlock);

}  // namespace ridgeline::workload
