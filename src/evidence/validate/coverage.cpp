#include "evidence/validate/coverage.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/statistics/quantiles.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/scores.hpp"
#include "latency/accuracy/bands.hpp"

namespace ridgeline::evidence::validate {
namespace {

using accuracy::Band;
using accuracy::Metric;
using accuracy::Question;

constexpr std::array<Figure, accuracy::kNumMetrics> kFigures = {
    Figure::kTtft, Figure::kTpot, Figure::kE2e, Figure::kOutputThroughput, Figure::kPower};

bool has_flag(const Evidence& evidence, std::string_view beginning) {
  return std::ranges::any_of(evidence.flags, [&](const std::string& flag) {
    return flag.find(beginning) != std::string::npos;
  });
}

bool counts(const ScoredRecord& record, Metric metric) {
  const Evidence& evidence = record.evidence;
  if (record.standing != Standing::kScored || !record.prediction || evidence.fleet ||
      record.prediction->bound || has_flag(evidence, "do_not_score") ||
      has_flag(evidence, "acceptance not published")) {
    return false;
  }
  if (metric == Metric::kPower) {
    return true;
  }
  const bool is_latency = metric == Metric::kTtft || metric == Metric::kE2e;
  return !evidence.old_engine && !evidence.guessed_load &&
         !(is_latency && record.prediction->overloaded);
}

/// Points within their bands, of one slice.
struct Count {
  std::map<Question, std::array<double, 3>> by_group;  ///< Inside p90, inside p50, all.
  std::vector<double> half_widths;
};

double percent_of(const Count& count, std::size_t which, bool by_group) {
  double inside = 0.0;
  double all = 0.0;
  for (const auto& [group, sums] : count.by_group) {
    inside += by_group ? sums[which] / sums[2] : sums[which];
    all += by_group ? 1.0 : sums[2];
  }
  return 100.0 * inside / all;
}

}  // namespace

std::optional<double> band_error_pct(const ScoredRecord& record, Metric metric) {
  if (!counts(record, metric)) {
    return std::nullopt;
  }
  const Figure figure = kFigures[static_cast<std::size_t>(metric)];
  const auto mean = record.error_pct(figure, Level::kMean);
  return mean ? mean : record.error_pct(figure, Level::kP50);
}

std::vector<ErrorPoint> error_points(const std::vector<ScoredRecord>& records) {
  std::vector<ErrorPoint> points;
  for (std::size_t metric = 0; metric < accuracy::kNumMetrics; ++metric) {
    for (const ScoredRecord& record : records) {
      if (const auto percent = band_error_pct(record, static_cast<Metric>(metric))) {
        const Question& question = record.prediction->likeness;
        points.push_back({.metric = static_cast<Metric>(metric),
                          .question = question,
                          .group = accuracy::group_of(question),
                          .percent = *percent});
      }
    }
  }
  return points;
}

Coverage coverage(const std::vector<ErrorPoint>& points, const BandsFor& bands_for) {
  std::map<std::tuple<Metric, bool, std::string>, Count> counts;
  for (const ErrorPoint& point : points) {
    const auto error =
        accuracy::expected_error(bands_for(point.group), point.question, point.metric);
    if (!error) {
      continue;
    }
    const Band& band = error->band;
    // The empty name comes first: all slices together.
    for (const std::string& slice : {std::string(), band.slice}) {
      Count& count = counts[{point.metric, band.fitted, slice}];
      auto& sums = count.by_group[point.group];
      sums[0] += band.p90.holds(point.percent) ? 1.0 : 0.0;
      sums[1] += band.p50.holds(point.percent) ? 1.0 : 0.0;
      sums[2] += 1.0;
      count.half_widths.push_back(band.p90.half_width());
    }
  }
  Coverage found;
  for (auto& [key, count] : counts) {
    const auto& [metric, is_fitted, slice] = key;
    std::ranges::sort(count.half_widths);
    found.rows.push_back(
        {.metric = metric,
         .slice = slice.empty() ? "every slice" : slice,
         .fitted = is_fitted,
         .groups = std::ssize(count.by_group),
         .records = std::ssize(count.half_widths),
         .inside_p90_pct = percent_of(count, 0, true),
         .inside_p90_records_pct = percent_of(count, 0, false),
         .inside_p50_pct = percent_of(count, 1, true),
         .inside_p50_records_pct = percent_of(count, 1, false),
         .median_half_width_pct = statistics::sorted_quantile(count.half_widths, 0.5)});
  }
  if (found.rows.empty()) {
    found.none = "no record tells of a band's error";
  }
  return found;
}

Coverage coverage(const std::vector<ScoredRecord>& records) {
  return coverage(error_points(records),
                  [](const Question&) -> const accuracy::Bands& { return accuracy::bands(); });
}

}  // namespace ridgeline::evidence::validate
