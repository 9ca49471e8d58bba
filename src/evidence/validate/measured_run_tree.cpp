#include "evidence/validate/measured_run_tree.hpp"

#include <cstddef>
#include <string>

#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "evidence/validate/evidence.hpp"

namespace ridgeline::evidence::validate {

using document::MapBuilder;

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
      levels.add_known(evidence::validate::kLevelNames[level],
                       evidence.measured.at(figure, static_cast<Level>(level)));
    }
    summary.add(std::string(evidence::validate::kFigureNames[i]) + "_ms", levels.build());
  }
  summary
      .add_known("output_throughput", evidence.measured.at(Figure::kOutputThroughput, Level::kMean))
      .add_known("request_throughput", evidence.request_throughput);
  return MapBuilder().add("summary", summary.build());
}

}  // namespace ridgeline::evidence::validate
