// Is decode attention the streaming of the KV cache?
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "core/result.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/registry.hpp"
#include "lab/studies/study.hpp"
#include "lab/studies/table_statistics.hpp"
#include "latency/measured/kernel_tables.hpp"

namespace ridgeline::studies {
namespace {

/// Least time of a call in these tables: a kernel launched from Python. From the tables' smallest
/// rows but the cold first.
constexpr double kCallFloorUs = 22.5;
/// Rows this far above the floor show the kernel and not the call.
constexpr double kClearOfFloor = 1.2;
constexpr double kTeraBytes = 1e12;
constexpr double kPeakTbs = 3.35;
constexpr double kMicros = 1e6;
constexpr double kLargestMedian = 0.05;

struct Measured {
  double bytes = 0.0;
  double us = 0.0;
};

/// t = fixed + bytes / bandwidth, least squares of relative errors.
struct Line {
  double fixed_us = 0.0;
  double us_per_byte = 0.0;

  [[nodiscard]] double us(double bytes) const {
    return std::max(kCallFloorUs, fixed_us + us_per_byte * bytes);
  }
};

/// The line through the rows that are clear of the call's fixed time.
core::Result<Line> fit(const std::string& heads, const std::vector<Measured>& rows) {
  double ones = 0.0;
  double mixed = 0.0;
  double squares = 0.0;
  double left = 0.0;
  double right = 0.0;
  std::int64_t clear = 0;
  for (const Measured& one : rows) {
    if (one.us <= kClearOfFloor * kCallFloorUs) {
      continue;
    }
    const double x = 1.0 / one.us;
    const double y = one.bytes / one.us;
    ones += x * x;
    mixed += x * y;
    squares += y * y;
    left += x;
    right += y;
    ++clear;
  }
  const double determinant = ones * squares - mixed * mixed;
  const Line line{.fixed_us = (left * squares - right * mixed) / determinant,
                  .us_per_byte = (right * ones - left * mixed) / determinant};
  if (std::isfinite(line.fixed_us) && line.us_per_byte > 0.0) {
    return line;
  }
  return core::fail(
      {.message = fmt::format("decode tables of heads {}: {} of {} rows take more than {} us, "
                              "expected rows of two sizes or more, the larger ones slower",
                              heads,
                              clear,
                              rows.size(),
                              kClearOfFloor * kCallFloorUs)});
}

core::Result<Outcome> run_streaming(const Lab& lab) {
  const auto tables = lab.tables();
  if (!tables) {
    return core::fail(tables.error());
  }
  std::map<std::string, std::vector<Measured>> by_heads;
  for (const auto& table : tables->decode) {
    auto& rows = by_heads[latency::measured::to_string(table.key().shape)];
    // The first row of a file is the cold call (study rounding).
    for (std::size_t i = 1; i < table.rows().size(); ++i) {
      const auto& one = table.rows()[i];
      rows.push_back({.bytes = decode_kv_bytes(table, one), .us = one.latency_us});
    }
  }
  Outcome out;
  out.tables = {{"fits", {}}};
  double worst = 0.0;
  double slowest = kPeakTbs;
  for (const auto& [heads, rows] : by_heads) {
    const core::Result<Line> line = fit(heads, rows);
    if (!line) {
      return core::fail(line.error());
    }
    std::vector<double> errors;
    for (const Measured& one : rows) {
      errors.push_back(std::abs(line->us(one.bytes) / one.us - 1.0));
    }
    const double bandwidth = kMicros / line->us_per_byte / kTeraBytes;
    worst = std::max(worst, quantile(errors, 0.5));
    slowest = std::min(slowest, bandwidth);
    out.tables[0].rows.push_back(row("heads",
                                     heads,
                                     "rows",
                                     std::ssize(rows),
                                     "fixed_us",
                                     line->fixed_us,
                                     "bandwidth_tbs",
                                     bandwidth,
                                     "share_of_peak_pct",
                                     100.0 * bandwidth / kPeakTbs,
                                     "median_error_pct",
                                     100.0 * quantile(errors, 0.5),
                                     "p90_error_pct",
                                     100.0 * quantile(errors, 0.9)));
  }
  out.by_rule = worst <= kLargestMedian ? Verdict::kConfirmed : Verdict::kRefuted;
  out.because = fmt::format("two constants per head shape leave a median error of {:.1f} % at most",
                            100.0 * worst);
  out.finding = fmt::format(
      "Decode attention reads its KV at {:.0f} % of the peak bandwidth or more, on any number of "
      "ranks, after a fixed time. It is additive in the sum of contexts, so that neither the "
      "longest context (H28) nor a mean MFU (H33) is a question.",
      100.0 * slowest / kPeakTbs);
  return out;
}

}  // namespace

Study study_streaming() {
  return {.id = "streaming",
          .title = "Decode attention as streaming",
          .claim = "Decode attention takes a fixed time and the KV bytes over a bandwidth.",
          .arms = {{.name = "tables", .preset = "v2-final", .settings = {constants("h100-final")}}},
          .held_fixed =
              "measured latencies of six head shapes on 1, 2 and 4 ranks; one line per "
              "shape, through all its ranks",
          .refuted_if = "the median error of a shape exceeds 5 % (our threshold)",
          .controls = "ranks: a line that were not of bytes would not hold for all three",
          .reference = Reference::kMeasured,
          .published = Verdict::kNone,
          .scope = "BF16, equal contexts, one H100",
          .not_tested = "batches of unequal contexts; FP8 caches",
          .run = run_streaming};
}

}  // namespace ridgeline::studies
