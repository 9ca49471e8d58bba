#include "latency/power/power_law.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/check.hpp"
#include "model/hardware/gpu_spec.hpp"

namespace ridgeline::latency {
namespace {

/// Clocks fall before a board passes this share of its limit: 0.97 to 0.98 measured on H100 and
/// B200 under full load (ML.ENERGY benchmark v3, as power_laws()).
constexpr double kMostShare = 0.975;
/// H100 and H200 awake without work draw 110 to 150 of 700 W (from memory, not looked up).
constexpr double kIdleShare = 130.0 / 700.0;

}  // namespace

const std::vector<PowerLaw>& power_laws() {
  static const std::vector<PowerLaw> kLaws = {
      {.gpu = "h100", .architecture = "hopper", .bandwidth = 0.295, .compute = 1.454},
      {.gpu = "h200", .architecture = "hopper", .bandwidth = 0.353, .compute = 1.454},
      {.gpu = "b200", .architecture = "blackwell", .bandwidth = 0.636, .compute = 0.901}};
  return kLaws;
}

std::vector<PowerLaw> power_laws_of(const hardware::GpuSpec& gpu) {
  for (const PowerLaw& law : power_laws()) {
    if (law.gpu == gpu.name) {
      return {law};
    }
  }
  std::vector<PowerLaw> others;
  for (const PowerLaw& law : power_laws()) {
    if (others.empty() || others.back().architecture != law.architecture) {
      others.push_back(law);
    }
  }
  return others;
}

Watts working_power(const hardware::GpuSpec& gpu, const Utilisation& used) {
  RIDGELINE_CHECK(gpu.power_watts > 0.0, "a GPU has a known power limit");
  const double held = gpu.power_cap > 0.0 ? gpu.power_cap / gpu.power_watts : 1.0;
  std::vector<double> watts;
  for (const PowerLaw& law : power_laws_of(gpu)) {
    const double share = kIdleShare + law.bandwidth * std::sqrt(used.bandwidth) +
                         law.compute * std::sqrt(used.compute);
    watts.push_back(gpu.power_watts * std::min(kMostShare * held, share));
  }
  const auto [low, high] = std::ranges::minmax(watts);
  double sum = 0.0;
  for (const double each : watts) {
    sum += each;
  }
  return {.expected = sum / static_cast<double>(watts.size()), .low = low, .high = high};
}

double idle_power(const hardware::GpuSpec& gpu) {
  return gpu.power_watts * kIdleShare;
}

}  // namespace ridgeline::latency
