#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ridgeline::observe {

/// What a server's /metrics says of itself, under vLLM's names of any version; of several engines
/// (data-parallel ranks) the sum, of shares the mean.
struct ServerMetrics {
  std::optional<double> running;         ///< Requests.
  std::optional<double> waiting;         ///< Requests.
  std::optional<double> kv_use;          ///< Share of the KV blocks in use, 0 to 1.
  std::optional<double> preemptions;     ///< Since the start, like the rest.
  std::optional<double> prefix_queries;  ///< Tokens looked up in the prefix cache.
  std::optional<double> prefix_hits;     ///< Tokens found there.
  std::optional<double> prompt_tokens;
  std::optional<double> generation_tokens;
  /// From `ridgeline serve` alone: how much later than due it wrote, summed over steps; in seconds.
  std::optional<double> late_s;
  std::optional<double> late_steps;
  /// The labels of vllm:cache_config_info: block_size, num_gpu_blocks, and others.
  std::vector<std::pair<std::string, std::string>> cache_config;

  [[nodiscard]] bool empty() const {
    return !running && !waiting && !kv_use && cache_config.empty();
  }
  /// num_gpu_blocks of the cache's configuration, where it is a positive number.
  [[nodiscard]] std::optional<std::int64_t> num_gpu_blocks() const;
};

/// Reads a page of Prometheus' text format 0.0.4. Lines that are none are read over.
[[nodiscard]] ServerMetrics read_metrics(std::string_view page);

}  // namespace ridgeline::observe
