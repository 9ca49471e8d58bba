#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "scenario/scenario.hpp"
#include "sweep/axis_values.hpp"

namespace ridgeline::sweep {

/// Points that one sweep may have (ours: at 1 ms each, the cheapest there are, 3 hours of one core;
/// the list of those that are left is then 40 MB).
inline constexpr std::int64_t kMostPoints = 10'000'000;

/// Which keys beside the settings of a scenario may be varied: "replicas". Their values are not
/// checked, and no scenario gets them: the caller reads them from Point::values.
struct AxisWords {
  std::vector<std::string> own = {};
};

/// One combination of values.
struct Point {
  std::int64_t ordinal = 0;            ///< From 0, in canonical order.
  std::vector<document::Node> values;  ///< One per axis, in the order of Axes::axes().
  document::Node scenario;             ///< The document of the scenario, ready for read_scenario().
};

/// The axes of a sweep or of a plan's space over a scenario:
///
///   engine: {max_num_seqs: {from: 64, to: 512, factor: 2}, tensor_parallel_size: auto}
///   gpu: [h100, h200]
///   workload.request_rate: [2, 4]
///   exclude: [{gpu: h200, engine: {tensor_parallel_size: 1}}]
///
/// Keys may be nested or dotted. The points are all combinations in the order stated, the last axis
/// fastest, without those that `exclude` names or that a derived axis does not have for the point's
/// network and GPU. What an axis varies replaces the value that the scenario has there.
class Axes {
 public:
  /// `axes`: the map above. `base`: the document of the scenario, without `axes`; `overrides` are
  /// laid over every point later and may not name what an axis varies. All problems are noted.
  [[nodiscard]] static core::Result<Axes> read(const document::Node& axes,
                                               document::Node base,
                                               const std::vector<scenario::Override>& overrides,
                                               const AxisWords& words = {});

  [[nodiscard]] const std::vector<Axis>& axes() const { return axes_; }
  /// The axis of that path, as an index; axes().size() where there is none.
  [[nodiscard]] std::size_t index_of(std::string_view path) const;
  /// Number of points.
  [[nodiscard]] std::int64_t size() const;
  /// Point of an ordinal below size().
  [[nodiscard]] Point point(std::int64_t ordinal) const;
  /// Its values alone: which of each axis.
  [[nodiscard]] std::vector<std::size_t> choice(std::int64_t ordinal) const;
  /// Its place among all combinations, those left out counted too.
  [[nodiscard]] std::int64_t combination(std::int64_t ordinal) const;

 private:
  Axes() = default;

  std::vector<Axis> axes_;
  std::vector<bool> is_own_;  ///< One per axis: no setting of the scenario.
  document::Node base_;
  std::int64_t combinations_ = 1;
  bool is_filtered_ = false;
  std::vector<std::uint32_t> kept_;  ///< The combinations that are points, where some are not.
};

/// The text of a flag `--axis KEY=V,V` as a member of the map of axes: values by commas, or what a
/// file would hold there (`KEY={from: 1, to: 8, factor: 2}`). KEY is the path of a setting, its
/// last component, or its flag, where that names one alone.
[[nodiscard]] core::Result<document::Node::Member> axis_of_flag(std::string_view text,
                                                                const AxisWords& words = {});

/// `document` with `value` at a dotted path of a scenario; a null takes the key away. Sections that
/// stand as one word ("engine: vllm@0.15") become maps.
[[nodiscard]] document::Node with_setting(const document::Node& document,
                                          std::string_view path,
                                          const document::Node& value);

}  // namespace ridgeline::sweep
