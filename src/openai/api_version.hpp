#pragma once

#include <compare>
#include <string_view>

namespace ridgeline::openai {

/// A version of vLLM, 0.minor.patch, as far as its HTTP surface follows it.
struct ApiVersion {
  int minor = 0;
  int patch = 0;

  /// Newer than all that are known: what other engines are shown with.
  static constexpr ApiVersion newest() { return {.minor = 1000, .patch = 0}; }
  static constexpr ApiVersion never() { return {.minor = 1001, .patch = 0}; }
  /// From "vllm@0.15" or "vllm@0.10.1"; newest() where it names no version of vLLM.
  [[nodiscard]] static ApiVersion parse(std::string_view engine_version);

  friend constexpr auto operator<=>(const ApiVersion&, const ApiVersion&) = default;
};

/// Since when vLLM does what it did otherwise before; each by the date of the change.
inline constexpr ApiVersion kPriorityAccepted{.minor = 9, .patch = 0};
inline constexpr ApiVersion kNestedErrors{.minor = 10, .patch = 1};       // 2025-08-06
inline constexpr ApiVersion kTokenIdsInChoices{.minor = 10, .patch = 2};  // 2025-08-19
inline constexpr ApiVersion kCallsWorkers{.minor = 10, .patch = 2};       // 2025-08, from memory
inline constexpr ApiVersion kResponsesRoutes{.minor = 10, .patch = 0};    // 2025-07
inline constexpr ApiVersion kMessagesRoutes{.minor = 11, .patch = 1};     // 2025-10
inline constexpr ApiVersion kResponseTurns{.minor = 11, .patch = 1};      // 2025-10
/// From then on a model that generates has no routes for embeddings, scores and classes.
inline constexpr ApiVersion kPoolingLeft{.minor = 12, .patch = 0};       // 2025-11
inline constexpr ApiVersion kReasoningRenamed{.minor = 12, .patch = 0};  // 2025-11-08
inline constexpr ApiVersion kPromptText{.minor = 20, .patch = 0};        // 2026
inline constexpr ApiVersion kPauses{.minor = 13, .patch = 0};            // 2025-12
inline constexpr ApiVersion kErrorParams{.minor = 14, .patch = 0};       // 2025-12
inline constexpr ApiVersion kCountsTokens{.minor = 18, .patch = 0};      // 2026-03
inline constexpr ApiVersion kFingerprintAtEnd{.minor = 20, .patch = 0};  // 2026-04-27
inline constexpr ApiVersion kFourStops{.minor = 27, .patch = 0};         // 2026-08

}  // namespace ridgeline::openai
