#pragma once

#include <cstdint>

#include "scenario/deployment.hpp"

/// What the KV cache of a deployment holds.
namespace ridgeline::scenario {

/// Tokens that the cache holds of sequences that every group keeps whole.
[[nodiscard]] std::int64_t held_tokens(const Deployment& deployment);
/// Blocks of one request of max_model_len.
[[nodiscard]] std::int64_t blocks_of_longest(const Deployment& deployment);
/// Requests of max_model_len that the cache holds at once; where windows or states count, as vLLM's
/// log counts ("Maximum concurrency"): all blocks, the null block among them.
[[nodiscard]] double requests_of_longest(const Deployment& deployment);
/// "KV cache size" of the engine's log. Of vLLM from 0.21 on max_model_len times its "Maximum
/// concurrency" (`get_kv_cache_capacity`), before it the tokens of every group's share of all
/// blocks.
[[nodiscard]] std::int64_t logged_tokens(const Deployment& deployment);
/// Whether that number changes with max_model_len by more than a block's rest: from 0.21 on, where
/// a request keeps less than all its tokens.
[[nodiscard]] bool depends_on_longest(const Deployment& deployment);

}  // namespace ridgeline::scenario
