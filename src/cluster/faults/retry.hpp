#pragma once

#include <algorithm>
#include <cstdint>

#include "core/time.hpp"

namespace ridgeline::faults {

/// What a gateway does with a request whose instance failed before its first token: sends it again,
/// to whichever instance the policy chooses then. After the first token the client sees the error.
struct Retries {
  std::int64_t max_retries = 0;                                     ///< Per request.
  core::Duration retry_backoff = core::Duration::milliseconds(50);  ///< Before the first.
  /// SGLang's gateway waits no longer than this (e8d57e7).
  core::Duration longest_backoff = core::Duration::seconds(30);

  /// Before the nth retry, from 1: twice as long each time.
  [[nodiscard]] core::Duration backoff(std::int64_t nth) const {
    core::Duration wait = retry_backoff;
    for (; nth > 1 && wait < longest_backoff; --nth) {
      wait = core::Duration::saturating_product(wait, 2);
    }
    return std::min(wait, std::max(longest_backoff, retry_backoff));
  }

  friend bool operator==(const Retries&, const Retries&) = default;
};

}  // namespace ridgeline::faults
