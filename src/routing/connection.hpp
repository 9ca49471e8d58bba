#pragma once

#include <cstdint>

#include "domain/request.hpp"

namespace ridgeline::routing {

/// The keep-alive connection that a request comes over: its session's, or, where it has none, one
/// of `connections` that such requests take in turn; without any, one of its own.
[[nodiscard]] constexpr std::uint64_t connection_of(const domain::RequestView& request,
                                                    std::int64_t connections) {
  constexpr std::uint64_t kBehindSessions = std::uint64_t{1} << 32;
  if (request.session.valid()) {
    return request.session.value();
  }
  const std::uint64_t id = request.id.value();
  return kBehindSessions | (connections > 0 ? id % static_cast<std::uint64_t>(connections) : id);
}

}  // namespace ridgeline::routing
