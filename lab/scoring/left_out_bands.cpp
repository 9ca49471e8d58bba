#include "lab/scoring/left_out_bands.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "evidence/validate/coverage.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/scores.hpp"
#include "latency/accuracy/bands.hpp"

namespace ridgeline::scoring {
namespace {

using accuracy::Axis;
using accuracy::Band;
using accuracy::Bands;
using accuracy::Metric;
using accuracy::Question;
using accuracy::Range;

/// What slices share: none of a GPU or a format has deployments enough.
using Traits = std::vector<Axis>;
const std::vector<Traits>& levels() {
  static const std::vector<Traits> kLevels = {
      {Axis::kEngine, Axis::kLoop}, {Axis::kEngine}, {Axis::kNetwork}, {Axis::kLoop}, {}};
  return kLevels;
}

/// The families of the third delivery, which came after the constants.
constexpr std::string_view kUnseen = "t3-";

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

/// Nine of ten deployments are to lie within the wide band, and nine of ten records, of which large
/// campaigns have many of one deployment.
Range hull(const Range& a, const Range& b) {
  return {.low = std::min(a.low, b.low), .high = std::max(a.high, b.high)};
}

/// The bands of all points but those of one deployment.
std::vector<Band> bands_of(const std::vector<ErrorPoint>& points,
                           const std::vector<Question>& fitted,
                           const Question* left_out = nullptr) {
  using Key = std::tuple<Metric, bool, std::size_t, Question>;
  std::map<Key, std::vector<const ErrorPoint*>> slices;
  for (const ErrorPoint& point : points) {
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
    for (const ErrorPoint* const point : inside) {
      votes[point->group] += 1.0;
    }
    const std::int64_t groups = std::ssize(votes);
    if (groups < accuracy::kFewestGroups) {
      continue;
    }
    std::vector<accuracy::Weighted> errors;
    std::vector<accuracy::Weighted> by_record;
    const double share = static_cast<double>(groups) / static_cast<double>(inside.size());
    for (const ErrorPoint* const point : inside) {
      errors.push_back({.value = point->percent, .weight = 1.0 / votes[point->group]});
      by_record.push_back({.value = point->percent, .weight = share});
    }
    bands.push_back({.slice = slice_name(values),
                     .values = values,
                     .metric = metric,
                     .fitted = is_fitted,
                     .groups = groups,
                     .records = std::ssize(inside),
                     .p50 = accuracy::conformal_range(errors, groups, 0.5),
                     .p90 = hull(accuracy::conformal_range(errors, groups, 0.9),
                                 accuracy::conformal_range(by_record, groups, 0.9))});
  }
  return bands;
}

}  // namespace

Bands error_bands(const std::vector<ScoredRecord>& records) {
  Bands found{.fitted = fitted_groups(records), .bands = {}};
  found.bands = bands_of(error_points(records), found.fitted);
  return found;
}

std::map<Question, Bands> bands_left_out(const std::vector<ScoredRecord>& records) {
  const std::vector<ErrorPoint> points = error_points(records);
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

Coverage coverage_left_out(const std::vector<ScoredRecord>& records) {
  const std::vector<ErrorPoint> points = error_points(records);
  const std::map<Question, Bands> left_out = bands_left_out(records);
  Coverage found =
      coverage(points, [&](const Question& group) -> const Bands& { return left_out.at(group); });
  std::set<Question> deployments;
  for (const ErrorPoint& point : points) {
    deployments.insert(point.group);
  }
  if (found.rows.empty() && !deployments.empty()) {
    found.none = fmt::format(
        "a band needs {} deployments of a kind beside the one that is left out; these records are "
        "of {}",
        accuracy::kFewestGroups,
        deployments.size());
  }
  return found;
}

}  // namespace ridgeline::scoring
