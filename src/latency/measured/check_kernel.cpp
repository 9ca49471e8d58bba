#include "latency/measured/check_kernel.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/math.hpp"
#include "hardware/gpu_spec.hpp"
#include "latency/measured/check.hpp"
#include "latency/measured/peaks.hpp"

namespace ridgeline::latency::measured {
namespace {

constexpr double kPerTera = 1e12;
constexpr double kPerMicrosecond = 1e-6;

struct Steps {
  double latency = 0.0;
  double mfu = 0.0;
};

std::map<std::string, Steps> steps_by_file(const std::vector<CheckedRow>& rows) {
  std::map<std::string, std::pair<std::vector<double>, std::vector<double>>> columns;
  for (const CheckedRow& row : rows) {
    columns[row.file].first.push_back(row.latency_us);
    columns[row.file].second.push_back(row.mfu);
  }
  std::map<std::string, Steps> steps;
  for (const auto& [file, values] : columns) {
    steps[file] = {.latency = decimal_step(values.first), .mfu = decimal_step(values.second)};
  }
  return steps;
}

struct Candidate {
  std::size_t index;
  PeakFit fit;
  double away;  ///< Of its peak from the one expected, as a logarithm.
};

/// Parts of one file may be written with fewer decimals than others; an MFU that needs more than
/// three has been written with all that it shows.
double mfu_step(double mfu, const Steps& file) {
  constexpr double kUsual = 1e-3;
  return std::max(file.mfu, std::min(kUsual, decimal_step(std::array{mfu})));
}

MfuRow mfu_row(const CheckedRow& row, std::size_t convention, const Steps& file) {
  return {.flops = row.flops[convention],
          .latency_us = row.latency_us,
          .mfu = row.mfu,
          .latency_step = file.latency,
          .mfu_step = mfu_step(row.mfu, file)};
}

/// Whether a row that rounding does not explain is explained by cutting decimals off.
bool is_cut_off(MfuRow row, const PeakInterval& peak) {
  row.mfu_step *= 2.0;
  const PeakInterval wide = peaks_of(row);
  return wide.low <= peak.high && wide.high >= peak.low;
}

std::string tflops(double flops, double us) {
  return fmt::format("{:.4g}", flops / (us * kPerMicrosecond) / kPerTera);
}

void add_findings(const std::vector<CheckedRow>& rows,
                  const Candidate& best,
                  const std::map<std::string, Steps>& steps,
                  std::vector<Finding>& findings) {
  const double peak = best.fit.peak.middle();
  for (const std::size_t i : best.fit.disagreeing) {
    const CheckedRow& row = rows[i];
    const double flops = row.flops[best.index];
    const double expected_us =
        row.mfu > 0.0 ? flops / (peak * kPerTera * row.mfu) / kPerMicrosecond : 0.0;
    const bool cut = is_cut_off(mfu_row(row, best.index, steps.at(row.file)), best.fit.peak);
    findings.push_back(
        {.code = cut ? "last-decimal" : "impossible-row",
         .file = row.file,
         .line = row.line,
         .message = fmt::format(
             "{}: {} us is {} TFLOP/s, or an MFU of {:.4g} of {:.4g}, found {}{}",
             row.what,
             row.latency_us,
             tflops(flops, row.latency_us),
             flops / (row.latency_us * kPerMicrosecond) / kPerTera / peak,
             peak,
             row.mfu,
             expected_us > 0.0 ? fmt::format("; that MFU means {:.5g} us", expected_us) : "")});
  }
  for (const CheckedRow& row : rows) {
    const double half = steps.at(row.file).mfu / 2.0;
    const double mfu = row.flops[best.index] / (row.latency_us * kPerMicrosecond) / kPerTera / peak;
    if (row.mfu == 0.0 && mfu <= half * 1.01) {
      findings.push_back(
          {.code = "rounded-to-zero",
           .file = row.file,
           .line = row.line,
           .message = fmt::format("{}: an MFU of {:.2g} rounds to 0", row.what, mfu)});
    }
  }
}

}  // namespace

KnownPeaks known_peaks(const std::string& gpu) {
  const auto names = hardware::catalogue_names();
  if (std::ranges::find(names, gpu) == names.end()) {
    return {};
  }
  const auto spec = hardware::find_gpu(gpu);
  if (!spec) {
    return {};
  }
  return {.gpu = gpu,
          .bf16 = spec->peak_bf16.value() / kPerTera,
          .fp8 = spec->peak_fp8.value() / kPerTera};
}

void check_mfu(const std::vector<std::string>& conventions,
               const std::vector<CheckedRow>& rows,
               double expected,
               KernelCheck& kernel,
               std::vector<Finding>& findings) {
  const auto steps = steps_by_file(rows);
  std::vector<Candidate> candidates;
  for (std::size_t c = 0; c < conventions.size(); ++c) {
    std::vector<MfuRow> facts;
    facts.reserve(rows.size());
    for (const CheckedRow& row : rows) {
      facts.push_back(mfu_row(row, c, steps.at(row.file)));
    }
    PeakFit fit = fit_peak(facts);
    const double away = expected > 0.0 ? std::abs(core::log(fit.peak.middle() / expected)) : 0.0;
    candidates.push_back({.index = c, .fit = std::move(fit), .away = away});
  }
  std::ranges::stable_sort(candidates, [](const Candidate& a, const Candidate& b) {
    return a.fit.agreeing() != b.fit.agreeing() ? a.fit.agreeing() > b.fit.agreeing()
                                                : a.away < b.away;
  });
  for (const Candidate& candidate : candidates) {
    const Convention convention{.name = conventions[candidate.index],
                                .peak = candidate.fit.peak,
                                .agreeing = candidate.fit.agreeing()};
    if (&candidate == &candidates.front()) {
      kernel.convention = convention;
    } else {
      kernel.other.push_back(convention);
    }
  }
  kernel.rows = rows.size();
  add_findings(rows, candidates.front(), steps, findings);
}

}  // namespace ridgeline::latency::measured
