// What three decimals of MFU and a cold first call cost.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/registry.hpp"
#include "lab/studies/study.hpp"
#include "lab/studies/table_statistics.hpp"
#include "latency/measured/kernel_tables.hpp"
#include "latency/measured/lookup.hpp"

namespace ridgeline::studies {
namespace {

constexpr double kDecodePeak = 989.5e12;
constexpr double kUsToSeconds = 1e-6;
/// A first row this much slower than the fastest row of more work is no kernel's time.
constexpr double kOutlier = 1.3;
/// The study's own limit of what rounding may cost.
constexpr double kTolerable = 0.02;

/// The rate that stands in for a row that reads 0, by the published rule, over the row's own.
double stand_in_over_measured(const latency::measured::DecodeTable& table,
                              const latency::measured::DecodeRow& zero) {
  const double own = decode_flops(table, zero) / (kDecodePeak * zero.latency_us * kUsToSeconds);
  const auto stand_in = latency::measured::look_up_decode(table, zero.batch_size, zero.kv_len, {});
  return stand_in.mfu / own;
}

/// stand_in_over_measured() of a GEMM. Its table's peak is that of the rows beside it, which have
/// digits.
double gemm_stand_in_over_measured(const latency::measured::GemmTable& table,
                                   const latency::measured::GemmRow& zero) {
  double peak = 0.0;
  double digits = 0.0;
  for (const auto& other : table.rows()) {
    if (other.mfu > digits) {
      digits = other.mfu;
      peak = gemm_flops(other) / (other.latency_us * kUsToSeconds * other.mfu);
    }
  }
  if (peak == 0.0) {
    return 0.0;
  }
  const double own = gemm_flops(zero) / (peak * zero.latency_us * kUsToSeconds);
  const auto target = latency::measured::find_gemm_column(
      table, zero.k, zero.n, latency::measured::LookupMode::kInterpolate);
  return latency::measured::look_up_gemm(table, target, zero.m, {}).mfu / own;
}

/// What the decode tables of a folder add up to.
struct RoundingTotals {
  std::int64_t zeros = 0;
  std::int64_t outliers = 0;
  double worst_median = 0.0;
  double fastest_stand_in = 0.0;  ///< Among rows that read 0.
};

document::Node table_row(const latency::measured::DecodeTable& table, RoundingTotals& totals) {
  std::int64_t zero_rows = 0;
  double stand_in = 0.0;
  std::vector<double> errors;
  double fastest_of_more = table.rows().front().latency_us;
  for (const auto& measured : table.rows()) {
    if (measured.mfu < latency::measured::kZeroMfu) {
      ++zero_rows;
      stand_in = std::max(stand_in, stand_in_over_measured(table, measured));
      continue;
    }
    const double seconds = decode_flops(table, measured) / (kDecodePeak * measured.mfu);
    errors.push_back(std::abs(seconds / (measured.latency_us * kUsToSeconds) - 1.0));
    fastest_of_more = std::min(fastest_of_more, measured.latency_us);
  }
  const double first = table.rows().front().latency_us;
  const bool cold = first > kOutlier * fastest_of_more;
  const double median = quantile(errors, 0.5);
  totals.fastest_stand_in = std::max(totals.fastest_stand_in, stand_in);
  totals.zeros += zero_rows;
  totals.outliers += cold ? 1 : 0;
  totals.worst_median = std::max(totals.worst_median, median);
  return row("table",
             fmt::format("{}-tp{}",
                         latency::measured::to_string(table.key().shape),
                         table.key().tensor_parallel_size),
             "rows",
             std::ssize(table.rows()),
             "rows_that_read_zero",
             zero_rows,
             "stand_in_over_measured",
             stand_in > 0.0 ? cell(stand_in) : document::Node(),
             "median_error_pct",
             100.0 * median,
             "largest_error_pct",
             100.0 * quantile(errors, 1.0),
             "first_row_us",
             first,
             "fastest_row_us",
             fastest_of_more,
             "first_row_is_an_outlier",
             cold);
}

core::Result<Outcome> run_rounding(const Lab& lab) {
  const auto tables = lab.tables();
  if (!tables) {
    return core::fail(tables.error());
  }
  Outcome out;
  out.tables = {{"decode_tables", {}}, {"gemm_tables", {}}};
  RoundingTotals totals;
  for (const auto& table : tables->decode) {
    out.tables[0].rows.push_back(table_row(table, totals));
  }
  const auto gemm_zeros = std::ranges::count_if(tables->gemm.rows(), [](const auto& measured) {
    return measured.mfu < latency::measured::kZeroMfu;
  });
  double gemm_stand_in = 0.0;
  for (const auto& zero : tables->gemm.rows()) {
    if (zero.mfu < latency::measured::kZeroMfu) {
      gemm_stand_in = std::max(gemm_stand_in, gemm_stand_in_over_measured(tables->gemm, zero));
    }
  }
  out.tables[1].rows.push_back(row("rows",
                                   std::ssize(tables->gemm.rows()),
                                   "rows_that_read_zero",
                                   gemm_zeros,
                                   "stand_in_over_measured",
                                   gemm_zeros > 0 ? cell(gemm_stand_in) : document::Node()));
  out.by_rule = totals.worst_median <= kTolerable && totals.zeros == 0 ? Verdict::kConfirmed
                                                                       : Verdict::kRefuted;
  out.because = fmt::format("median error of a table up to {:.1f} %, {} rows that read 0",
                            100.0 * totals.worst_median,
                            totals.zeros);
  out.finding = fmt::format(
      "Time from MFU gives the measured latency back but for its digits, and decode's MFU has one "
      "or two. The {} rows of decode attention that read 0 are no missing measurements: they were "
      "rounded away, and are then replaced by another row's rate, up to {:.0f} times faster; {} "
      "rows of GEMMs read 0. In {} of {} files the first timed row is slower than rows of more "
      "work: a warm-up, not a kernel.",
      totals.zeros,
      totals.fastest_stand_in,
      gemm_zeros,
      totals.outliers,
      tables->decode.size());
  return out;
}

}  // namespace

Study study_rounding() {
  return {.id = "rounding",
          .title = "Three decimals, and the first call",
          .claim = "MFU to three decimals is precise enough to price decode attention.",
          .arms = {{.name = "tables", .preset = "v2-final", .settings = {constants("h100-final")}}},
          .held_fixed = "the decode tables; time recomputed as FLOPs over MFU and 989.5 TFLOP/s",
          .refuted_if = "a table's median error exceeds 2 % (our threshold), or rows read 0",
          .controls = "prefill tables, whose MFU has three digits (study rank)",
          .reference = Reference::kMeasured,
          .published = Verdict::kNone,
          .scope = "decode attention on an H100",
          .not_tested = "kernels under CUDA graphs, without the floor of a call from Python",
          .run = run_rounding};
}

}  // namespace ridgeline::studies
