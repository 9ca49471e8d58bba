#include "latency/accuracy/error_tree.hpp"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "latency/accuracy/bands.hpp"

namespace ridgeline::accuracy {

using document::MapBuilder;

std::vector<std::string> unlike_names(const ExpectedError& error) {
  std::vector<std::string> names;
  for (const Axis axis : error.unknown) {
    names.emplace_back(kAxisNames[static_cast<std::size_t>(axis)]);
  }
  return names;
}

document::Node expected_errors_tree(const std::vector<ExpectedError>& errors) {
  const auto range = [](const Range& of) {
    return MapBuilder().add("low", of.low).add("high", of.high);
  };
  MapBuilder map;
  for (const ExpectedError& error : errors) {
    const Band& band = error.band;
    map.add(kMetricNames[static_cast<std::size_t>(band.metric)],
            MapBuilder()
                .add("slice", band.slice)
                .add("fitted", band.fitted)
                .add("groups", band.groups)
                .add("records", band.records)
                .add("p50_pct", range(band.p50))
                .add("p90_pct", range(band.p90))
                .add("unknown", unlike_names(error)));
  }
  return map.build();
}

}  // namespace ridgeline::accuracy
