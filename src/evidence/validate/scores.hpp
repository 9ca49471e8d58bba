#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evidence/validate/evidence.hpp"
#include "evidence/validate/prediction.hpp"

namespace ridgeline::evidence::validate {

/// What became of a record.
enum class Standing : std::uint8_t {
  kScored,
  kSaturated,     ///< Measured beyond what the server can take: scored apart.
  kContradicted,  ///< Its own sweep says that it was not measured at its load: scored apart.
  kUnpredicted,   ///< Read, but of a network, GPU or setting that is not simulated.
  kUnreadable,    ///< Not understood.
};
inline constexpr std::array<const char*, 5> kStandingNames = {
    "scored", "saturated", "contradicted", "unpredicted", "unreadable"};

struct ScoredRecord {
  Evidence evidence;
  std::optional<Prediction> prediction;
  Standing standing = Standing::kScored;
  std::string reason;  ///< Why it is not kScored.

  /// Signed error in percent: positive where the prediction is too high.
  [[nodiscard]] std::optional<double> error_pct(Figure figure, Level level) const;
};

/// Signed error in percent of a prediction; nothing where either is absent.
[[nodiscard]] std::optional<double> error_pct(const Figures& predicted,
                                              const Figures& measured,
                                              Figure figure,
                                              Level level);

/// Errors of one figure over the records that share a trait. All in percent of the measurement.
struct ScoreRow {
  std::string axis;
  std::string value;
  Figure figure = Figure::kE2e;
  Level level = Level::kMean;
  std::int64_t n = 0;
  double median_abs = 0.0;
  double mean_abs = 0.0;
  double mean_signed = 0.0;
  double p95_abs = 0.0;
  double p99_abs = 0.0;
  double share_over_20 = 0.0;  ///< Share of the records, from 0 to 100.
};

/// A scored record whose mean of some figure is off by more than kGrossError.
struct Outlier {
  std::size_t record = 0;  ///< Its place among the records.
  Figure figure = Figure::kE2e;
  double error_pct = 0.0;  ///< Signed: the worst of its figures.
};
/// Errors above are counted apart, and their records named. Percent.
inline constexpr double kGrossError = 20.0;
/// The scored records' worst errors of a mean, the largest first.
[[nodiscard]] std::vector<Outlier> worst_errors(const std::vector<ScoredRecord>& records);

/// Another simulator and ours on the records that it predicted.
struct PeerRow {
  std::string peer;
  Figure figure = Figure::kE2e;
  Level level = Level::kMean;
  std::int64_t n = 0;
  double median_abs = 0.0;
  double mean_abs = 0.0;
  double p95_abs = 0.0;
  double our_median_abs = 0.0;
  double our_mean_abs = 0.0;
  double our_p95_abs = 0.0;
};

/// Contradicted by its sweep (Evidence::contradicted), or else below saturation or not: flags,
/// throughput below 97 % of the offered rate (less where a client's result states only the rate of
/// random arrivals, whose number is small), clients of a closed loop that need more KV cache than
/// there is, or a fleet's first tokens after tens of seconds.
[[nodiscard]] Standing standing_of(const Evidence& evidence,
                                   const PartPrediction& result,
                                   std::string& reason);

/// Rows by axis: `all` first (with the values `saturated` and `contradicted` for those records),
/// then family, model, gpu, tp, workload, strategy, policy (fleets alone), cached, stage, start (a
/// server's first requests alone, or not), phase, bound, batch and context. The phase is `prefill`
/// where at least half of a measured answer's time is before its first token, `decode` where at
/// most a tenth is, `mixed` between; `unknown` where one of the two was not measured. The bound is
/// `front end` where the simulated API server set the rate, `front end near` where it would on a
/// usual host (sim::front_end_warning), else `engine`. Values in order of their first record;
/// figures and levels in the order of their enumerations.
[[nodiscard]] std::vector<ScoreRow> score(const std::vector<ScoredRecord>& records);
/// "1", "2-3", "4-7", ...: how batches and contexts are grouped.
[[nodiscard]] std::string power_bucket(double value);
/// The names of the axes, `all` first.
[[nodiscard]] std::span<const std::string_view> score_axes();
/// Records with a prediction that count, by their values on one axis or on several crossed:
/// "16-31, prefill". In order of their first record.
struct ScoreGroup {
  std::string value;
  std::vector<const ScoredRecord*> records;
};
[[nodiscard]] std::vector<ScoreGroup> groups_by(const std::vector<ScoredRecord>& records,
                                                const std::vector<std::string>& axes);
/// Rows of these axes crossed, named "batch, phase".
[[nodiscard]] std::vector<ScoreRow> score_by(const std::vector<ScoredRecord>& records,
                                             const std::vector<std::string>& axes);
[[nodiscard]] std::vector<PeerRow> score_peers(const std::vector<ScoredRecord>& records);

/// The errors' statistics; `errors` are signed and not empty.
[[nodiscard]] ScoreRow summarise_errors(std::vector<double> errors);

}  // namespace ridgeline::evidence::validate
