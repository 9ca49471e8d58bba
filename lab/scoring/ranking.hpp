#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lab/scoring/evidence_words.hpp"
#include "lab/scoring/left_out_bands.hpp"

/// Measured ranking: whether predictions pick the deployment that measurements pick. Records of one
/// network, precision and workload are a group of deployments (GPU, parallelism, clients) to choose
/// from; a question is a pair of limits on the mean times; the choice is the cheapest deployment
/// that is sure enough to meet both. What is scored is what the choice costs, not how ranks agree.
namespace ridgeline::scoring {

/// Groups of fewer points offer no choice.
inline constexpr std::size_t kFewestPoints = 3;
/// The questions: every pair of these limits on the mean TPOT and on the mean TTFT, in ms.
inline constexpr std::array<double, 12> kTpotLimits = {
    5.0, 7.5, 10.0, 12.5, 15.0, 20.0, 25.0, 30.0, 40.0, 50.0, 75.0, 100.0};
inline constexpr std::array<double, 6> kTtftLimits = {
    200.0, 500.0, 1'000.0, 2'000.0, 5'000.0, 10'000.0};
inline constexpr std::array<double, 2> kConfidences = {0.5, 0.9};
/// Bins of how sure the picks were said to be.
inline constexpr std::array<double, 7> kSureEdges = {0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0};
inline constexpr std::size_t kSureBins = kSureEdges.size() - 1;
/// A bin is calibrated where its share of picks that hold is within this of what was said.
inline constexpr double kCalibrated = 0.10;

/// The picks of one group, or of all, at one confidence.
struct RankingRow {
  std::string group;
  std::int64_t points = 0;
  std::int64_t deployments = 0;  ///< Points that differ in more than the number of clients.
  std::int64_t picks = 0;        ///< Questions that the predictions answer.
  std::int64_t violations = 0;   ///< Picks that measured break a limit.
  double worst_over_pct = 0.0;   ///< Over the limit, of these.
  /// Cost of the pick over that of the measured best, in percent, over the questions that both
  /// sides answer; 0 for one that breaks a limit and costs less than the best that keeps it.
  double mean_regret_pct = 0.0;
  double p90_regret_pct = 0.0;
  double max_regret_pct = 0.0;
  std::int64_t one_sided = 0;  ///< Questions that only one side can answer.

  [[nodiscard]] double violations_pct() const {
    return picks == 0 ? 0.0 : 100.0 * static_cast<double>(violations) / static_cast<double>(picks);
  }
};

struct SureBin {
  double from = 0.0;
  double to = 0.0;
  std::int64_t picks = 0;
  std::int64_t deployments = 0;     ///< That were picked.
  double said = 0.0;                ///< Mean probability that was said of them.
  double held = 0.0;                ///< Share that met both limits.
  double held_by_deployment = 0.0;  ///< `held` with each deployment counted once.

  [[nodiscard]] bool calibrated() const;
};

struct RankingAt {
  double confidence = 0.5;
  std::vector<RankingRow> groups;
  RankingRow all;
};

struct Ranking {
  BandsOf by = BandsOf::kLeftOut;         ///< Whose bands say how sure a pick is.
  std::vector<RankingAt> by_confidence;   ///< In the order of kConfidences.
  std::array<SureBin, kSureBins> bins{};  ///< Picks of all confidences.
  std::int64_t small_groups = 0;          ///< Groups of fewer than kFewestPoints: not asked about.
  std::int64_t without_band = 0;          ///< Points of which nothing is sure: never picked.
};

/// How sure a point is to meet a limit follows from the error bands of the records' other
/// deployments (bands_left_out, accuracy::probability_below); of both limits, from the one surer to
/// be missed. Where the records are of too few deployments for a band, those compiled in stand for
/// them. Throughput, of both sides, is clients x answer / (TTFT + TPOT x (answer - 1)); a GPU costs
/// relative_price().
[[nodiscard]] Ranking rank(const std::vector<ScoredRecord>& records);

/// Price of a GPU-hour, an H100's being 1: 1.2 for an H200, by the ranking's own rule; others by
/// what owners pay (InferenceX, April 2026). 1 where nothing is known.
[[nodiscard]] double relative_price(const std::string& gpu);

}  // namespace ridgeline::scoring
