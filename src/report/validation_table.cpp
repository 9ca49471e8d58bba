#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "evidence/validate/evidence.hpp"
#include "evidence/validate/scores.hpp"
#include "evidence/validate/validate.hpp"
#include "report/csv_cells.hpp"
#include "report/format.hpp"
#include "report/palette.hpp"
#include "report/validation.hpp"
#include "report/validation_coverage.hpp"
#include "report/validation_ranking.hpp"
#include "report/validation_start.hpp"
#include "report/warning_lines.hpp"

namespace ridgeline::report {
namespace {

using evidence::validate::Figure;
using evidence::validate::kFigureNames;
using evidence::validate::kLevelNames;
using evidence::validate::kNumFigures;
using evidence::validate::kNumLevels;
using evidence::validate::Level;
using evidence::validate::ScoreRow;
using evidence::validate::Standing;
using evidence::validate::Validation;

/// Records named as outliers, at least and at most.
constexpr std::size_t kFewestOutliers = 8;
constexpr std::size_t kMostOutliers = 40;
constexpr std::size_t kNameWidth = 46;

/// Those that say which kind of work is predicted worst: of them the mean of e2e.
bool is_work_axis(std::string_view axis) {
  return axis == "phase" || axis == "batch" || axis == "context";
}

/// Width of the column of metrics.
std::size_t metric_width(const Validation& validation) {
  std::size_t width = std::string_view("throughput").size();
  for (const auto& row : validation.scores) {
    const std::string_view name = kFigureNames[static_cast<std::size_t>(row.figure)];
    width = std::max(width, name.size());
  }
  return width;
}

std::string score_line(const ScoreRow& row, std::size_t width, const TextStyle& style) {
  return fmt::format(
      "{} {:<{}} {:<4} {:>4}  {:>6.2f} {:>7.2f} {:>7.2f} {:>7.2f} {:>+7.2f}\n",
      pad_right(
          shortened(printable(row.axis + " " + row.value, style.ascii), kNameWidth, style.ascii),
          kNameWidth),
      kFigureNames[static_cast<std::size_t>(row.figure)],
      width,
      kLevelNames[static_cast<std::size_t>(row.level)],
      row.n,
      row.median_abs,
      row.mean_abs,
      row.p95_abs,
      row.p99_abs,
      row.mean_signed);
}

bool has_mean(const ScoreRow& row, const Validation& validation) {
  return std::ranges::any_of(validation.scores, [&](const ScoreRow& other) {
    return other.level == Level::kMean && other.figure == row.figure && other.axis == row.axis &&
           other.value == row.value;
  });
}

std::string scores_text(const Validation& validation, const TextStyle& style) {
  const std::size_t width = metric_width(validation);
  std::string text = fmt::format("{} {:<{}} {:<4} {:>4}  {:>6} {:>7} {:>7} {:>7} {:>7}\n",
                                 pad_right("absolute error, %", kNameWidth),
                                 "metric",
                                 width,
                                 "of",
                                 "n",
                                 "median",
                                 "mean",
                                 "p95",
                                 "p99",
                                 "signed");
  for (const auto& row : validation.scores) {
    const bool tail = row.level == Level::kP99 && row.figure == Figure::kE2e;
    const bool shown = row.level == Level::kMean || tail ||
                       (row.level == Level::kP50 && !has_mean(row, validation));
    const bool of_work =
        is_work_axis(row.axis) && row.level == Level::kMean && row.figure == Figure::kE2e;
    if (of_work || (is_headline(row, validation) && shown)) {
      text += score_line(row, width, style);
    }
  }
  return text;
}

std::string peers_text(const Validation& validation) {
  std::string text;
  for (const auto& row : validation.peers) {
    if (row.level != Level::kMean) {
      continue;
    }
    text += fmt::format("{:<32} {:<6} {:>4}  {:>6.1f} {:>6.1f}   {:>6.2f} {:>6.2f}\n",
                        row.peer,
                        kFigureNames[static_cast<std::size_t>(row.figure)],
                        row.n,
                        row.median_abs,
                        row.mean_abs,
                        row.our_median_abs,
                        row.our_mean_abs);
  }
  if (text.empty()) {
    return text;
  }
  return fmt::format("\n{:<32} {:<6} {:>4}  {:>6} {:>6}   {:>6} {:>6}\n",
                     "on the same records, %",
                     "metric",
                     "n",
                     "median",
                     "mean",
                     "ours",
                     "ours") +
         text;
}

/// The records whose worst mean is off by more than kGrossError; where few are, the next worst too.
std::string outliers_text(const Validation& validation, const TextStyle& style) {
  const auto outliers = evidence::validate::worst_errors(validation.records);
  const auto gross = static_cast<std::size_t>(std::ranges::count_if(
      outliers,
      [](double error) { return error > evidence::validate::kGrossError; },
      [](const auto& outlier) { return std::abs(outlier.error_pct); }));
  const std::size_t shown =
      std::min(outliers.size(), std::clamp(gross, kFewestOutliers, kMostOutliers));
  std::string text = outliers.empty() ? ""
                                      : fmt::format("\nlargest errors; {} of {} over {:.0f} %\n",
                                                    gross,
                                                    counted(std::ssize(outliers), "record"),
                                                    evidence::validate::kGrossError);
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& outlier = outliers[i];
    text += fmt::format("  {:>+7.1f} % {:<6} {}\n",
                        outlier.error_pct,
                        kFigureNames[static_cast<std::size_t>(outlier.figure)],
                        printable(validation.records[outlier.record].evidence.id, style.ascii));
  }
  if (gross > shown) {
    text += fmt::format("  and {} more over {:.0f} %: outliers in JSON\n",
                        gross - shown,
                        evidence::validate::kGrossError);
  }
  return text;
}

/// The records that were not scored, those of one reason on one line.
std::string left_out_text(const Validation& validation, const TextStyle& style) {
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  for (const auto& record : validation.records) {
    if (record.standing == Standing::kScored) {
      continue;
    }
    std::string reason =
        fmt::format("{}: {}",
                    evidence::validate::kStandingNames[static_cast<std::size_t>(record.standing)],
                    record.reason);
    auto known = std::ranges::find(reasons, reason, [](const auto& pair) { return pair.first; });
    if (known == reasons.end()) {
      known = reasons.emplace(known, std::move(reason), std::vector<std::string>());
    }
    known->second.push_back(record.evidence.id);
  }
  std::string text;
  for (const auto& [reason, ids] : reasons) {
    text += fmt::format("  {:>4} {} ({}{})\n",
                        ids.size(),
                        printable(reason, style.ascii),
                        printable(ids.front(), style.ascii),
                        ids.size() > 1 ? ", ..." : "");
  }
  return text.empty() ? text : "\nnot among the scored\n" + text;
}

std::string notes_text(const Validation& validation, const TextStyle& style) {
  return validation.warnings.empty() ? "" : "\n" + warning_lines(validation.warnings, style);
}

std::string ablation_text(const Validation& validation) {
  if (validation.ablation.empty()) {
    return {};
  }
  std::string text = fmt::format("\n{:<29} {:>7} {:>15} {:>15} {:>15}\n",
                                 "median / mean error, %",
                                 "concern",
                                 "e2e",
                                 "ttft",
                                 "tpot");
  const auto cell = [](const std::optional<ScoreRow>& row) {
    return row ? fmt::format("{:.2f} / {:.2f}", row->median_abs, row->mean_abs) : "-";
  };
  for (const auto& row : validation.ablation) {
    text += fmt::format("{:<29} {:>7} {:>15} {:>15} {:>15}\n",
                        row.variant,
                        row.records,
                        cell(row.e2e),
                        cell(row.ttft),
                        cell(row.tpot));
  }
  return text;
}

/// "0.52 / 1.20": median and mean.
std::string unseen_cell(const std::optional<ScoreRow>& row) {
  return row ? fmt::format("{:.2f} / {:.2f}", row->median_abs, row->mean_abs) : "-";
}

std::string unseen_text(const Validation& validation) {
  if (validation.unseen.empty()) {
    return {};
  }
  std::string text =
      "\nwithout it: constants refitted to all others' runs; median / mean error, %\n" +
      fmt::format("{:<22} {:>7} {:>13} {:>13} {:>13} {:>13} {:>13} {:>13}  changed most\n",
                  "left out",
                  "records",
                  "e2e",
                  "without it",
                  "ttft",
                  "without it",
                  "tpot",
                  "without it");
  for (const auto& row : validation.unseen) {
    text += fmt::format("{:<22} {:>7}", row.value, row.records);
    for (std::size_t i = 0; i < row.seen.size(); ++i) {
      text += fmt::format(" {:>13} {:>13}", unseen_cell(row.seen[i]), unseen_cell(row.unseen[i]));
    }
    text += row.fitted.empty()
                ? fmt::format("  {} {:+.0f} %\n", row.changed_most, row.largest_change_pct)
                : fmt::format("  {}\n", row.fitted);
  }
  return text;
}

}  // namespace

