#pragma once

#include <cstdint>

#include "scenario/deployment.hpp"

/// What the KV cache of a deployment holds.
namespace ridgeline::scenario {

/// Tokens that the cache holds of sequences that every group keeps whole.
[[nodiscard]] std::int64_t held_tokens(const Deployment& deployment);
/// Blocks of one request of max_model_len.
[[nodiscard]] std::int64_t blocks_of_longest(const Deployment& deployment);
/// Requests of max_model_len that the cache holds at once, as vLLM's log counts ("Maximum
/// concurrency").
[[nodiscard]] double requests_of_longest(const Deployment& deployment);
/// "GPU KV cache size" of vLLM's log: the tokens of those requests.
[[nodiscard]] std::int64_t logged_tokens(const Deployment& deployment);
/// Whether that number changes with max_model_len: where a request keeps less than all its tokens.
[[nodiscard]] bool depends_on_longest(const Deployment& deployment);

}  // namespace ridgeline::scenario
