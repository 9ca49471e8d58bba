#include "verbs/calibrate_view.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "document/node_path.hpp"
#include "evidence/calibrate/alternatives.hpp"
#include "evidence/calibrate/calibrate.hpp"
#include "report/chart/figure.hpp"
#include "report/html_page.hpp"
#include "report/table/sheet.hpp"
#include "report/table/table.hpp"

namespace ridgeline::verbs {
namespace {

using document::Node;
using evidence::calibrate::Alternative;
using evidence::calibrate::Calibration;
using report::figures::number_at;

/// What stands for a figure that needs several records.
constexpr const char* kOneRecord = "\u2013: one record";

std::string interval_of(const Node& fitted) {
  const Node& lowest = node_at(fitted, "lowest");
  const Node& highest = node_at(fitted, "highest");
  return (lowest.is_number() && highest.is_number()
              ? fmt::format("{:.2f} to {:.2f}", lowest.as_real(), highest.as_real())
              : std::string(kOneRecord)) +
         (node_at(fitted, "at_bound").describe() == "true" ? "  at its bound" : "");
}

const report::TableView kFitted{
    .columns = {
        {.title = "constant", .path = "name", .width = 22},
        {.title = "before, us", .path = "before", .format = report::Format::kFixed2, .width = 11},
        {.title = "fitted, us", .path = "value", .format = report::Format::kFixed2, .width = 11},
        {.title = "90 % interval", .cell = interval_of}}};

const report::TableView kFitErrors{
    .columns = {{.title = "absolute error, %", .path = "name", .width = 24},
                {.title = "median",
                 .path = "of.median_abs_pct",
                 .format = report::Format::kFixed2,
                 .width = 7},
                {.title = "mean",
                 .path = "of.mean_abs_pct",
                 .format = report::Format::kFixed2,
                 .width = 7}}};

std::string left_text(const Calibration& calibration, double expected) {
  return fmt::format(
      "with the constants fitted the error is {:.1f} % of the time per output token and {:.1f} % "
      "of "
      "all figures (median), expected up to {:.0f} %",
      calibration.left_of_tpot.value_or(0.0),
      calibration.after.median,
      expected);
}

/// "--gpu gh200 leaves 0.6 %", or where nothing is found another hint.
std::string hint_of(const std::vector<Alternative>& alternatives, std::string_view otherwise) {
  std::vector<std::string> texts;
  for (const auto& alternative : alternatives) {
    texts.push_back(fmt::format("{} leaves {:.1f} %", alternative.flag, alternative.left));
  }
  return texts.empty() ? std::string(otherwise) : fmt::format("{}", fmt::join(texts, ", "));
}

/// "close_time (100000 us), host_step_time (5000 us)"
std::string bounds_text(const Calibration& calibration) {
  std::vector<std::string> names;
  for (const auto& fitted : calibration.at_bounds()) {
    names.push_back(fmt::format("{} ({:.6g}{})",
                                fitted.parameter.name,
                                fitted.value,
                                fitted.parameter.is_factor ? "" : " us"));
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Constants at their bounds, where only those explain the measurements.
std::string bounds_mismatch(const Calibration& calibration) {
  return fmt::format(
      "{} ended at the bound of the fit, which no server is known to have; without "
      "the error is {:.1f} %, expected up to {:.0f} %",
      bounds_text(calibration),
      calibration.left_without_bounds.value_or(0.0),
      evidence::calibrate::kLeftByKernels);
}

}  // namespace

report::Sheet calibration_sheet(const Node& tree) {
  constexpr std::size_t kConstant = 23;
  constexpr std::size_t kErrors = 25;
  report::Sheet sheet("Calibration");
  sheet.table(kFitted, report::rows_at(tree, "fitted"));
  for (const Node* left : report::rows_at(tree, "left_out")) {
    sheet.row("not fitted: " + report::text_at(*left, "reason"),
              report::text_at(*left, "name"),
              kConstant);
  }
  std::vector<Node> errors;
  for (const auto& [key, name] : {std::pair("before", "before"),
                                  std::pair("after", "after"),
                                  std::pair("cross_validated", "on records left out")}) {
    if (const Node& of = node_at(tree, key); of.is_map()) {
      errors.push_back(document::MapBuilder().add("name", name).add("of", of));
    }
  }
  sheet.gap().table(kFitErrors, std::move(errors));
  if (node_at(tree, "cross_validated").is_null()) {
    sheet.row(kOneRecord, "on records left out", kErrors);
  } else {
    sheet.gap();
  }
  const auto unused = static_cast<std::int64_t>(report::rows_at(tree, "unused_records").size());
  if (unused > 0) {
    const std::int64_t used = std::llround(number_at(tree, "records"));
    sheet.row(fmt::format("{} of {} records, the others are not below saturation or not predicted",
                          used,
                          used + unused),
              "fitted to",
              kErrors);
  }
  for (const Node* band : report::rows_at(tree, "bands")) {
    sheet.row(fmt::format("nine in ten {} predicted {:+.1f} to {:+.1f} % off ({} records)",
                          report::text_at(*band, "metric"),
                          number_at(*band, "p90_pct.low"),
                          number_at(*band, "p90_pct.high"),
                          number_at(*band, "records")));
  }
  return sheet;
}

core::Warnings calibration_warnings(const Calibration& calibration) {
  core::Warnings warnings;
  const auto warn = [&](std::string code, std::string message, std::string hint = {}) {
    warnings.push_back(
        {.code = std::move(code), .message = std::move(message), .hint = std::move(hint)});
  };
  constexpr std::size_t kMostNamed = 10;
  const auto& unused = calibration.unused;
  const std::size_t named = std::min(unused.size(), kMostNamed);
  for (std::size_t i = 0; i < named; ++i) {
    warn("W-record-unused",
         fmt::format("{} is {}: it is not fitted: {}",
                     unused[i].name,
                     unused[i].standing,
                     unused[i].reason));
  }
  if (named < unused.size()) {
    warn("W-record-unused",
         fmt::format("{} more records are not fitted", unused.size() - named),
         "--format json has all");
  }
  for (const auto& fitted : calibration.at_bounds()) {
    warn("W-at-bound",
         fmt::format("{} ended at its bound of {:.6g}{}: the GPU, the precision or a flag may be "
                     "another than the server's",
                     fitted.parameter.name,
                     fitted.value,
                     fitted.parameter.is_factor ? "" : " us"));
  }
  // A synchronous server's steps take the host's time as well: enough of it explains any kernels.
  constexpr double kTimesBuiltIn = 3.0;
  for (const auto& fitted : calibration.fitted) {
    if (fitted.parameter.name == "host_step_time" && fitted.before > 0.0 &&
        fitted.value > kTimesBuiltIn * fitted.before) {
      warn("W-host-step",
           fmt::format("host_step_time is fitted at {:.4g} us, {:.2g} times what servers spend: so "
                       "much may stand in for kernels of another GPU or precision, or for a flag",
                       fitted.value,
                       fitted.value / fitted.before),
           "validate with the server's own --quantization, --gpu and --no-async-scheduling");
    }
  }
  return warnings;
}

core::Error calibration_mismatch(const Calibration& calibration,
                                 const std::vector<Alternative>& alternatives) {
  return {.message = "kernels do not match: wrong GPU, precision or flags: " +
                     (calibration.left() > evidence::calibrate::kLeftByKernels
                          ? left_text(calibration, evidence::calibrate::kLeftByKernels)
                          : bounds_mismatch(calibration)),
          .hint = hint_of(alternatives, "validate shows the errors of each record")};
}

core::Warning calibration_doubt(const Calibration& calibration,
                                const std::vector<Alternative>& alternatives) {
  return {.code = "W-kernels-in-doubt",
          .message = left_text(calibration, evidence::calibrate::kLeftInDoubt) +
                     ": the GPU, the precision or a flag may be another than the server's",
          .hint = hint_of(alternatives, "no other GPU of the catalogue leaves half as much")};
}

}  // namespace ridgeline::verbs
