#pragma once

#include <span>

#include "core/time.hpp"
#include "routing/router.hpp"

namespace ridgeline::admission {

/// Says how full the instances are: below 1 they take more. Without an instance it is 1.
class SaturationDetector {
 public:
  SaturationDetector() = default;
  SaturationDetector(const SaturationDetector&) = delete;
  SaturationDetector& operator=(const SaturationDetector&) = delete;
  virtual ~SaturationDetector() = default;

  /// Which parts of the views it reads: only a change of those changes the saturation.
  [[nodiscard]] virtual routing::Needs needs() const = 0;
  [[nodiscard]] virtual double saturation(std::span<const routing::InstanceView> instances,
                                          core::SimTime now) = 0;
  /// When the passing of time alone changes it next, after `now`; never() if it does not.
  [[nodiscard]] virtual core::SimTime next_change(std::span<const routing::InstanceView> instances,
                                                  core::SimTime now) const {
    static_cast<void>(instances);
    static_cast<void>(now);
    return core::SimTime::never();
  }
};

}  // namespace ridgeline::admission
