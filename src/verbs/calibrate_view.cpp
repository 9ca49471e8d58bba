#include "verbs/calibrate_view.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "accuracy/bands.hpp"
#include "core/result.hpp"
#include "document/json_writer.hpp"
#include "evidence/calibrate/alternatives.hpp"
#include "evidence/calibrate/calibrate.hpp"

namespace ridgeline::verbs {
namespace {

using evidence::calibrate::Alternative;
using evidence::calibrate::Calibration;
using evidence::calibrate::FitErrors;

/// What stands for a figure that needs several records.
constexpr const char* kOneRecord = "\u2013: one record";

void write_errors(document::JsonWriter& json, std::string_view name, const FitErrors& errors) {
  json.key(name).begin_object();
  json.member("median_abs_pct", errors.median);
  json.member("mean_abs_pct", errors.mean);
  json.end_object();
}

void write_or_null(document::JsonWriter& json, std::string_view name, std::optional<double> value) {
  json.key(name);
  if (value) {
    json.value(*value);
  } else {
    json.null();
  }
}

const char* metric_name(const accuracy::Band& band) {
  return accuracy::kMetricNames[static_cast<std::size_t>(band.metric)];
}

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

std::string calibration_table(const Calibration& calibration) {
  std::string text = fmt::format(
      "{:<22} {:>12} {:>12}  {}\n", "constant", "before, us", "fitted, us", "90 % interval");
  for (const auto& fitted : calibration.fitted) {
    text += fmt::format("{:<22} {:>12.2f} {:>12.2f}  {}{}\n",
                        fitted.parameter.name,
                        fitted.before,
                        fitted.value,
                        fitted.lowest && fitted.highest
                            ? fmt::format("{:.2f} to {:.2f}", *fitted.lowest, *fitted.highest)
                            : kOneRecord,
                        fitted.at_bound ? "  at its bound" : "");
  }
  for (const auto& left : calibration.left_out) {
    text += fmt::format("{:<22} not fitted: {}\n", left.name, left.reason);
  }
  text += fmt::format("\n{:<24} {:>8} {:>8}\n", "absolute error, %", "median", "mean");
  const auto line = [&](std::string_view name, const FitErrors& errors) {
    text += fmt::format("{:<24} {:>8.2f} {:>8.2f}\n", name, errors.median, errors.mean);
  };
  if (!calibration.unused.empty()) {
    text += fmt::format(
        "{:<24} {} of {} records, the others are not below saturation or not predicted\n",
        "fitted to",
        calibration.records,
        calibration.records + static_cast<std::int64_t>(calibration.unused.size()));
  }
  line("before", calibration.before);
  line("after", calibration.after);
  if (calibration.cross_validated) {
    line("on records left out", *calibration.cross_validated);
    text += "\n";
  } else {
    text += fmt::format("{:<24} {:>8}\n", "on records left out", kOneRecord);
  }
  for (const accuracy::Band& band : calibration.own.bands) {
    text += fmt::format("nine in ten {} predicted {:+.1f} to {:+.1f} % off ({} records)\n",
                        metric_name(band),
                        band.p90.low,
                        band.p90.high,
                        band.records);
  }
  return text;
}

std::string calibration_json(const Calibration& calibration,
                             const std::vector<Alternative>& alternatives) {
  document::JsonWriter json;
  json.begin_object();
  json.member("server", calibration.server.text());
  json.member("records", calibration.records);
  json.member("figures", calibration.figures);
  json.key("fitted").begin_array();
  for (const auto& fitted : calibration.fitted) {
    json.begin_object();
    json.member("name", fitted.parameter.name);
    json.member("unit", fitted.parameter.is_factor ? "" : "us");
    json.member("before", fitted.before);
    json.member("value", fitted.value);
    write_or_null(json, "lowest", fitted.lowest);
    write_or_null(json, "highest", fitted.highest);
    json.member("at_bound", fitted.at_bound);
    json.end_object();
  }
  json.end_array();
  json.key("left_out").begin_array();
  for (const auto& left : calibration.left_out) {
    json.begin_object();
    json.member("name", left.name);
    json.member("reason", left.reason);
    json.end_object();
  }
  json.end_array();
  json.key("unused_records").begin_array();
  for (const auto& record : calibration.unused) {
    json.begin_object();
    json.member("name", record.name);
    json.member("standing", record.standing);
    json.member("reason", record.reason);
    json.end_object();
  }
  json.end_array();
  write_errors(json, "before", calibration.before);
  write_errors(json, "after", calibration.after);
  if (calibration.cross_validated) {
    write_errors(json, "cross_validated", *calibration.cross_validated);
  } else {
    json.key("cross_validated").null();
  }
  json.key("bands").begin_array();
  for (const accuracy::Band& band : calibration.own.bands) {
    json.begin_object();
    json.member("metric", metric_name(band));
    for (const auto& [name, range] :
         {std::pair("p50_pct", band.p50), std::pair("p90_pct", band.p90)}) {
      json.key(name).begin_object();
      json.member("low", range.low);
      json.member("high", range.high);
      json.end_object();
    }
    json.member("records", band.records);
    json.end_object();
  }
  json.end_array();
  json.member("left_pct", calibration.left());
  write_or_null(json, "left_without_bounds_pct", calibration.left_without_bounds);
  json.key("alternatives").begin_array();
  for (const auto& alternative : alternatives) {
    json.begin_object();
    json.member("flag", alternative.flag);
    json.member("left_pct", alternative.left);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return json.text() + "\n";
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
