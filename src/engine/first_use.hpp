#pragma once

#include <cstdint>
#include <vector>

#include "core/time.hpp"
#include "core/units.hpp"

namespace ridgeline::engine {

/// What one range takes, fitted on the first 300 requests of two servers of Mixtral (8x7B on four
/// H100, 8x22B on eight; vLLM 0.15.1, published with inference-sim) by `records --leave-out
/// first-use`, which says what it is worth on the other of the two (docs/accuracy.md).
inline constexpr core::Duration kFirstUseStall = core::Duration::milliseconds(1'000);
/// Ranges from one power of two to the next; fitted with the stall.
inline constexpr std::int64_t kFirstUseRanges = 32;

/// Kernels that a server compiles when a step needs them for the first time (Triton's experts): one
/// for each range of token counts. Warming up covers what CUDA graphs hold and the largest step.
struct FirstUseStalls {
  core::Duration stall = {};  ///< Stall of a range; 0: nothing stalls.
  core::Tokens above{0};      ///< Steps of up to so many tokens are warm.
  core::Tokens warm{0};       ///< So is the range of this count; 0: none.
  /// From one power of two (times `above`) to the next, equally wide.
  std::int64_t ranges = kFirstUseRanges;

  friend bool operator==(const FirstUseStalls&, const FirstUseStalls&) = default;
};

/// Which ranges of one server have been used.
class FirstUse {
 public:
  explicit FirstUse(const FirstUseStalls& stalls);

  /// What a step of so many tokens that holds prompt chunks waits for; 0 from the second use on.
  core::Duration take(core::Tokens tokens) {
    return tokens > stalls_.above && stalls_.stall > core::Duration() ? look(tokens)
                                                                      : core::Duration();
  }

 private:
  core::Duration look(core::Tokens tokens);

  FirstUseStalls stalls_;
  std::vector<bool> used_;  ///< By range, as far as seen.
};

}  // namespace ridgeline::engine
