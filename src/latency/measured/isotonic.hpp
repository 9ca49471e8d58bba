#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace ridgeline::latency::measured {

/// The non-decreasing sequence nearest to `values` in weighted squares (pool adjacent violators;
/// Ayer et al. 1955). Weights are above 0; none means all equal.
[[nodiscard]] std::vector<double> isotonic(std::span<const double> values,
                                           std::span<const double> weights = {});

/// Measured times on a grid of up to three axes, made complete and non-decreasing along each.
class MonotoneGrid {
 public:
  /// What make_monotone changed most, of the values given.
  struct Change {
    double ratio = 1.0;    ///< New over old, the farthest from 1.
    std::size_t cell = 0;  ///< Where, in the order of the values.
  };

  /// Axes ascend. Values, above 0, stand with the last axis running fastest; NaN marks a hole.
  MonotoneGrid(std::vector<std::vector<double>> axes, std::vector<double> values);

  [[nodiscard]] const std::vector<std::vector<double>>& axes() const { return axes_; }
  [[nodiscard]] std::span<const double> values() const { return values_; }

  /// Puts a value in place of a measured one or of a hole, without counting it as given.
  void supply(std::size_t cell, double value) { values_[cell] = value; }
  /// Fills holes: a line between the neighbours along the first axis that has both; where none has,
  /// time above `fixed` grows in proportion to the coordinate from the nearest neighbour, the last
  /// axis first. At least one value is there.
  void fill(double fixed);
  /// What fill() would put at a present cell, from its neighbours along one axis: NaN at the ends.
  [[nodiscard]] double without(std::size_t cell, std::size_t axis) const;
  /// Puts the nearest non-decreasing surface (of logarithms, in squares) in place of the values.
  Change make_monotone();

  /// Linear in each coordinate between ticks, flat outside. Complete grids only.
  [[nodiscard]] double at(std::span<const double> point) const;

 private:
  [[nodiscard]] std::size_t place(std::size_t cell, std::size_t axis) const;
  template <class OnLine>
  void for_each_line(std::size_t axis, const OnLine& on_line) const;
  [[nodiscard]] bool is_monotone() const;
  [[nodiscard]] double estimate(std::span<const double> from, std::size_t cell, double fixed) const;
  void raise();

  std::vector<std::vector<double>> axes_;
  std::vector<std::size_t> strides_;
  std::vector<double> values_;
  std::vector<bool> given_;
};

}  // namespace ridgeline::latency::measured
