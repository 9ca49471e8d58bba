#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "accuracy/bands.hpp"
#include "document/json_writer.hpp"
#include "evidence/validate/error_bands.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/prediction.hpp"
#include "evidence/validate/scores.hpp"
#include "evidence/validate/validate.hpp"
#include "report/validation.hpp"
#include "report/validation_coverage.hpp"
#include "report/validation_ranking.hpp"

namespace ridgeline::report {
namespace {

using evidence::validate::CoverageRow;
using evidence::validate::Evidence;
using evidence::validate::Figure;
using evidence::validate::Figures;
using evidence::validate::kFigureNames;
using evidence::validate::kLevelNames;
using evidence::validate::kNumFigures;
using evidence::validate::kNumLevels;
using evidence::validate::Level;
using evidence::validate::PeerRow;
using evidence::validate::ScoredRecord;
using evidence::validate::ScoreRow;
using evidence::validate::Standing;
using evidence::validate::Validation;

constexpr int kValidationSchemaVersion = 2;

/// Writes {"e2e": {"mean": ...}, ...} of what `value` has.
template <class Value>
void write_figures(document::JsonWriter& json, Value value) {
  json.begin_object();
  for (std::size_t i = 0; i < kNumFigures; ++i) {
    bool open = false;
    for (std::size_t j = 0; j < kNumLevels; ++j) {
      const std::optional<double> number = value(static_cast<Figure>(i), static_cast<Level>(j));
      if (!number) {
        continue;
      }
      if (!open) {
        json.key(kFigureNames[i]).begin_object();
        open = true;
      }
      json.member(kLevelNames[j], *number);
    }
    if (open) {
      json.end_object();
    }
  }
  json.end_object();
}

void write_given(document::JsonWriter& json, const Figures& figures) {
  write_figures(json, [&](Figure figure, Level level) { return figures.at(figure, level); });
}

void write_prediction(document::JsonWriter& json, const ScoredRecord& record) {
  if (!record.prediction) {
    json.key("predicted").null().key("error_pct").null();
    return;
  }
  const auto& prediction = *record.prediction;
  json.key("predicted");
  write_given(json, prediction.figures);
  json.key("predicted_lowest");
  write_given(json, prediction.lowest);
  json.key("predicted_highest");
  write_given(json, prediction.highest);
  json.key("error_pct");
  write_figures(json, [&](Figure figure, Level level) { return record.error_pct(figure, level); });
  json.key("likeness").begin_object();
  for (std::size_t axis = 0; axis < accuracy::kNumAxes; ++axis) {
    json.member(accuracy::kAxisNames[axis], prediction.likeness[axis]);
  }
  json.end_object();
  json.key("state").begin_object();
  json.member("completed", prediction.completed);
  json.member("incomplete", prediction.incomplete);
  json.member("preemptions", prediction.preemptions);
  json.member("mean_in_flight", prediction.mean_in_flight);
  json.member("mean_context", prediction.mean_context);
  json.member("cached_share", prediction.cached_share);
  json.member("front_end_bound", prediction.front_end_bound);
  json.member("front_end_near", prediction.front_end_near);
  json.end_object();
}

void write_record(document::JsonWriter& json, const ScoredRecord& record) {
  const Evidence& evidence = record.evidence;
  json.begin_object();
  json.member("id", evidence.id);
  json.member("file", evidence.file);
  json.member("line", evidence.line);
  json.member("family", evidence.family);
  json.member("model", evidence.model);
  json.member("gpu", evidence.gpu);
  json.member("tp", evidence.tensor_parallel);
  json.member("workload", evidence.workload);
  json.member("stage", evidence.stage);
  json.member("strategy", evidence.strategy);
  json.member("clock", evidence.server_clock ? "server" : "client");
  json.member("standing",
              evidence::validate::kStandingNames[static_cast<std::size_t>(record.standing)]);
  json.key("reason");
  if (record.reason.empty()) {
    json.null();
  } else {
    json.value(record.reason);
  }
  json.key("left_out").begin_array();
  for (const auto& rows : evidence.left_out) {
    json.value(rows);
  }
  json.end_array();
  json.key("doubts").begin_array();
  for (const auto& warning : evidence.warnings) {
    json.value(warning.code + ": " + warning.message);
  }
  for (const auto& doubt : evidence.doubts) {
    json.value(doubt);
  }
  json.end_array();
  json.key("assumed").begin_array();
  for (const auto& assumption : evidence.assumed) {
    json.value(assumption);
  }
  json.end_array();
  json.key("measured");
  write_given(json, evidence.measured);
  write_prediction(json, record);
  json.key("peers").begin_object();
  for (const auto& peer : evidence.peers) {
    json.key(peer.name).begin_object();
    json.key("predicted");
    write_given(json, peer.figures);
    json.key("error_pct");
    write_figures(json, [&](Figure figure, Level level) {
      return evidence::validate::error_pct(peer.figures, evidence.measured, figure, level);
    });
    json.end_object();
  }
  json.end_object();
  json.end_object();
}

void write_score(document::JsonWriter& json, const ScoreRow& row) {
  json.begin_object();
  json.member("axis", row.axis);
  json.member("value", row.value);
  json.member("metric", kFigureNames[static_cast<std::size_t>(row.figure)]);
  json.member("statistic", kLevelNames[static_cast<std::size_t>(row.level)]);
  json.member("n", row.n);
  json.member("median_abs_pct", row.median_abs);
  json.member("mean_abs_pct", row.mean_abs);
  json.member("mean_signed_pct", row.mean_signed);
  json.member("p95_abs_pct", row.p95_abs);
  json.member("p99_abs_pct", row.p99_abs);
  json.member("share_over_20pct", row.share_over_20);
  json.end_object();
}

void write_peer(document::JsonWriter& json, const PeerRow& row) {
  json.begin_object();
  json.member("simulator", row.peer);
  json.member("metric", kFigureNames[static_cast<std::size_t>(row.figure)]);
  json.member("statistic", kLevelNames[static_cast<std::size_t>(row.level)]);
  json.member("n", row.n);
  json.member("median_abs_pct", row.median_abs);
  json.member("mean_abs_pct", row.mean_abs);
  json.member("p95_abs_pct", row.p95_abs);
  json.member("our_median_abs_pct", row.our_median_abs);
  json.member("our_mean_abs_pct", row.our_mean_abs);
  json.member("our_p95_abs_pct", row.our_p95_abs);
  json.end_object();
}

void write_pair(document::JsonWriter& json,
                std::string_view name,
                const std::optional<ScoreRow>& row) {
  json.key(name);
  if (!row) {
    json.null();
    return;
  }
  json.begin_object();
  json.member("median_abs_pct", row->median_abs);
  json.member("mean_abs_pct", row->mean_abs);
  json.end_object();
}

/// The records whose worst mean is off by more than kGrossError.
void write_outliers(document::JsonWriter& json, const Validation& validation) {
  json.key("outliers").begin_array();
  for (const auto& outlier : evidence::validate::worst_errors(validation.records)) {
    if (std::abs(outlier.error_pct) <= evidence::validate::kGrossError) {
      break;
    }
    json.begin_object();
    json.member("id", validation.records[outlier.record].evidence.id);
    json.member("metric", kFigureNames[static_cast<std::size_t>(outlier.figure)]);
    json.member("error_pct", outlier.error_pct);
    json.end_object();
  }
  json.end_array();
}

void write_ablation(document::JsonWriter& json, const Validation& validation) {
  if (validation.ablation.empty()) {
    return;
  }
  json.key("ablation").begin_array();
  for (const auto& row : validation.ablation) {
    json.begin_object();
    json.member("variant", row.variant);
    json.member("records", row.records);
    write_pair(json, "e2e", row.e2e);
    write_pair(json, "ttft", row.ttft);
    write_pair(json, "tpot", row.tpot);
    json.end_object();
  }
  json.end_array();
}

void write_unseen(document::JsonWriter& json, const Validation& validation) {
  if (validation.unseen.empty()) {
    return;
  }
  json.key("left_out").begin_array();
  for (const auto& row : validation.unseen) {
    json.begin_object();
    json.member("value", row.value);
    json.member("records", row.records);
    for (std::size_t i = 0; i < row.seen.size(); ++i) {
      constexpr std::array<std::string_view, 3> kNames = {"e2e", "ttft", "tpot"};
      write_pair(json, kNames[i], row.seen[i]);
      write_pair(json, fmt::format("{}_without", kNames[i]), row.unseen[i]);
    }
    if (row.fitted.empty()) {
      json.member("changed_most", row.changed_most);
      json.member("changed_pct", row.largest_change_pct);
    } else {
      json.member("fitted", row.fitted);
    }
    json.end_object();
  }
  json.end_array();
}

void write_warnings(document::JsonWriter& json, const Validation& validation) {
  json.key("warnings").begin_array();
  for (const auto& warning : validation.warnings) {
    json.begin_object();
    json.member("code", warning.code);
    json.member("message", warning.message);
    json.member("hint", warning.hint);
    json.end_object();
  }
  json.end_array();
}

}  // namespace

std::string validation_json(const Validation& validation) {
  document::JsonWriter json;
  json.begin_object();
  json.member("schema_version", kValidationSchemaVersion);
  json.key("counts").begin_object();
  json.member("records", validation.records.size());
  for (std::size_t i = 0; i < evidence::validate::kStandingNames.size(); ++i) {
    json.member(evidence::validate::kStandingNames[i], validation.count(static_cast<Standing>(i)));
  }
  json.end_object();
  json.key("scores").begin_array();
  for (const auto& row : validation.scores) {
    write_score(json, row);
  }
  json.end_array();
  json.key("peers").begin_array();
  for (const auto& row : validation.peers) {
    write_peer(json, row);
  }
  json.end_array();
  write_ablation(json, validation);
  write_unseen(json, validation);
  if (validation.coverage) {
    json.key("coverage");
    write_coverage(json, *validation.coverage);
  }
  if (validation.ranking) {
    json.key("ranking");
    write_ranking(json, *validation.ranking);
  }
  write_outliers(json, validation);
  write_warnings(json, validation);
  json.key("records").begin_array();
  for (const auto& record : validation.records) {
    write_record(json, record);
  }
  json.end_array();
  json.end_object();
  return json.text() + "\n";
}

}  // namespace ridgeline::report
