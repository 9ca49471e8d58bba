#pragma once

#include <cstdint>

namespace ridgeline::openai {

/// The APIs that ask for a generation. All but completions ask with messages.
enum class Api : std::uint8_t {
  kCompletions,  ///< /v1/completions
  kChat,         ///< /v1/chat/completions
  kResponses,    ///< /v1/responses, OpenAI's newer one
  kMessages,     ///< /v1/messages, Anthropic's
};

}  // namespace ridgeline::openai
