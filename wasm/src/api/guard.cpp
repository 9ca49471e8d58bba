#include "api/guard.hpp"

#include <functional>
#include <optional>

#include "core/result.hpp"

namespace ridgeline::api {

/// Without exceptions a fault ends the whole module (core/check.cpp), and the page or program makes
/// a new one.
std::optional<core::Error> guarded(const std::function<void()>& work) {
  work();
  return std::nullopt;
}

}  // namespace ridgeline::api
