#pragma once

#include <array>
#include <cstddef>

#include "core/time_sum.hpp"
#include "domain/step.hpp"

namespace ridgeline::domain {

/// Times of many steps together.
struct StepTimeSum {
  std::array<core::TimeSum, kNumBottlenecks> by_bottleneck{};
  core::TimeSum cpu;

  [[nodiscard]] constexpr core::TimeSum gpu() const {
    core::TimeSum sum;
    for (const auto part : by_bottleneck) {
      sum += part;
    }
    return sum;
  }
  template <class Times>  // A StepTime, or a sum.
  constexpr void add(const Times& other) {
    for (std::size_t kind = 0; kind < kNumBottlenecks; ++kind) {
      by_bottleneck[kind] += other.by_bottleneck[kind];
    }
    cpu += other.cpu;
  }
  friend bool operator==(const StepTimeSum&, const StepTimeSum&) = default;
};

}  // namespace ridgeline::domain
