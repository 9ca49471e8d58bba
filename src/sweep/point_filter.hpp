#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "scenario/scenario.hpp"
#include "sweep/axis_values.hpp"

namespace ridgeline::sweep {

/// Which value of each axis a combination has; the last axis changes fastest.
void choice_of(std::int64_t combination,
               const std::vector<Axis>& axes,
               std::vector<std::size_t>& choice);

/// Which combinations of values are points: not those that `exclude` names, and of a derived axis
/// only the values that the combination's network and GPU have.
class PointFilter {
 public:
  /// `exclude`: a list of maps, each of keys of axes with a value or a list of values; nullptr for
  /// none. `base` and `overrides` say network and GPU where no axis does.
  [[nodiscard]] static core::Result<PointFilter> make(
      const std::vector<Axis>& axes,
      const document::Node* exclude,
      const document::Node& base,
      const std::vector<scenario::Override>& overrides);

  [[nodiscard]] bool keeps_all() const { return exclusions_.empty() && derivations_.empty(); }
  [[nodiscard]] bool keeps(const std::vector<std::size_t>& choice) const;

 private:
  /// Values of one axis.
  struct Condition {
    std::size_t axis = 0;
    std::vector<bool> values;  ///< One per value of the axis: is it named?
  };
  /// A combination that meets all of them is left out.
  using Exclusion = std::vector<Condition>;
  /// What a derived axis has, by network and GPU.
  struct Derivation {
    std::size_t axis = 0;
    std::size_t network_axis = 0;  ///< Past the last axis where the scenario states it.
    std::size_t gpu_axis = 0;
    std::size_t gpus = 1;
    std::vector<std::vector<bool>> values;  ///< By network, then GPU.
  };

  [[nodiscard]] bool excludes(const Exclusion& exclusion,
                              const std::vector<std::size_t>& choice) const;

  std::vector<Exclusion> exclusions_;
  std::vector<Derivation> derivations_;

  friend class FilterReader;
};

}  // namespace ridgeline::sweep
