#include <cstddef>
#include <iterator>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "evidence/validate/evidence.hpp"
#include "evidence/validate/scores.hpp"
#include "evidence/validate/validate.hpp"
#include "report/format.hpp"
#include "report/validation.hpp"
#include "report/validation_coverage.hpp"
#include "report/validation_ranking.hpp"
#include "report/validation_start.hpp"

namespace ridgeline::report {
namespace {

using evidence::validate::kFigureNames;
using evidence::validate::kLevelNames;
using evidence::validate::ScoreRow;
using evidence::validate::Validation;

std::string pair_text(const std::optional<ScoreRow>& row) {
  return row ? fmt::format("{:.2f} / {:.2f}", row->median_abs, row->mean_abs) : "-";
}

std::string scores_markdown(const Validation& validation) {
  std::string text =
      "| axis | value | metric | of | n | median | mean | p95 | p99 | signed |\n"
      "|---|---|---|---|---|---|---|---|---|---|\n";
  for (const auto& row : validation.scores) {
    if (!is_headline(row, validation)) {
      continue;
    }
    text +=
        fmt::format("| {} | {} | {} | {} | {} | {:.2f} | {:.2f} | {:.2f} | {:.2f} | {:+.2f} |\n",
                    row.axis,
                    markdown_cell(row.value),
                    kFigureNames[static_cast<std::size_t>(row.figure)],
                    kLevelNames[static_cast<std::size_t>(row.level)],
                    row.n,
                    row.median_abs,
                    row.mean_abs,
                    row.p95_abs,
                    row.p99_abs,
                    row.mean_signed);
  }
  return text;
}

std::string peers_markdown(const Validation& validation) {
  if (validation.peers.empty()) {
    return {};
  }
  std::string text =
      "\n## Others on the same records\n\n"
      "| simulator | metric | of | n | median | mean | ours, median | ours, mean |\n"
      "|---|---|---|---|---|---|---|---|\n";
  for (const auto& row : validation.peers) {
    text += fmt::format("| {} | {} | {} | {} | {:.1f} | {:.1f} | {:.2f} | {:.2f} |\n",
                        markdown_cell(row.peer),
                        kFigureNames[static_cast<std::size_t>(row.figure)],
                        kLevelNames[static_cast<std::size_t>(row.level)],
                        row.n,
                        row.median_abs,
                        row.mean_abs,
                        row.our_median_abs,
                        row.our_mean_abs);
  }
  return text;
}

std::string ablation_markdown(const Validation& validation) {
  if (validation.ablation.empty()) {
    return {};
  }
  std::string text =
      "\n## What each element is worth\n\nMedian / mean of the absolute error of the mean.\n\n"
      "| variant | records | e2e | ttft | tpot |\n|---|---|---|---|---|\n";
  for (const auto& row : validation.ablation) {
    text += fmt::format("| {} | {} | {} | {} | {} |\n",
                        row.variant,
                        row.records,
                        pair_text(row.e2e),
                        pair_text(row.ttft),
                        pair_text(row.tpot));
  }
  return text;
}

std::string unseen_markdown(const Validation& validation) {
  if (validation.unseen.empty()) {
    return {};
  }
  std::string text =
      "\n## Left out\n\nMedian / mean of the absolute error of the mean; without it: with "
      "constants "
      "refitted to all others' runs.\n\n"
      "| left out | records | e2e | without it | ttft | without it | tpot | without it |\n"
      "|---|---|---|---|---|---|---|---|\n";
  for (const auto& row : validation.unseen) {
    text += fmt::format("| {} | {} |", row.value, row.records);
    for (std::size_t i = 0; i < row.seen.size(); ++i) {
      text += fmt::format(" {} | {} |", pair_text(row.seen[i]), pair_text(row.unseen[i]));
    }
    text += "\n";
  }
  return text;
}

}  // namespace

std::string validation_markdown(const Validation& validation) {
  return fmt::format("# Predicted and measured\n\n{}. Absolute errors in percent.\n\n",
                     standings_text(validation)) +
         scores_markdown(validation) + starts_markdown(validation) + peers_markdown(validation) +
         ablation_markdown(validation) + unseen_markdown(validation) +
         (validation.coverage ? coverage_markdown(*validation.coverage) : "") +
         (validation.ranking ? ranking_markdown(*validation.ranking) : "");
}

}  // namespace ridgeline::report
