#include "lab/studies/on_servers.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "evidence/validate/evidence.hpp"
#include "lab/studies/gains.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/measured_arms.hpp"
#include "lab/studies/study.hpp"

namespace ridgeline::studies {
namespace {

using evidence::validate::Figure;

/// A group of fewer runs decides nothing (ours).
constexpr std::int64_t kLeastRuns = 10;

/// The split that loses most: its row, or nullptr where none loses.
const document::Node* worst_split(const StudyTable& gains) {
  const document::Node* worst = nullptr;
  for (const document::Node& one : gains.rows) {
    const double points = one.find("gain_points")->as_real();
    if (points < 0.0 && (worst == nullptr || points < worst->find("gain_points")->as_real())) {
      worst = &one;
    }
  }
  return worst;
}

void decide_change(const std::vector<Group>& groups,
                   const Pair& arms,
                   const ServerRule& rule,
                   const StudyTable& gains,
                   Outcome& out) {
  std::vector<std::string> parts;
  std::int64_t met = 0;
  for (const Group& group : groups) {
    const auto gain = gain_of(group.runs, arms, Figure::kTpot);
    if (!gain || gain->runs < kLeastRuns) {
      continue;
    }
    met += gain->points >= rule.least_gain ? 1 : 0;
    parts.push_back(fmt::format("{} ({} runs): {:.1f} to {:.1f} %",
                                group.name,
                                gain->runs,
                                gain->baseline,
                                gain->treatment));
  }
  out.by_rule = parts.empty()              ? Verdict::kUndecided
                : met == std::ssize(parts) ? Verdict::kConfirmed
                : met == 0                 ? Verdict::kRefuted
                                           : Verdict::kPartlyConfirmed;
  out.because = fmt::format("mean error of the time per output token: {}", fmt::join(parts, "; "));
  const document::Node* worst = worst_split(gains);
  if (rule.most_loss > 0.0 && worst != nullptr &&
      worst->find("gain_points")->as_real() < -rule.most_loss) {
    out.by_rule = out.by_rule == Verdict::kConfirmed ? Verdict::kPartlyConfirmed : out.by_rule;
    out.because += fmt::format("; {} {} of {} loses {:.1f} points",
                               worst->find("axis")->as_string(),
                               worst->find("value")->as_string(),
                               worst->find("group")->as_string(),
                               -worst->find("gain_points")->as_real());
  }
}

/// "silicon, closed: -8.1 % signed before, -2.0 % after", of every group.
std::string signed_errors(const std::vector<Group>& groups, const Pair& arms) {
  std::vector<std::string> parts;
  for (const Group& group : groups) {
    parts.push_back(fmt::format("{} {:+.1f} % before and {:+.1f} % after",
                                group.name,
                                mean_signed(group.runs, arms.baseline, Figure::kTpot),
                                mean_signed(group.runs, arms.treatment, Figure::kTpot)));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

}  // namespace

core::Result<Outcome> judge_changes(const Lab& lab,
                                    const std::vector<Change>& changes,
                                    const ServerRule& rule) {
  Outcome out;
  if (lab.options().measured.empty()) {
    out.because = "it needs measured servers";
    out.finding = "Not tested without measured servers.";
    out.skipped.push_back({.part = "the arms on measured servers", .needs = "--measured FILE"});
    return out;
  }
  const auto runs = score_arms(lab.arms(), lab.options());
  if (!runs) {
    return core::fail(runs.error());
  }
  const auto groups = groups_of(*runs);
  out.tables = {errors_table("measured_tpot", groups, lab.arms(), Figure::kTpot),
                errors_table("measured_ttft", groups, lab.arms(), Figure::kTtft),
                errors_table("measured_e2e", groups, lab.arms(), Figure::kE2e)};
  for (const Change& change : changes) {
    out.tables.push_back(gains_table(change.name, groups, change.arms, Figure::kTpot));
    Effect effect{.name = change.name, .values = {}};
    for (const ScoredRun& run : *runs) {
      constexpr auto kMean = evidence::validate::Level::kMean;
      const auto before = run.predicted[change.arms.baseline].at(Figure::kTpot, kMean);
      const auto after = run.predicted[change.arms.treatment].at(Figure::kTpot, kMean);
      if (before && after) {
        effect.values.emplace_back(*before, *after);
      }
    }
    out.effects.push_back(std::move(effect));
  }
  decide_change(groups, changes.front().arms, rule, out.tables[3], out);
  out.finding = fmt::format("{} Here, signed errors of the time per output token: {}.",
                            rule.published,
                            signed_errors(groups, changes.front().arms));
  return out;
}

}  // namespace ridgeline::studies
