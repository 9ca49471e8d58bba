#pragma once

#include "core/time.hpp"

namespace ridgeline::admission {

/// Tokens that refill with time up to a capacity; a request costs its prompt. Starts full. In any
/// window of t seconds it gives at most its capacity and the refill of t seconds.
class TokenBucket {
 public:
  /// Tokens, and tokens per second.
  TokenBucket(double capacity, double refill_rate)
      : capacity_(capacity), refill_rate_(refill_rate), tokens_(capacity) {}

  /// Takes the cost if it is there. Instants do not go back.
  bool take(double cost, core::SimTime at);

 private:
  double capacity_;
  double refill_rate_;
  double tokens_;
  core::SimTime at_;
};

}  // namespace ridgeline::admission
