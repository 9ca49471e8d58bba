#include "evidence/validate/thresholds.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/parse.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/scores.hpp"
#include "evidence/validate/validate.hpp"

namespace ridgeline::evidence::validate {
namespace {

template <class Names>
std::optional<std::size_t> index_in(const Names& names, std::string_view word) {
  const auto found = std::ranges::find(names, word);
  return found == names.end() ? std::nullopt
                              : std::optional(static_cast<std::size_t>(found - names.begin()));
}

core::Result<Threshold> read_threshold(const std::string& text) {
  const auto limit = read_limit(text);
  if (!limit) {
    return core::fail(limit.error());
  }
  Threshold threshold{.text = text, .limit = *limit};
  std::string_view rest = std::string_view(text).substr(0, text.find('='));
  if (const std::size_t colon = rest.find(':'); colon != std::string_view::npos) {
    threshold.over = rest.substr(0, colon);
    rest.remove_prefix(colon + 1);
  }
  if (threshold.over != "median" && threshold.over != "mean" && threshold.over != "p95" &&
      threshold.over != "p99") {
    return core::fail(bad_threshold(text, "expected median, mean, p95 or p99 before the colon"));
  }
  if (const std::size_t dot = rest.find('.'); dot != std::string_view::npos) {
    const auto level = index_in(kLevelNames, rest.substr(dot + 1));
    if (!level) {
      return core::fail(bad_threshold(text, "expected mean, p50, p90 or p99 after the dot"));
    }
    threshold.level = static_cast<Level>(*level);
    rest = rest.substr(0, dot);
  }
  const auto figure = index_in(kFigureNames, rest);
  if (!figure) {
    return core::fail(
        bad_threshold(text, fmt::format("expected one of {}", fmt::join(kFigureNames, ", "))));
  }
  threshold.figure = static_cast<Figure>(*figure);
  return threshold;
}

}  // namespace

core::Error bad_threshold(const std::string& text, const std::string& message) {
  return {.message = fmt::format("\"{}\": {}", text, message),
          .hint = "e2e=5,p95:e2e=15,ttft.p99=20"};
}

core::Result<double> read_limit(const std::string& threshold) {
  const std::size_t equals = threshold.find('=');
  if (equals == std::string::npos) {
    return core::fail(bad_threshold(threshold, "has no limit, expected NAME=PERCENT"));
  }
  const auto limit = core::parse_whole<double>(std::string_view(threshold).substr(equals + 1));
  if (!limit || !(*limit >= 0.0)) {
    return core::fail(bad_threshold(threshold, "its limit is no percentage"));
  }
  return *limit;
}

core::Result<std::vector<Threshold>> read_thresholds(const std::string& text) {
  std::vector<Threshold> thresholds;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    auto threshold = read_threshold(std::string(rest.substr(0, comma)));
    if (!threshold) {
      return core::fail(threshold.error());
    }
    thresholds.push_back(std::move(*threshold));
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
  }
  return thresholds;
}

core::Error over_threshold(const std::string& text,
                           const std::string& name,
                           const std::string& found,
                           double limit) {
  return {.field = text,
          .message = fmt::format("the {} is {}, expected up to {:.6g} %", name, found, limit)};
}

core::Errors missed(const std::vector<Threshold>& thresholds, const Validation& validation) {
  core::Errors errors;
  for (const Threshold& threshold : thresholds) {
    // "p95 error of ttft (p99)"
    const std::string name = fmt::format("{} error of {} ({})",
                                         threshold.over,
                                         kFigureNames[static_cast<std::size_t>(threshold.figure)],
                                         kLevelNames[static_cast<std::size_t>(threshold.level)]);
    const auto row = std::ranges::find_if(validation.scores, [&](const ScoreRow& candidate) {
      return candidate.axis == "all" && candidate.value == "all" &&
             candidate.figure == threshold.figure && candidate.level == threshold.level;
    });
    if (row == validation.scores.end()) {
      errors.push_back(over_threshold(
          threshold.text, name, "not known, as nothing was scored", threshold.limit));
      continue;
    }
    const double value = threshold.over == "median" ? row->median_abs
                         : threshold.over == "mean" ? row->mean_abs
                         : threshold.over == "p95"  ? row->p95_abs
                                                    : row->p99_abs;
    if (value > threshold.limit) {
      errors.push_back(
          over_threshold(threshold.text, name, fmt::format("{:.2f} %", value), threshold.limit));
    }
  }
  return errors;
}

std::optional<core::Error> nothing_readable(const std::vector<Evidence>& records) {
  if (records.empty() || std::ranges::any_of(records, &std::string::empty, &Evidence::problem)) {
    return std::nullopt;
  }
  const Evidence& first = records.front();
  return core::Error{
      .message = fmt::format("none of {} records can be read: {}", records.size(), first.problem),
      .where = {.file = first.file, .line = static_cast<int>(first.line)}};
}

std::optional<core::Error> nothing_scored(const Validation& validation) {
  if (std::ranges::any_of(validation.scores, [](const ScoreRow& row) {
        return row.axis == "all" && row.value == "all";
      })) {
    return std::nullopt;
  }
  const auto& records = validation.records;
  const auto first = std::ranges::find_if_not(records, &std::string::empty, &ScoredRecord::reason);
  if (first == records.end()) {
    return core::Error{.message = fmt::format(
                           "nothing was scored: none of {} records has a number that is predicted",
                           records.size())};
  }
  return core::Error{
      .message = fmt::format("nothing was scored of {} records: {}", records.size(), first->reason),
      .where = {.file = first->evidence.file, .line = static_cast<int>(first->evidence.line)}};
}

}  // namespace ridgeline::evidence::validate