bool is_headline(const ScoreRow& row, const Validation& validation) {
  const auto of_front_end = [](const ScoreRow& other) {
    return other.axis == "bound" && other.value != "engine";
  };
  return row.axis == "all" || row.axis == "family" || row.axis == "model" || row.axis == "gpu" ||
         (row.axis == "bound" && std::ranges::any_of(validation.scores, of_front_end));
}

std::string standings_text(const Validation& validation) {
  std::string text = counted(std::ssize(validation.records), "record");
  for (std::size_t i = 0; i < evidence::validate::kStandingNames.size(); ++i) {
    text += fmt::format("{} {} {}",
                        i == 0 ? ":" : ",",
                        validation.count(static_cast<Standing>(i)),
                        evidence::validate::kStandingNames[i]);
  }
  return text;
}

std::string validation_table(const Validation& validation, const TextStyle& style) {
  return scores_text(validation, style) + starts_text(validation, style) + peers_text(validation) +
         ablation_text(validation) + unseen_text(validation) +
         (validation.coverage ? coverage_text(*validation.coverage) : "") +
         (validation.ranking ? ranking_text(*validation.ranking, style) : "") +
         outliers_text(validation, style) + left_out_text(validation, style) +
         notes_text(validation, style) + fmt::format("\n{}\n", standings_text(validation));
}

