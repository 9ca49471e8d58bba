#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ridgeline::evidence::validate {

/// What a log of vLLM's start says of the server.
struct ServerLog {
  std::string version;                 ///< "0.11.0"; empty: not said.
  std::optional<std::int64_t> blocks;  ///< KV blocks of one rank.
  std::optional<double> memory_gib;    ///< Weights and KV cache together.
  /// Flags that were given, by the engine's names: "max_num_seqs", "32".
  std::vector<std::pair<std::string, std::string>> flags;
  std::optional<bool> prefix_caching;
  std::optional<bool> chunked_prefill;
  bool is_empty = true;  ///< No line of it is of a start.
};

[[nodiscard]] ServerLog read_server_log(std::string_view text);

}  // namespace ridgeline::evidence::validate
