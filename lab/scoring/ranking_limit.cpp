#include "lab/scoring/ranking_limit.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "evidence/validate/thresholds.hpp"
#include "lab/scoring/ranking.hpp"

namespace ridgeline::scoring {
namespace {

constexpr std::string_view kRegret = "regret";
constexpr std::string_view kViolations = "violations";

/// A share of the ranking; nothing where none was asked for or nothing was picked.
std::optional<double> share_of(const RankingLimit& limit, const std::optional<Ranking>& ranking) {
  if (!ranking) {
    return std::nullopt;
  }
  const auto at =
      std::ranges::find(ranking->by_confidence, limit.confidence, &RankingAt::confidence);
  if (at == ranking->by_confidence.end() || at->all.picks == 0) {
    return std::nullopt;
  }
  return limit.of == kRegret ? at->all.mean_regret_pct : at->all.violations_pct();
}

}  // namespace

core::Result<RankingLimit> read_ranking_limit(const std::string& text) {
  const auto limit = read_limit(text);
  if (!limit) {
    return core::fail(limit.error());
  }
  const std::string_view name = std::string_view(text).substr(0, text.find('='));
  const std::size_t at = name.find('@');
  RankingLimit found{.text = text, .of = std::string(name.substr(0, at)), .limit = *limit};
  for (const double confidence : kConfidences) {
    if (at != std::string_view::npos && name.substr(at + 1) == fmt::format("{}", confidence)) {
      found.confidence = confidence;
    }
  }
  if ((found.of != kRegret && found.of != kViolations) || found.confidence == 0.0) {
    return core::fail(bad_threshold(text, "expected regret or violations, @0.5 or @0.9"));
  }
  return found;
}

core::Errors missed(const std::vector<RankingLimit>& limits,
                    const std::optional<Ranking>& ranking) {
  core::Errors errors;
  for (const RankingLimit& limit : limits) {
    const auto share = share_of(limit, ranking);
    if (share && *share <= limit.limit) {
      continue;
    }
    errors.push_back(over_threshold(
        limit.text,
        fmt::format("ranking's {} at {}", limit.of, limit.confidence),
        share ? fmt::format("{:.2f} %", *share) : "not known, as nothing was picked (--ranking)",
        limit.limit));
  }
  return errors;
}

}  // namespace ridgeline::scoring
