#pragma once

namespace ridgeline::core {

/// While one lives, a fault on this thread is thrown to the call that made the scope, where a host
/// process installed a handler that asks for it (api/guard.cpp). Scopes may lie inside each other.
class FaultScope {
 public:
  FaultScope();
  FaultScope(const FaultScope&) = delete;
  FaultScope& operator=(const FaultScope&) = delete;
  ~FaultScope();

  /// Whether this thread is inside one.
  [[nodiscard]] static bool active();
};

}  // namespace ridgeline::core
