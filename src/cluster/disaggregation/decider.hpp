#pragma once

#include "core/units.hpp"

namespace ridgeline::disaggregation {

/// A prompt for which it is decided where it is computed.
struct Prompt {
  core::Tokens tokens;
  /// Prompt tokens that the router believes the decode instance to hold already.
  core::Tokens cached_on_decode = {};

  [[nodiscard]] core::Tokens uncached() const { return tokens - cached_on_decode; }
};

/// Decides whether a prompt is computed on a prefill instance and its KV sent to the decode
/// instance, or computed on the decode instance itself.
class Decider {
 public:
  Decider() = default;
  Decider(const Decider&) = delete;
  Decider& operator=(const Decider&) = delete;
  virtual ~Decider() = default;

  [[nodiscard]] virtual bool disaggregates(const Prompt& prompt) const = 0;
};

}  // namespace ridgeline::disaggregation
