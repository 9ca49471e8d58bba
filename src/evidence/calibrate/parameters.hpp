#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "evidence/calibrate/calibrate.hpp"
#include "scenario/scenario.hpp"

/// The constants of a fit, and which of them measurements determine.
namespace ridgeline::evidence::calibrate {

/// One of the constants that are fitted, in microseconds.
struct Constant {
  Parameter parameter;
  double before = 0.0;  ///< Built in.
  double value = 0.0;

  [[nodiscard]] double range() const { return parameter.highest - parameter.lowest; }
  [[nodiscard]] double bounded(double at) const;
};
using Constants = std::vector<Constant>;

/// Those of these names, at their built-in values; no name: all.
[[nodiscard]] Constants constants_of(const std::vector<std::string>& names);

/// The constants as settings of a scenario.
[[nodiscard]] std::vector<scenario::Override> overrides_of(const Constants& constants);

}  // namespace ridgeline::evidence::calibrate
