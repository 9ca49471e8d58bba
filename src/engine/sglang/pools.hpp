#pragma once

#include <cstdint>
#include <optional>

#include "core/units.hpp"
#include "engine/engine_plan.hpp"
#include "engine/sglang/options.hpp"

namespace ridgeline::engine::sglang {

/// Ranks of attention in data parallel (ServerArgs._handle_data_parallelism): each expects less of
/// its running requests, and has its part of the chunk and of the requests that are stated.
inline constexpr double kOfRanks = 0.3;
[[nodiscard]] std::int64_t ranks_of(const PlanInputs& in);

/// A network with DeepSeek-V4's cache: windows, and entries that stand for several tokens.
[[nodiscard]] bool has_compressed_cache(const PlanInputs& in);
[[nodiscard]] bool has_states(const PlanInputs& in);

/// chunked_prefill_size of all ranks together.
[[nodiscard]] std::int64_t whole_chunk(const PlanInputs& in);
/// Tokens of a page: as stated, else by network, kernel and GPU.
[[nodiscard]] std::int64_t page_of(const PlanInputs& in);
/// The largest decode batch with a CUDA graph.
[[nodiscard]] std::int64_t largest_graph(const PlanInputs& in, const Rules& rules);
/// max_running_requests of all ranks where none is stated, if network or drafts say one.
[[nodiscard]] std::optional<std::int64_t> default_limit(const PlanInputs& in);
/// Where states are kept for the tree (mamba_radix_cache_strategy), and what that does to the loop.
void take_state_strategy(const PlanInputs& in, Options& options);
/// Slots for states that a running request may take.
[[nodiscard]] std::int64_t slots_per_request(const Options& options);

/// mem_fraction_static, as SGLang reckons what everything but weights and KV pool takes.
[[nodiscard]] double default_fraction(const PlanInputs& in,
                                      const Options& options,
                                      std::int64_t graphs);

/// The pool and what stands beside it.
struct Pool {
  double fraction = 0;
  core::Bytes free = {};  ///< Before the weights are loaded.
  core::Bytes weights = {};
  core::Bytes bytes = {};  ///< Bytes of the KV pool.
  double per_token = 0;
  std::int64_t holds = 0;                             ///< Tokens that fit.
  std::optional<std::int64_t> states = std::nullopt;  ///< Slots for recurrent states.
};
/// The pool in the host's memory, where there is one; max_total_num_tokens is known.
void take_host_tier(const PlanInputs& in, const Pool& pool, Options& options);
[[nodiscard]] Pool pool_of(const PlanInputs& in, const Options& options, double fraction);

}  // namespace ridgeline::engine::sglang
