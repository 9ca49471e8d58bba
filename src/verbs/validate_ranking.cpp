#include "verbs/validate_ranking.hpp"

#include <algorithm>
#include <cstddef>
#include <string>

#include <fmt/format.h>

#include "accuracy/bands.hpp"
#include "evidence/validate/error_bands.hpp"
#include "evidence/validate/ranking.hpp"
#include "report/format.hpp"
#include "report/palette.hpp"

namespace ridgeline::verbs {
namespace {

using evidence::validate::CoverageBy;
using evidence::validate::Ranking;
using evidence::validate::RankingAt;
using evidence::validate::RankingRow;
using evidence::validate::SureBin;

constexpr std::size_t kGroupWidth = 52;

std::string row_text(const RankingRow& row, const report::TextStyle& style) {
  const std::string violations =
      row.violations == 0 ? std::string("0")
                          : fmt::format("{} ({:.0f})", row.violations, row.worst_over_pct);
  return fmt::format(
      "{} {:>6} {:>5} {:>9} {:>6.2f} {:>6.1f} {:>6.1f} {:>10} {:>9}\n",
      report::pad_right(
          report::shortened(report::printable(row.group, style.ascii), kGroupWidth, style.ascii),
          kGroupWidth),
      row.points,
      row.deployments,
      row.picks,
      row.mean_regret_pct,
      row.p90_regret_pct,
      row.max_regret_pct,
      violations,
      row.one_sided);
}

std::string bands_words(const Ranking& ranking) {
  std::string words =
      ranking.by == CoverageBy::kShipped
          ? fmt::format(
                "the bands that results are shown with, as these records are of too few "
                "deployments for their own ({}); records that made those bands judge themselves",
                accuracy::kFewestGroups)
          : "error bands of the other deployments";
  if (ranking.without_band > 0) {
    words += fmt::format("; {} without one, never picked",
                         report::counted(ranking.without_band, "point"));
  }
  return words;
}

}  // namespace

std::string ranking_text(const Ranking& ranking, const report::TextStyle& style) {
  std::string text;
  for (const RankingAt& at : ranking.by_confidence) {
    text += fmt::format(
        "\n{} {:>6} {:>5} {:>9} {:>6} {:>6} {:>6} {:>10} {:>9}\n",
        report::pad_right(fmt::format("ranking at {:.0f} %: regret, %", 100 * at.confidence),
                          kGroupWidth),
        "points",
        "kinds",
        "picks",
        "mean",
        "p90",
        "max",
        "broken (%)",
        "one side");
    for (const RankingRow& row : at.groups) {
      text += row_text(row, style);
    }
    text += row_text(at.all, style);
    text += fmt::format("{:.1f} % of the picks break a limit\n", at.all.violations_pct());
  }
  text += fmt::format(
      "\nhow sure: by {}\nsure of a pick, %   picks   said   held   deployments   held\n",
      bands_words(ranking));
  for (const SureBin& bin : ranking.bins) {
    text += fmt::format("{:>3.0f} to {:<12.0f} {:>5} {:>6.1f} {:>6.1f} {:>13} {:>6.1f}{}\n",
                        100 * bin.from,
                        100 * bin.to,
                        bin.picks,
                        100 * bin.said,
                        100 * bin.held,
                        bin.deployments,
                        100 * bin.held_by_deployment,
                        bin.calibrated() ? "" : "   off");
  }
  return text;
}

std::string ranking_markdown(const Ranking& ranking) {
  std::string text;
  for (const RankingAt& at : ranking.by_confidence) {
    text += fmt::format(
        "\n## Ranking at {:.0f} % confidence\n\n"
        "| group | points, kinds | picks | regret mean / p90 / max % | broken (worst % over) |\n"
        "|---|---|---|---|---|\n",
        100 * at.confidence);
    const auto add = [&](const RankingRow& row) {
      text += fmt::format("| {} | {}, {} | {} | {:.2f} / {:.1f} / {:.1f} | {} ({:.0f}) |\n",
                          row.group,
                          row.points,
                          row.deployments,
                          row.picks,
                          row.mean_regret_pct,
                          row.p90_regret_pct,
                          row.max_regret_pct,
                          row.violations,
                          row.worst_over_pct);
    };
    std::ranges::for_each(at.groups, add);
    add(at.all);
  }
  text += fmt::format(
      "\nHow sure: by {}.\n\n| sure of a pick, % | picks | said | held | deployments | held |\n"
      "|---|---|---|---|---|---|\n",
      bands_words(ranking));
  for (const SureBin& bin : ranking.bins) {
    text += fmt::format("| {:.0f} to {:.0f} | {} | {:.1f} | {:.1f} | {} | {:.1f} |\n",
                        100 * bin.from,
                        100 * bin.to,
                        bin.picks,
                        100 * bin.said,
                        100 * bin.held,
                        bin.deployments,
                        100 * bin.held_by_deployment);
  }
  return text;
}

}  // namespace ridgeline::verbs
