#include "latency/measured/data_sheets.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "latency/measured/peaks.hpp"
#include "model/hardware/gpu_spec.hpp"

namespace ridgeline::latency::measured {
namespace {

constexpr double kTeraFlopsPerSecond = 1e12;
constexpr double kDigits = 1e-3;
/// An interval that is wider than this fits several data sheets.
constexpr double kTelling = 0.02;

struct SheetPeak {
  const char* format;
  double tflops;
};

std::array<SheetPeak, 3> peaks_of_sheet(const hardware::GpuSpec& spec) {
  return {{{.format = "BF16", .tflops = spec.peak_bf16.value() / kTeraFlopsPerSecond},
           {.format = "FP8", .tflops = spec.peak_fp8.value() / kTeraFlopsPerSecond},
           {.format = "INT8", .tflops = spec.peak_int8.value() / kTeraFlopsPerSecond}}};
}

/// The format whose peak of one GPU is nearest to the one found; nullptr where none is.
const char* format_of(const PeakInterval& found, const hardware::GpuSpec& spec) {
  const SheetPeak* nearest = nullptr;
  const auto peaks = peaks_of_sheet(spec);
  for (const SheetPeak& peak : peaks) {
    const auto away = [&](const SheetPeak& of) { return std::abs(of.tflops - found.middle()); };
    if (is_peak(found, peak.tflops) && (nearest == nullptr || away(peak) < away(*nearest))) {
      nearest = &peak;
    }
  }
  return nearest == nullptr ? nullptr : nearest->format;
}

std::string in_words(const char* format, const std::vector<std::string>& gpus) {
  return fmt::format("the dense {} peak of {}", format, fmt::join(gpus, ", "));
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
  const auto peaks = peaks_of_sheet(*spec);
  return {.gpu = gpu,
          .bf16 = peaks[0].tflops,
          .fp8 = peaks[1].tflops,
          .eight_bit = std::max(peaks[1].tflops, peaks[2].tflops)};
}

bool is_peak(const PeakInterval& found, double of_data_sheet) {
  return of_data_sheet > 0.0 && of_data_sheet >= found.low * (1.0 - kDigits) &&
         of_data_sheet <= found.high * (1.0 + kDigits);
}

bool is_above(double tflops, double peak_tflops) {
  return peak_tflops > 0.0 && tflops > peak_tflops * (1.0 + kDigits);
}

std::string data_sheets_of(const PeakInterval& found, const std::string& gpu) {
  if (!std::isfinite(found.high)) {
    return {};
  }
  const auto names = hardware::catalogue_names();
  if (std::ranges::find(names, gpu) != names.end()) {
    const auto own = hardware::find_gpu(gpu);
    const char* format = own ? format_of(found, *own) : nullptr;
    if (format != nullptr) {
      return in_words(format, {gpu});
    }
  }
  if (found.high > found.low * (1.0 + kTelling)) {
    return {};
  }
  const char* shared_format = nullptr;
  std::vector<std::string> gpus;
  for (const std::string& name : names) {
    const auto spec = hardware::find_gpu(name);
    const char* format = spec ? format_of(found, *spec) : nullptr;
    if (format == nullptr || (shared_format != nullptr && format != std::string(shared_format))) {
      continue;
    }
    shared_format = format;
    gpus.push_back(name);
  }
  return gpus.empty() ? std::string() : in_words(shared_format, gpus);
}

}  // namespace ridgeline::latency::measured
