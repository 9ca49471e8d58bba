#include "latency/measured/contradictions.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "latency/measured/check.hpp"
#include "latency/measured/check_kernel.hpp"
#include "latency/measured/check_rows.hpp"
#include "latency/measured/data_sheets.hpp"
#include "latency/measured/kernel_tables.hpp"
#include "latency/measured/peaks.hpp"

namespace ridgeline::latency::measured {
namespace {

constexpr double kFlopsOfTera = 1e12;
constexpr double kSecondsOfMicro = 1e-6;
/// The first counting of a kernel that has one only.
constexpr std::size_t kOnly = 0;

double rate_of(const CheckedRow& row, std::size_t convention) {
  return row.flops[convention] / (row.latency_us * kSecondsOfMicro) / kFlopsOfTera;
}

/// "148 TFLOP/s, the dense BF16 peak of h20"
std::string peak_in_words(const Convention& convention) {
  return fmt::format(
      "{:.5g} TFLOP/s, {}",
      convention.peak.middle(),
      convention.data_sheets.empty() ? "which no data sheet here has" : convention.data_sheets);
}

/// The row whose MFU has most digits.
const CheckedRow& most_telling(const std::vector<CheckedRow>& rows) {
  return *std::ranges::max_element(rows, {}, &CheckedRow::mfu);
}

Finding wrong_peak(const std::vector<CheckedRow>& rows,
                   const KernelCheck& kernel,
                   const std::string& own_name,
                   double own) {
  const CheckedRow& row = most_telling(rows);
  const double factor = own / kernel.convention.peak.middle();
  return {.code = "wrong-peak",
          .file = row.file,
          .line = row.line,
          .message = fmt::format(
              "the MFUs are shares of {}, and not of {}, {:.5g}: {:.4g} times what they should be, "
              "unless the times are wrong. {}: {} us, found {}, which is {:.3g} of that peak",
              peak_in_words(kernel.convention),
              own_name,
              own,
              factor,
              row.what,
              row.latency_us,
              row.mfu,
              row.mfu / factor)};
}

void add_beating_row(const KernelCheck& kernel, std::vector<Finding>& findings) {
  const auto& row = kernel.convention.beating;
  if (row) {
    findings.push_back(
        {.code = "beats-peak",
         .file = row->file,
         .line = row->line,
         .message = fmt::format("{}: {:.4g} TFLOP/s by {}, the least of the ways of counting that "
                                "explain the table, is above the {:.5g} that {} can do",
                                row->what,
                                row->tflops,
                                kernel.convention.name,
                                row->most_tflops,
                                kernel.gpu)});
  }
}

}  // namespace

void judge_attention(const std::vector<CheckedRow>& rows,
                     const KnownPeaks& peaks,
                     const KernelCheck& kernel,
                     std::vector<Finding>& findings) {
  if (peaks.gpu.empty() || rows.empty()) {
    return;
  }
  add_beating_row(kernel, findings);
  const double own = rows.front().most_tflops;
  const bool one_format =
      std::ranges::all_of(rows, [&](const CheckedRow& row) { return row.most_tflops == own; });
  if (one_format && !is_peak(kernel.convention.peak, own)) {
    findings.push_back(wrong_peak(rows, kernel, fmt::format("the peak of {}", peaks.gpu), own));
  }
}

void judge_gemm(const std::vector<CheckedRow>& rows,
                const KnownPeaks& peaks,
                double attention_peak,
                KernelCheck& kernel,
                std::vector<Finding>& findings) {
  if (rows.empty()) {
    return;
  }
  add_beating_row(kernel, findings);
  const auto& peak = kernel.convention.peak;
  const CheckedRow& fastest = *std::ranges::max_element(
      rows, {}, [](const CheckedRow& row) { return rate_of(row, kOnly); });
  const double rate = rate_of(fastest, kOnly);
  const bool above_bf16 = is_above(rate, peaks.bf16);
  if (above_bf16) {
    Convention bf16 = kernel.convention;
    bf16.name += ", BF16 kernels";
    bf16.beating = BeatingRow{.file = fastest.file,
                              .line = fastest.line,
                              .what = fastest.what,
                              .tflops = rate,
                              .most_tflops = peaks.bf16};
    kernel.other.insert(kernel.other.begin(), std::move(bf16));
    kernel.convention.name += peaks.fp8 > 0.0 ? ", FP8 kernels" : ", INT8 kernels";
  }
  const bool of_8bit = is_peak(peak, peaks.eight_bit);
  if (of_8bit || (peaks.gpu.empty() && is_peak(peak, 2.0 * attention_peak))) {
    findings.push_back(
        {.code = "fp8-as-bf16",
         .file = fastest.file,
         .line = 0,
         .message = fmt::format(
             "the MFUs are shares of {:.5g} TFLOP/s, {}: these are FP8 kernels. With a BF16 peak, "
             "a model predicts twice their time",
             peak.middle(),
             of_8bit ? kernel.convention.data_sheets : "twice that of the attention kernels")});
  } else if (above_bf16) {
    findings.push_back(
        wrong_peak(rows,
                   kernel,
                   fmt::format("the 8-bit peak of {}, which these kernels need", peaks.gpu),
                   peaks.eight_bit));
  } else if (!peaks.gpu.empty() && !is_peak(peak, peaks.bf16)) {
    findings.push_back(
        wrong_peak(rows, kernel, fmt::format("the BF16 peak of {}", peaks.gpu), peaks.bf16));
  }
}

bool is_contradiction(const Finding& finding) {
  constexpr std::array<std::string_view, 4> kCodes = {
      "impossible-row", "mfu-above-1", "wrong-peak", "beats-peak"};
  return std::ranges::find(kCodes, finding.code) != kCodes.end();
}

core::Warnings contradictions_of(const KernelTables& tables) {
  const KnownPeaks peaks = known_peaks(tables.gpu);
  core::Warnings warnings;
  if (peaks.gpu.empty()) {
    return warnings;
  }
  const auto warn = [&](const char* name, std::span<const Finding> findings) {
    const auto count = std::ranges::count_if(findings, is_contradiction);
    // The last one is of the table as a whole, where there is one.
    const auto worst = std::ranges::find_if(findings.rbegin(), findings.rend(), is_contradiction);
    if (count > 0) {
      warnings.push_back({.code = "W-table-contradiction",
                          .message = fmt::format("{} in {} ({} {} of this kind): {}",
                                                 name,
                                                 worst->file,
                                                 count,
                                                 count == 1 ? "contradiction" : "contradictions",
                                                 worst->message),
                          .hint = fmt::format("ridgeline kernels check {}", tables.directory)});
    }
  };
  const auto attention = [&](const char* name, const auto& rows, const auto& countings) {
    std::vector<Finding> findings;
    if (!rows.empty()) {
      KernelCheck kernel;
      kernel.gpu = tables.gpu;
      check_mfu(countings, rows, peaks.bf16, kernel, findings);
      judge_attention(rows, peaks, kernel, findings);
    }
    warn(name, findings);
  };
  attention("decode attention", all_checked_rows(tables.decode, peaks), decode_countings());
  attention("prefill attention", all_checked_rows(tables.prefill, peaks), prefill_countings());
  if (const auto rows = checked_rows(tables.gemm, peaks); !rows.empty()) {
    std::vector<Finding> findings;
    KernelCheck kernel;
    kernel.gpu = tables.gpu;
    check_mfu(gemm_countings(), rows, 0.0, kernel, findings);
    judge_gemm(rows, peaks, 0.0, kernel, findings);
    warn("gemm", findings);
  }
  return warnings;
}

}  // namespace ridgeline::latency::measured
