#include "cluster/admission/token_bucket.hpp"

#include <algorithm>

#include "core/time.hpp"

namespace ridgeline::admission {

bool TokenBucket::take(double cost, core::SimTime at) {
  tokens_ = std::min(capacity_, tokens_ + (at - at_).to_seconds() * refill_rate_);
  at_ = at;
  if (tokens_ < cost) {
    return false;
  }
  tokens_ -= cost;
  return true;
}

}  // namespace ridgeline::admission
