#include "evidence/calibrate/calibration_tree.hpp"

#include <cstddef>
#include <vector>

#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "evidence/calibrate/alternatives.hpp"
#include "evidence/calibrate/calibrate.hpp"
#include "latency/accuracy/bands.hpp"

namespace ridgeline::evidence::calibrate {
namespace {

using document::list_of;
using document::MapBuilder;
using document::Node;

Node errors_tree(const FitErrors& errors) {
  return MapBuilder().add("median_abs_pct", errors.median).add("mean_abs_pct", errors.mean);
}

Node range_tree(const accuracy::Range& range) {
  return MapBuilder().add("low", range.low).add("high", range.high);
}

Node band_tree(const accuracy::Band& band) {
  return MapBuilder()
      .add("metric", accuracy::kMetricNames[static_cast<std::size_t>(band.metric)])
      .add("p50_pct", range_tree(band.p50))
      .add("p90_pct", range_tree(band.p90))
      .add("records", band.records);
}

}  // namespace

Node calibration_tree(const Calibration& calibration,
                      const std::vector<Alternative>& alternatives) {
  const auto fitted = [](const auto& one) -> Node {
    return MapBuilder()
        .add("name", one.parameter.name)
        .add("unit", one.parameter.is_factor ? "" : "us")
        .add("before", one.before)
        .add("value", one.value)
        .add("lowest", one.lowest)
        .add("highest", one.highest)
        .add("at_bound", one.at_bound);
  };
  const auto left_out = [](const auto& one) -> Node {
    return MapBuilder().add("name", one.name).add("reason", one.reason);
  };
  const auto unused = [](const auto& one) -> Node {
    return MapBuilder()
        .add("name", one.name)
        .add("standing", one.standing)
        .add("reason", one.reason);
  };
  const auto alternative = [](const Alternative& one) -> Node {
    return MapBuilder().add("flag", one.flag).add("left_pct", one.left);
  };
  return MapBuilder()
      .add("server", calibration.server.text())
      .add("records", calibration.records)
      .add("figures", calibration.figures)
      .add("fitted", list_of(calibration.fitted, fitted))
      .add("left_out", list_of(calibration.left_out, left_out))
      .add("unused_records", list_of(calibration.unused, unused))
      .add("before", errors_tree(calibration.before))
      .add("after", errors_tree(calibration.after))
      .add("cross_validated",
           calibration.cross_validated ? errors_tree(*calibration.cross_validated) : Node())
      .add("bands", list_of(calibration.own.bands, band_tree))
      .add("left_pct", calibration.left())
      .add("left_without_bounds_pct", calibration.left_without_bounds)
      .add("alternatives", list_of(alternatives, alternative));
}

}  // namespace ridgeline::evidence::calibrate
