#pragma once

#include <cstdint>
#include <optional>

#include "core/units.hpp"
#include "document/document.hpp"

namespace ridgeline::model {

/// How an engine derives a network's longest sequence from its configuration.
enum class LengthRule : std::uint8_t {
  kStated,     ///< max_position_embeddings as it stands.
  kVllmOlder,  ///< vLLM up to 0.29: YaRN gives its original length times its factor.
  kVllm,       ///< vLLM from 0.30 on: with YaRN, max_position_embeddings is already scaled.
  kSglang,
};

/// The longest sequence by the rule, of a configuration whose text_config is lifted;
/// `max_position`: its max_position_embeddings. Sources: vLLM 0.27 and 0.33
/// (`_get_and_verify_max_len`), SGLang 0.5.23 (`get_context_length`).
[[nodiscard]] core::Tokens context_length(const document::Node& config,
                                          core::Tokens max_position,
                                          LengthRule rule);

}  // namespace ridgeline::model
