#include "latency/measured/check_kernel.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/math.hpp"
#include "latency/measured/check.hpp"
#include "latency/measured/data_sheets.hpp"
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
  double away;  ///< Distance of its peak from the one expected, as a logarithm.
  std::optional<BeatingRow> beating;
};

/// FLOP/s of a row, in TFLOP/s; the latency may have been rounded down.
double least_rate(const CheckedRow& row, std::size_t convention, const Steps& file) {
  const double us = row.latency_us + file.latency / 2.0;
  return row.flops[convention] / (us * kPerMicrosecond) / kPerTera;
}

/// The agreeing row that is furthest above what its GPU can do.
std::optional<BeatingRow> find_beating(const std::vector<CheckedRow>& rows,
                                       const std::map<std::string, Steps>& steps,
                                       const Candidate& candidate) {
  std::optional<BeatingRow> fastest;
  auto disagreeing = candidate.fit.disagreeing.begin();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (disagreeing != candidate.fit.disagreeing.end() && *disagreeing == i) {
      ++disagreeing;
      continue;
    }
    const CheckedRow& row = rows[i];
    const double rate = least_rate(row, candidate.index, steps.at(row.file));
    if (is_above(rate, row.most_tflops) &&
        (!fastest || rate / row.most_tflops > fastest->tflops / fastest->most_tflops)) {
      fastest = BeatingRow{.file = row.file,
                           .line = row.line,
                           .what = row.what,
                           .tflops = rate,
                           .most_tflops = row.most_tflops};
    }
  }
  return fastest;
}

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

void add_rows_above_one(const std::vector<CheckedRow>& rows,
                        const Candidate& best,
                        std::vector<Finding>& findings) {
  for (const CheckedRow& row : rows) {
    if (row.mfu <= 1.0) {
      continue;
    }
    const double rate = row.flops[best.index] / (row.latency_us * kPerMicrosecond) / kPerTera;
    findings.push_back(
        {.code = "mfu-above-1",
         .file = row.file,
         .line = row.line,
         .message = fmt::format("{}: an MFU of {}; {:.4g} TFLOP/s{}",
                                row.what,
                                row.mfu,
                                rate,
                                row.most_tflops > 0.0
                                    ? fmt::format(" are {:.3g} of what the GPU can do, {:.5g}",
                                                  rate / row.most_tflops,
                                                  row.most_tflops)
                                    : std::string(" of a GPU without a data sheet here"))});
  }
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
  add_rows_above_one(rows, best, findings);
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
    candidates.push_back(
        {.index = c, .fit = std::move(fit), .away = away, .beating = std::nullopt});
    candidates.back().beating = find_beating(rows, steps, candidates.back());
  }
  std::ranges::stable_sort(candidates, [](const Candidate& a, const Candidate& b) {
    if (a.fit.agreeing() != b.fit.agreeing()) {
      return a.fit.agreeing() > b.fit.agreeing();
    }
    return a.beating.has_value() != b.beating.has_value() ? b.beating.has_value() : a.away < b.away;
  });
  for (const Candidate& candidate : candidates) {
    const Convention convention{.name = conventions[candidate.index],
                                .peak = candidate.fit.peak,
                                .agreeing = candidate.fit.agreeing(),
                                .data_sheets = data_sheets_of(candidate.fit.peak, kernel.gpu),
                                .beating = candidate.beating};
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
