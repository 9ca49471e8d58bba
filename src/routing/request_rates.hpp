#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "core/ids.hpp"
#include "core/time.hpp"

namespace ridgeline::routing {

/// Requests per second that a router sent to each instance, over a sliding window, as
/// production-stack keeps them (a6c01db: 60 s).
class RequestRates {
 public:
  explicit RequestRates(core::Duration window) : window_(window) {}

  /// A request goes to an instance at `now`; not before an earlier one.
  void add(core::InstanceId instance, core::SimTime now);
  /// Nothing for an instance that never had a request.
  [[nodiscard]] std::optional<double> rate(core::InstanceId instance, core::SimTime now);

 private:
  core::Duration window_;
  std::vector<std::deque<core::SimTime>> sent_;  ///< By instance, those in the window.
  std::vector<bool> known_;
};

}  // namespace ridgeline::routing