std::string validation_csv(const Validation& validation) {
  std::string text =
      "id,family,model,gpu,tp,stage,standing,metric,statistic,measured,predicted,error_pct\n";
  for (const auto& record : validation.records) {
    const auto& evidence = record.evidence;
    const std::string head =
        fmt::format("{},{},{},{},{},{},{}",
                    csv_cell(evidence.id),
                    csv_cell(evidence.family),
                    csv_cell(evidence.model),
                    csv_cell(evidence.gpu),
                    evidence.tensor_parallel,
                    csv_cell(evidence.stage),
                    evidence::validate::kStandingNames[static_cast<std::size_t>(record.standing)]);
    if (!record.prediction) {
      text += head + ",,,,,\n";
      continue;
    }
    for (std::size_t cell = 0; cell < kNumFigures * kNumLevels; ++cell) {
      const auto figure = static_cast<Figure>(cell / kNumLevels);
      const auto level = static_cast<Level>(cell % kNumLevels);
      const auto error = record.error_pct(figure, level);
      if (error) {
        text += fmt::format("{},{},{},{},{},{}\n",
                            head,
                            kFigureNames[static_cast<std::size_t>(figure)],
                            kLevelNames[static_cast<std::size_t>(level)],
                            *evidence.measured.at(figure, level),
                            *record.prediction->figures.at(figure, level),
                            *error);
      }
    }
  }
  return text;
}

}  // namespace ridgeline::report
