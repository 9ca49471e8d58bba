#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "document/document.hpp"
#include "report/chart/figure.hpp"

namespace ridgeline::report::figures {

/// A run of several in one picture.
struct OneOf {
  std::string name;
  const document::Node* result = nullptr;
  bool measured = false;
};

/// The line of run number `i` of them; a measured one is dashed.
[[nodiscard]] std::string line_of(std::size_t i, bool measured);

/// Distributions of TTFT, TPOT and E2E over each other. A run without `series` has its percentiles
/// alone.
[[nodiscard]] Figure compared_distributions(const std::vector<OneOf>& runs);
/// Rates and gauges of those with `series` over each other on one clock; without one it has no
/// marks.
[[nodiscard]] Figure compared_clock(const std::vector<OneOf>& runs);

}  // namespace ridgeline::report::figures
