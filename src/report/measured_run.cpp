#include "report/measured_run.hpp"

#include <cstddef>
#include <string>

#include "document/document.hpp"
#include "evidence/validate/evidence.hpp"
#include "report/tree.hpp"

namespace ridgeline::report {

document::Node measured_run_tree(const evidence::validate::Evidence& evidence) {
  using evidence::validate::Figure;
  using evidence::validate::Level;
  MapBuilder summary;
  for (std::size_t i = 0; i < evidence::validate::kNumFigures; ++i) {
    const auto figure = static_cast<Figure>(i);
    if (!is_time(figure)) {
      continue;
    }
    MapBuilder levels;
    for (std::size_t level = 0; level < evidence::validate::kNumLevels; ++level) {
      if (const auto& value = evidence.measured.at(figure, static_cast<Level>(level))) {
        levels.add(evidence::validate::kLevelNames[level], number_node(value));
      }
    }
    summary.add(std::string(evidence::validate::kFigureNames[i]) + "_ms", levels.build());
  }
  if (const auto& output = evidence.measured.at(Figure::kOutputThroughput, Level::kMean)) {
    summary.add("output_throughput", number_node(output));
  }
  if (evidence.request_throughput) {
    summary.add("request_throughput", number_node(evidence.request_throughput));
  }
  return MapBuilder().add("summary", summary.build()).build();
}

}  // namespace ridgeline::report
