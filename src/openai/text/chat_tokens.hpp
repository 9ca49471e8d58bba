#pragma once

#include <cstdint>
#include <string_view>

namespace ridgeline::text {

/// The special tokens that a chat template puts around messages.
struct ChatTokens {
  std::int64_t fixed = 1;  ///< At the beginning.
  std::int64_t per_message =
      5;                   ///< Around each message: `start` of them before it, the rest behind.
  std::int64_t start = 4;  ///< Before the answer.
  /// DeepSeek-V3 marks roles alone: none for the system's message, one for the user's, two for an
  /// answer.
  bool marks_roles_alone = false;

  friend bool operator==(const ChatTokens&, const ChatTokens&) = default;
};

/// Those of a network's family, by its name; of an unknown family Llama 3's. Counted with the
/// templates of Llama 3, Qwen3, Gemma 3 and DeepSeek-V3.
[[nodiscard]] ChatTokens chat_tokens_of(std::string_view network);

/// How many tokens stand before and behind a message of that role.
struct Around {
  std::int64_t before = 0;
  std::int64_t behind = 0;
};
[[nodiscard]] Around around(const ChatTokens& tokens, std::string_view role);

}  // namespace ridgeline::text
