#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "evidence/validate/scores.hpp"
#include "latency/accuracy/bands.hpp"

namespace ridgeline::evidence::validate {

/// Signed error in percent of what a band is of: the mean, else the median. Nothing where the
/// record says nothing of a band: it is not scored or a fleet's, its source doubts it, its engine
/// is not simulated or its load is a guess (power apart), its times are bounds, its drafts'
/// acceptance is not known, or the metric is a latency of a queue that grows without end.
[[nodiscard]] std::optional<double> band_error_pct(const ScoredRecord& record,
                                                   accuracy::Metric metric);

/// A record's error of one metric, and whose it is.
struct ErrorPoint {
  accuracy::Metric metric = accuracy::Metric::kTpot;
  accuracy::Question question = {};
  accuracy::Question group = {};  ///< Its deployment.
  double percent = 0.0;
};
[[nodiscard]] std::vector<ErrorPoint> error_points(const std::vector<ScoredRecord>& records);

/// How many truths lie within the bands that their predictions are shown with.
struct CoverageRow {
  accuracy::Metric metric = accuracy::Metric::kTpot;
  std::string slice;  ///< Slice of the band; "all".
  bool fitted = false;
  std::int64_t groups = 0;
  std::int64_t records = 0;
  double inside_p90_pct = 0.0;  ///< Each deployment counts once.
  double inside_p90_records_pct = 0.0;
  double inside_p50_pct = 0.0;
  double inside_p50_records_pct = 0.0;
  double median_half_width_pct = 0.0;  ///< Half width of p90, over the records.
};

struct Coverage {
  std::vector<CoverageRow> rows;  ///< Per metric, unseen first: all, then each band's.
  std::string none = {};          ///< Why there are no rows.
};
/// By the bands that are compiled in.
[[nodiscard]] Coverage coverage(const std::vector<ScoredRecord>& records);
/// By the bands of each deployment.
using BandsFor = std::function<const accuracy::Bands&(const accuracy::Question& group)>;
[[nodiscard]] Coverage coverage(const std::vector<ErrorPoint>& points, const BandsFor& bands_for);

}  // namespace ridgeline::evidence::validate
