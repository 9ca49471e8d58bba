#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "accuracy/bands.hpp"
#include "evidence/validate/scores.hpp"

namespace ridgeline::evidence::validate {

/// Signed error in percent of what a band is of: the mean, else the median. Nothing where the
/// record says nothing of a band: it is not scored or a fleet's, its source doubts it, its engine
/// is not simulated or its load is a guess (power apart), its times are bounds, its drafts'
/// acceptance is not known, or the metric is a latency of a queue that grows without end.
[[nodiscard]] std::optional<double> band_error_pct(const ScoredRecord& record,
                                                   accuracy::Metric metric);

/// The bands of the scored records: of deployments that taught the model its constants, and apart
/// from these of those that did not (the third delivery's, unless they are among the former). By
/// engine and loop, by each of engine, kind of layers and loop, and all; each of
/// accuracy::kFewestGroups deployments or more.
[[nodiscard]] accuracy::Bands error_bands(const std::vector<ScoredRecord>& records);

/// By deployment of these records: the bands of all others, as if none of its records were there
/// (constants may have been fitted on it all the same).
[[nodiscard]] std::map<accuracy::Question, accuracy::Bands> bands_left_out(
    const std::vector<ScoredRecord>& records);

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

/// By the bands that are compiled in, or by those of the other deployments of these records: each
/// deployment in turn is left out (of the bands, not of the constants).
enum class CoverageBy : bool { kShipped, kLeftOut };
struct Coverage {
  CoverageBy by = CoverageBy::kShipped;
  std::int64_t deployments = 0;   ///< Whose records tell of a band's error.
  std::vector<CoverageRow> rows;  ///< Per metric, unseen first: all, then each band's.
};
[[nodiscard]] Coverage coverage(const std::vector<ScoredRecord>& records, CoverageBy by);

}  // namespace ridgeline::evidence::validate
