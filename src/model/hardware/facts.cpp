#include "model/hardware/facts.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/result.hpp"
#include "model/hardware/gpu_spec.hpp"

namespace ridgeline::hardware {
namespace {

/// A value so many times beyond the catalogue's is marked. GPUs of a new generation have had twice
/// to three times the values of the one before, a slip in a unit is a factor of 8 or 1000.
constexpr double kFarBeyond = 4.0;
/// Within one architecture, the same format at so many times the rate per SM and clock is marked.
/// 2:4 sparsity doubles it; clocks above the one stated in the catalogue account for less than 1.2.
constexpr double kFarAbovePerSm = 1.5;

/// A number among a GPU's facts; 0 where the GPU lacks it.
struct Fact {
  std::string_view key;
  double (*of)(const GpuSpec& gpu);
  std::string_view unit;  ///< In which messages show it.
  double per_unit = 1.0;
};

constexpr double kTera = 1e12;
constexpr double kGiga = 1e9;
constexpr double kMebi = 1024.0 * 1024.0;
constexpr double kGibi = 1024.0 * kMebi;

constexpr auto kPeaks = std::to_array<Fact>({
    {"peak_bf16", [](const GpuSpec& g) { return g.peak_bf16.value(); }, "TFLOP/s", kTera},
    {"peak_fp8", [](const GpuSpec& g) { return g.peak_fp8.value(); }, "TFLOP/s", kTera},
    {"peak_int8", [](const GpuSpec& g) { return g.peak_int8.value(); }, "TFLOP/s", kTera},
    {"peak_fp4", [](const GpuSpec& g) { return g.peak_fp4.value(); }, "TFLOP/s", kTera},
});
constexpr auto kOthers = std::to_array<Fact>({
    {"mem_bandwidth", [](const GpuSpec& g) { return g.mem_bandwidth.value(); }, "GB/s", kGiga},
    {"memory", [](const GpuSpec& g) { return g.memory.value(); }, "GiB", kGibi},
    {"usable_memory", [](const GpuSpec& g) { return g.usable_memory.value(); }, "GiB", kGibi},
    {"l2_cache", [](const GpuSpec& g) { return g.l2_cache.value(); }, "MiB", kMebi},
    {"num_sms", [](const GpuSpec& g) { return static_cast<double>(g.num_sms); }, ""},
    {"clock_ghz", [](const GpuSpec& g) { return g.clock_ghz; }, ""},
    {"link_bandwidth", [](const GpuSpec& g) { return g.link_bandwidth.value(); }, "GB/s", kGiga},
    {"pcie_bandwidth", [](const GpuSpec& g) { return g.pcie_bandwidth.value(); }, "GB/s", kGiga},
    {"network_bandwidth",
     [](const GpuSpec& g) { return g.network_bandwidth.value(); },
     "GB/s",
     kGiga},
    {"power_watts", [](const GpuSpec& g) { return g.power_watts; }, "W"},
});

std::string value_text(const Fact& fact, double value) {
  return fmt::format("{:.6g}{}{}", value / fact.per_unit, fact.unit.empty() ? "" : " ", fact.unit);
}

const std::vector<GpuSpec>& catalogue_gpus() {
  static const std::vector<GpuSpec> kAll = [] {
    std::vector<GpuSpec> all;
    for (const std::string& name : catalogue_names()) {
      auto gpu = find_gpu(name);
      RIDGELINE_CHECK(gpu.has_value(), name);
      all.push_back(*std::move(gpu));
    }
    return all;
  }();
  return kAll;
}

/// The smallest and the largest value in the catalogue, of the GPUs that have the fact.
struct Span {
  double lowest = 0.0;
  double highest = 0.0;
};
Span span_of(const Fact& fact) {
  Span span;
  for (const GpuSpec& gpu : catalogue_gpus()) {
    const double value = fact.of(gpu);
    if (value > 0.0) {
      span.lowest = span.lowest > 0.0 ? std::min(span.lowest, value) : value;
      span.highest = std::max(span.highest, value);
    }
  }
  return span;
}

core::Warning odd(const Fact& fact, double value, std::string_view why, std::string hint) {
  return {.code = "W-odd-gpu",
          .message = fmt::format("hardware.{} is {}, {}", fact.key, value_text(fact, value), why),
          .hint = std::move(hint)};
}

std::optional<core::Warning> beyond_catalogue(const Fact& fact, const GpuSpec& gpu) {
  const double value = fact.of(gpu);
  const Span span = span_of(fact);
  if (value <= 0.0 || span.highest <= 0.0 ||
      (value >= span.lowest / kFarBeyond && value <= span.highest * kFarBeyond)) {
    return std::nullopt;
  }
  return odd(fact,
             value,
             fmt::format("GPUs of the catalogue have {} to {}",
                         value_text(fact, span.lowest),
                         value_text(fact, span.highest)),
             "is its unit right?");
}

double per_sm_and_clock(const Fact& peak, const GpuSpec& gpu) {
  return peak.of(gpu) / (static_cast<double>(gpu.num_sms) * gpu.clock_ghz);
}

std::optional<core::Warning> above_its_architecture(const Fact& peak, const GpuSpec& gpu) {
  double highest = 0.0;
  for (const GpuSpec& other : catalogue_gpus()) {
    if (other.architecture == gpu.architecture) {
      highest = std::max(highest, per_sm_and_clock(peak, other));
    }
  }
  if (highest <= 0.0 || per_sm_and_clock(peak, gpu) <= highest * kFarAbovePerSm) {
    return std::nullopt;
  }
  return odd(peak,
             peak.of(gpu),
             fmt::format("{:.1f} times as much per SM and clock as any GPU of architecture {} in "
                         "the catalogue",
                         per_sm_and_clock(peak, gpu) / highest,
                         gpu.architecture),
             "peaks are dense; a datasheet's figures with sparsity are twice as large");
}

/// Narrower formats are at least as fast. INT8 is no such format: newer GPUs do less of it.
std::optional<core::Warning> below_bf16(const Fact& peak, const GpuSpec& gpu) {
  const double value = peak.of(gpu);
  if (peak.key == "peak_int8" || value <= 0.0 || value >= gpu.peak_bf16.value()) {
    return std::nullopt;
  }
  return odd(peak,
             value,
             fmt::format("below peak_bf16, {}", value_text(peak, gpu.peak_bf16.value())),
             "no GPU of the catalogue is slower in a narrower format");
}

}  // namespace

std::vector<std::string> differing_facts(const GpuSpec& gpu, const GpuSpec& other) {
  std::vector<std::string> keys;
  const auto compare = [&keys](std::string_view key, bool same) {
    if (!same) {
      keys.emplace_back(key);
    }
  };
  compare("architecture", gpu.architecture == other.architecture);
  for (const Fact& fact : kPeaks) {
    compare(fact.key, fact.of(gpu) == fact.of(other));
  }
  for (const Fact& fact : kOthers) {
    compare(fact.key, fact.of(gpu) == fact.of(other));
  }
  compare("has_nvlink", gpu.has_nvlink == other.has_nvlink);
  compare("gpus_per_node", gpu.gpus_per_node == other.gpus_per_node);
  compare("link_domain", gpu.link_domain == other.link_domain);
  return keys;
}

core::Warnings odd_facts(const GpuSpec& gpu) {
  core::Warnings found;
  const auto keep = [&found](std::optional<core::Warning> warning) {
    const bool any = warning.has_value();
    if (any) {
      found.push_back(*std::move(warning));
    }
    return any;
  };
  for (const Fact& peak : kPeaks) {
    // One warning for a peak: the first that applies says the most.
    static_cast<void>(keep(beyond_catalogue(peak, gpu)) ||
                      keep(above_its_architecture(peak, gpu)) || keep(below_bf16(peak, gpu)));
  }
  for (const Fact& fact : kOthers) {
    keep(beyond_catalogue(fact, gpu));
  }
  return found;
}

}  // namespace ridgeline::hardware
