#include "evidence/validate/validation_tree.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "evidence/validate/coverage.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/prediction.hpp"
#include "evidence/validate/scores.hpp"
#include "evidence/validate/validate.hpp"
#include "latency/accuracy/bands.hpp"

namespace ridgeline::evidence::validate {
namespace {

using document::list_node;
using document::list_of;
using document::MapBuilder;
using document::Node;

constexpr int kValidationSchemaVersion = 2;

const char* name_of(Figure figure) {
  return kFigureNames[static_cast<std::size_t>(figure)];
}
const char* name_of(Level level) {
  return kLevelNames[static_cast<std::size_t>(level)];
}

/// {"e2e": {"mean": ...}, ...} of what `value` has.
template <class Value>
Node figures_node(const Value& value) {
  MapBuilder figures;
  for (std::size_t i = 0; i < kNumFigures; ++i) {
    MapBuilder levels;
    for (std::size_t j = 0; j < kNumLevels; ++j) {
      levels.add_known(kLevelNames[j], value(static_cast<Figure>(i), static_cast<Level>(j)));
    }
    if (!levels.empty()) {
      figures.add(kFigureNames[i], levels);
    }
  }
  return figures;
}

Node figures_node(const Figures& figures) {
  return figures_node([&](Figure figure, Level level) { return figures.at(figure, level); });
}

void add_prediction(const ScoredRecord& record, MapBuilder& map) {
  if (!record.prediction) {
    map.add("predicted", Node()).add("error_pct", Node());
    return;
  }
  const auto& prediction = *record.prediction;
  MapBuilder likeness;
  for (std::size_t axis = 0; axis < accuracy::kNumAxes; ++axis) {
    likeness.add(accuracy::kAxisNames[axis], prediction.likeness[axis]);
  }
  map.add("predicted", figures_node(prediction.figures))
      .add("predicted_lowest", figures_node(prediction.lowest))
      .add("predicted_highest", figures_node(prediction.highest))
      .add("error_pct", figures_node([&](Figure figure, Level level) {
             return record.error_pct(figure, level);
           }))
      .add("likeness", likeness)
      .add("state",
           MapBuilder()
               .add("completed", prediction.completed)
               .add("incomplete", prediction.incomplete)
               .add("preemptions", prediction.preemptions)
               .add("mean_in_flight", prediction.mean_in_flight)
               .add("mean_context", prediction.mean_context)
               .add("cached_share", prediction.cached_share)
               .add("front_end_bound", prediction.front_end_bound)
               .add("front_end_near", prediction.front_end_near));
}

Node record_node(const ScoredRecord& record) {
  const Evidence& evidence = record.evidence;
  std::vector<std::string> doubts;
  for (const auto& warning : evidence.warnings) {
    doubts.push_back(warning.code + ": " + warning.message);
  }
  doubts.insert(doubts.end(), evidence.doubts.begin(), evidence.doubts.end());
  MapBuilder peers;
  for (const auto& peer : evidence.peers) {
    peers.add(peer.name,
              MapBuilder()
                  .add("predicted", figures_node(peer.figures))
                  .add("error_pct", figures_node([&](Figure figure, Level level) {
                         return error_pct(peer.figures, evidence.measured, figure, level);
                       })));
  }
  MapBuilder map;
  map.add("id", evidence.id)
      .add("file", evidence.file)
      .add("line", evidence.line)
      .add("family", evidence.family)
      .add("model", evidence.model)
      .add("gpu", evidence.gpu)
      .add("tp", evidence.tensor_parallel)
      .add("workload", evidence.workload)
      .add("stage", evidence.stage)
      .add("strategy", evidence.strategy)
      .add("clock", evidence.server_clock ? "server" : "client")
      .add("standing", kStandingNames[static_cast<std::size_t>(record.standing)])
      .add("reason", document::text_or_null(record.reason))
      .add("left_out", evidence.left_out)
      .add("doubts", doubts)
      .add("sources", evidence.sources)
      .add("assumed", evidence.assumed)
      .add("measured", figures_node(evidence.measured));
  add_prediction(record, map);
  return map.add("peers", peers);
}

Node score_node(const ScoreRow& row) {
  return MapBuilder()
      .add("axis", row.axis)
      .add("value", row.value)
      .add("metric", name_of(row.figure))
      .add("statistic", name_of(row.level))
      .add("n", row.n)
      .add("median_abs_pct", row.median_abs)
      .add("mean_abs_pct", row.mean_abs)
      .add("mean_signed_pct", row.mean_signed)
      .add("p95_abs_pct", row.p95_abs)
      .add("p99_abs_pct", row.p99_abs)
      .add("share_over_20pct", row.share_over_20);
}

Node peer_node(const PeerRow& row) {
  return MapBuilder()
      .add("simulator", row.peer)
      .add("metric", name_of(row.figure))
      .add("statistic", name_of(row.level))
      .add("n", row.n)
      .add("median_abs_pct", row.median_abs)
      .add("mean_abs_pct", row.mean_abs)
      .add("p95_abs_pct", row.p95_abs)
      .add("our_median_abs_pct", row.our_median_abs)
      .add("our_mean_abs_pct", row.our_mean_abs)
      .add("our_p95_abs_pct", row.our_p95_abs);
}

/// The records whose worst mean is off by more than kGrossError.
Node outliers_node(const Validation& validation) {
  std::vector<Node> outliers;
  for (const auto& outlier : worst_errors(validation.records)) {
    if (std::abs(outlier.error_pct) > kGrossError) {
      outliers.push_back(MapBuilder()
                             .add("id", validation.records[outlier.record].evidence.id)
                             .add("metric", name_of(outlier.figure))
                             .add("error_pct", outlier.error_pct));
    }
  }
  return list_node(std::move(outliers));
}

Node coverage_node(const CoverageRow& row) {
  return MapBuilder()
      .add("metric", accuracy::kMetricNames[static_cast<std::size_t>(row.metric)])
      .add("slice", row.slice)
      .add("fitted", row.fitted)
      .add("groups", row.groups)
      .add("records", row.records)
      .add("inside_p90_pct", row.inside_p90_pct)
      .add("inside_p90_records_pct", row.inside_p90_records_pct)
      .add("inside_p50_pct", row.inside_p50_pct)
      .add("inside_p50_records_pct", row.inside_p50_records_pct)
      .add("median_half_width_pct", row.median_half_width_pct);
}

}  // namespace

Node validation_tree(const Validation& validation) {
  MapBuilder counts;
  counts.add("records", validation.records.size());
  for (std::size_t i = 0; i < kStandingNames.size(); ++i) {
    counts.add(kStandingNames[i], validation.count(static_cast<Standing>(i)));
  }
  MapBuilder map;
  map.add("schema_version", kValidationSchemaVersion)
      .add("counts", counts)
      .add("scores", list_of(validation.scores, score_node))
      .add("peers", list_of(validation.peers, peer_node));
  if (!validation.by.empty()) {
    map.add("by", validation.by);
  }
  if (validation.metric) {
    map.add("metric", name_of(*validation.metric));
  }
  if (validation.derived_e2e > 0) {
    map.add("derived_e2e", validation.derived_e2e);
  }
  if (const auto& coverage = validation.coverage) {
    map.add("coverage", list_of(coverage->rows, coverage_node));
    if (!coverage->none.empty()) {
      map.add("no_coverage", coverage->none);
    }
  }
  return map.add("outliers", outliers_node(validation))
      .add("warnings", validation.warnings)
      .add("records", list_of(validation.records, record_node));
}

}  // namespace ridgeline::evidence::validate
