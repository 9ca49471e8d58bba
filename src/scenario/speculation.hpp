#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "domain/draft_level.hpp"
#include "latency/step_time_model.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::scenario {

/// vLLM's method whose network gives all drafts of a step at once.
inline constexpr std::string_view kBlockDrafts = "dspark";

/// vLLM's `--speculative-config`, and beside it the acceptance curve: a server has it from its
/// traffic, a simulator needs it as an input.
///
///   {"method": "eagle", "model": "path", "num_speculative_tokens": 3, "acceptance": [0.8, 0.7]}
struct SpeculativeConfig {
  std::string method;
  std::optional<std::string> model;  ///< The drafting network, of "draft_model" and "eagle".
  std::int64_t num_speculative_tokens = 0;
  /// Probability that the i-th draft is accepted, given that those before it were; the last holds
  /// for all further ones.
  std::vector<double> acceptance;
  /// Drafts by the number of requests in the step before (num_speculative_tokens_per_batch_size);
  /// empty: always num_speculative_tokens.
  std::vector<domain::DraftLevel> levels = {};
  bool disable_eagle_block_drop = false;

  friend bool operator==(const SpeculativeConfig&, const SpeculativeConfig&) = default;
};

/// Most drafts of a sequence and step.
inline constexpr std::int64_t kMostDrafts = 64;

/// The method that vLLM's word means: "deepseek_mtp" and its like are "mtp".
[[nodiscard]] std::string draft_method(std::string_view word);
/// Reads such a map; problems are noted under `path`.
[[nodiscard]] std::optional<SpeculativeConfig> read_speculative(const document::Node& node,
                                                                const std::string& path,
                                                                core::Errors& errors);
/// The document that read_speculative takes back to the same.
[[nodiscard]] document::Node to_node(const SpeculativeConfig& config);
/// The JSON Schema of such a document.
[[nodiscard]] document::Node speculative_schema();

/// The parts of a speculative config that GPU time depends on: the drafting network looked up, or
/// taken from the target. Errors name fields below engine.speculative_config.
[[nodiscard]] core::Result<latency::Speculation> resolve_speculation(
    const SpeculativeConfig& config,
    const model::ModelSpec& target,
    const model::Sharding& sharding);

}  // namespace ridgeline::scenario
