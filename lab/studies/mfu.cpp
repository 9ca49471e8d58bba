// What the MFU column of the tables is: achieved FLOP/s over which peak, counting which FLOPs?
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
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

/// Half of the last digit: MFU has three decimals, latency in microseconds too.
constexpr double kHalfDigit = 0.0005;
constexpr double kMicrosecondsToSeconds = 1e-6;
constexpr double kTeraFlops = 1e12;
/// Data sheet of the H100 SXM, dense, TFLOP/s.
constexpr double kBf16Peak = 989.5;
constexpr double kFp8Peak = 1979.0;

/// Peaks that explain every row: the intersection of what each row allows.
class PeakInterval {
 public:
  void add(double flops, double latency_us, double mfu) {
    ++rows_;
    const double slow = (latency_us + kHalfDigit) * kMicrosecondsToSeconds;
    const double fast = (latency_us - kHalfDigit) * kMicrosecondsToSeconds;
    rows_within_.push_back({flops / slow / (mfu + kHalfDigit) / kTeraFlops,
                            mfu > kHalfDigit ? flops / fast / (mfu - kHalfDigit) / kTeraFlops
                                             : std::numeric_limits<double>::infinity()});
    lowest_ = std::max(lowest_, rows_within_.back().first);
    highest_ = std::min(highest_, rows_within_.back().second);
  }
  [[nodiscard]] document::Node node(const char* table, const char* convention) const {
    return row("table",
               table,
               "flops",
               convention,
               "rows",
               static_cast<std::int64_t>(rows_),
               "lowest_peak_tflops",
               lowest_,
               "highest_peak_tflops",
               highest_,
               "one_peak_explains_all",
               lowest_ <= highest_,
               "rows_at_bf16_peak",
               explained(kBf16Peak),
               "rows_at_fp8_peak",
               explained(kFp8Peak));
  }
  [[nodiscard]] bool holds(double peak) const { return lowest_ <= peak && peak <= highest_; }

 private:
  [[nodiscard]] std::int64_t explained(double peak) const {
    return std::ranges::count_if(rows_within_, [&](const std::pair<double, double>& bounds) {
      return bounds.first <= peak && peak <= bounds.second;
    });
  }

  std::int64_t rows_ = 0;
  double lowest_ = 0.0;
  double highest_ = std::numeric_limits<double>::max();
  std::vector<std::pair<double, double>> rows_within_;
};

core::Result<Outcome> run_mfu(const Lab& lab) {
  const auto tables = lab.tables();
  if (!tables) {
    return core::fail(tables.error());
  }
  PeakInterval gemm;
  for (const auto& measured : tables->gemm.rows()) {
    gemm.add(gemm_flops(measured), measured.latency_us, measured.mfu);
  }
  PeakInterval causal;
  PeakInterval dense;
  for (const auto& table : tables->prefill) {
    for (const auto& measured : table.rows()) {
      const double flops = prefill_flops(table.shape(), measured);
      causal.add(flops, measured.latency_us, measured.mfu);
      dense.add(2.0 * flops, measured.latency_us, measured.mfu);
    }
  }
  PeakInterval decode;
  for (const auto& table : tables->decode) {
    for (const auto& measured : table.rows()) {
      decode.add(decode_flops(table, measured), measured.latency_us, measured.mfu);
    }
  }
  Outcome out;
  out.tables = {{"peaks",
                 {gemm.node("gemm", "2 m k n"),
                  causal.node("prefill", "causal half"),
                  dense.node("prefill", "whole square"),
                  decode.node("decode", "query heads of a rank")}}};
  const bool consistent =
      gemm.holds(kFp8Peak) && causal.holds(kBf16Peak) && decode.holds(kBf16Peak);
  out.by_rule = consistent ? Verdict::kRefuted : Verdict::kUndecided;
  out.because = consistent ? "one data sheet peak explains every row of each table"
                           : "no data sheet peak of the H100 explains every row";
  constexpr double kPublishedDivisor = 1.8;
  out.finding =
      "MFU has no meaning of its own: it is achieved FLOP/s over the peak that the benchmark was "
      "given, to three decimals. `kernels check` finds that peak in any table. ";
  if (gemm.holds(kFp8Peak)) {
    out.finding += fmt::format(
        "In these tables the GEMMs are FP8 kernels: priced over the BF16 peak they come out {:.3g} "
        "times as slow as measured. ",
        kFp8Peak / kBf16Peak);
  }
  if (causal.holds(kBf16Peak)) {
    out.finding += fmt::format(
        "Prefill attention counts the causal half, so that dense FLOPs over {:.3g} come out {:.2f} "
        "times as measured; 2 would give the measured time back. ",
        kPublishedDivisor,
        2.0 / kPublishedDivisor);
  }
  out.finding += "Use latencies.";
  return out;
}

}  // namespace

Study study_mfu() {
  return {.id = "mfu",
          .title = "What MFU means",
          .claim = "MFU values above 1 show a physical meaning beyond achieved over peak FLOP/s.",
          .arms = {{.name = "tables", .preset = "v2-final", .settings = {constants("h100-final")}}},
          .held_fixed = "the tables; FLOPs recomputed from shapes",
          .refuted_if = "for each table one data sheet peak explains all rows within their digits",
          .controls = "the other convention of prefill's FLOPs, which only twice the peak explains",
          .reference = Reference::kMeasured,
          .published = Verdict::kUndecided,
          .scope = "the tables at hand; `ridgeline kernels check` does this for any",
          .not_tested = "the older tables, which were quoted and not published",
          .run = run_mfu};
}

}  // namespace ridgeline::studies
