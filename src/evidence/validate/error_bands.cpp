#include "evidence/validate/error_bands.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "accuracy/bands.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/scores.hpp"
#include "statistics/quantiles.hpp"

namespace ridgeline::evidence::validate {
namespace {

using accuracy::Axis;
using accuracy::Band;
using accuracy::Bands;
using accuracy::Metric;
using accuracy::Question;

constexpr std::array<Figure, accuracy::kNumMetrics> kFigures = {
    Figure::kTtft, Figure::kTpot, Figure::kE2e, Figure::kOutputThroughput, Figure::kPower};

/// What slices share: none of a GPU or a format has deployments enough.
using Traits = std::vector<Axis>;
const std::vector<Traits>& levels() {
  static const std::vector<Traits> kLevels = {
      {Axis::kEngine, Axis::kLoop}, {Axis::kEngine}, {Axis::kNetwork}, {Axis::kLoop}, {}};
  return kLevels;
}

/// The families of the third delivery, which came after the constants.
constexpr std::string_view kUnseen = "t3-";

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

/// A record's error of one metric, and whose it is.
struct Point {
  Metric metric;
  Question question;
  Question group;
  double percent;
};

std::vector<Point> points_of(const std::vector<ScoredRecord>& records) {
  std::vector<Point> points;
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

std::vector<Question> fitted_groups(const std::vector<ScoredRecord>& records) {
  std::vector<Question> fitted;
  for (const ScoredRecord& record : records) {
    if (record.standing == Standing::kScored && record.prediction && !record.evidence.fleet &&
        !record.evidence.family.starts_with(kUnseen)) {
      fitted.push_back(accuracy::group_of(record.prediction->likeness));
    }
  }
  std::ranges::sort(fitted);
  const auto repeated = std::ranges::unique(fitted);
  fitted.erase(repeated.begin(), repeated.end());
  return fitted;
}

bool is_among(const std::vector<Question>& sorted, const Question& group) {
  return std::ranges::binary_search(sorted, group);
}

std::string slice_name(const Question& values) {
  std::vector<std::string> words;
  for (const Axis axis : {Axis::kEngine, Axis::kNetwork, Axis::kLoop}) {
    if (const std::string& value = values[static_cast<std::size_t>(axis)]; !value.empty()) {
      words.push_back(value);
    }
  }
  return words.empty() ? "all" : fmt::format("{}", fmt::join(words, ", "));
}

/// The bands of all points but those of one deployment.
std::vector<Band> bands_of(const std::vector<Point>& points,
                           const std::vector<Question>& fitted,
                           const Question* left_out = nullptr) {
  using Key = std::tuple<Metric, bool, std::size_t, Question>;
  std::map<Key, std::vector<const Point*>> slices;
  for (const Point& point : points) {
    if (left_out != nullptr && point.group == *left_out) {
      continue;
    }
    for (std::size_t level = 0; level < levels().size(); ++level) {
      Question values;
      for (const Axis axis : levels()[level]) {
        const auto at = static_cast<std::size_t>(axis);
        values[at] = point.question[at];
      }
      slices[{point.metric, is_among(fitted, point.group), level, values}].push_back(&point);
    }
  }
  std::vector<Band> bands;
  for (const auto& [key, inside] : slices) {
    const auto& [metric, is_fitted, level, values] = key;
    std::map<Question, double> votes;
    for (const Point* const point : inside) {
      votes[point->group] += 1.0;
    }
    const std::int64_t groups = std::ssize(votes);
    if (groups < accuracy::kFewestGroups) {
      continue;
    }
    std::vector<accuracy::Weighted> errors;
    for (const Point* const point : inside) {
      errors.push_back({.value = point->percent, .weight = 1.0 / votes[point->group]});
    }
    bands.push_back({.slice = slice_name(values),
                     .values = values,
                     .metric = metric,
                     .fitted = is_fitted,
                     .groups = groups,
                     .records = std::ssize(inside),
                     .p50 = accuracy::conformal_range(errors, groups, 0.5),
                     .p90 = accuracy::conformal_range(errors, groups, 0.9)});
  }
  return bands;
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

Bands error_bands(const std::vector<ScoredRecord>& records) {
  Bands found{.fitted = fitted_groups(records), .bands = {}};
  found.bands = bands_of(points_of(records), found.fitted);
  return found;
}

std::map<Question, Bands> bands_left_out(const std::vector<ScoredRecord>& records) {
  const std::vector<Point> points = points_of(records);
  const std::vector<Question> fitted = fitted_groups(records);
  std::map<Question, Bands> found;
  for (const ScoredRecord& record : records) {
    if (record.prediction) {
      const Question group = accuracy::group_of(record.prediction->likeness);
      if (const auto [place, is_new] = found.try_emplace(group); is_new) {
        place->second = {.fitted = fitted, .bands = bands_of(points, fitted, &group)};
      }
    }
  }
  return found;
}

Coverage coverage(const std::vector<ScoredRecord>& records, CoverageBy by) {
  const std::vector<Point> points = points_of(records);
  const auto left_out =
      by == CoverageBy::kLeftOut ? bands_left_out(records) : std::map<Question, Bands>();
  std::map<std::tuple<Metric, bool, std::string>, Count> counts;
  for (const Point& point : points) {
    const Bands& bands = by == CoverageBy::kLeftOut ? left_out.at(point.group) : accuracy::bands();
    const auto error = accuracy::expected_error(bands, point.question, point.metric);
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
  std::set<Question> deployments;
  for (const Point& point : points) {
    deployments.insert(point.group);
  }
  Coverage found{.by = by, .deployments = std::ssize(deployments), .rows = {}};
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
  return found;
}

}  // namespace ridgeline::evidence::validate
