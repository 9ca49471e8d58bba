#pragma once

#include <string>
#include <vector>

#include "core/units.hpp"
#include "hardware/gpu_spec.hpp"

/// What a GPU draws, by how much of it is in use.
namespace ridgeline::latency {

/// Mean shares of a GPU's datasheet rates over some time.
struct Utilisation {
  double bandwidth = 0.0;  ///< Of mem_bandwidth.
  /// Of peak_bf16, whatever format is multiplied, with rows that only fill tiles.
  double compute = 0.0;
};

/// Watts of one GPU while kernels run: base + bandwidth * u + compute * sqrt(v), and no more than
/// its limit lets through. All are shares of the board's power limit.
struct PowerLaw {
  std::string gpu;  ///< On which it was measured.
  double base = 0.0;
  double bandwidth = 0.0;
  double compute = 0.0;
};

/// Watts: as measured on this GPU, or between the laws of the GPUs that were measured.
struct Watts {
  double expected = 0.0;
  double low = 0.0;
  double high = 0.0;
};

/// The laws at hand. Source: least squares over the steady state of the ML.ENERGY benchmark v3
/// (vLLM 0.11.1, github.com/ml-energy/leaderboard at 0cd52da) at the measured step times, where
/// GPUs that wait draw idle_power(): H100 of 700 W, 96 points of seven networks, error 8.1 / 8.3 %
/// (median, mean), 9.6 / 9.9 % with each network left out, the weight of the bandwidth set by hand
/// (points of little bandwidth and much power would have it near nothing); B200 of 1,000 W, 47
/// points of four networks, 5.4 / 6.4 %, 6.5 / 7.6 % left out.
[[nodiscard]] const std::vector<PowerLaw>& power_laws();
/// The laws that hold for a GPU: its own alone, or all of them.
[[nodiscard]] std::vector<PowerLaw> power_laws_of(const hardware::GpuSpec& gpu);

/// What a GPU with a known power limit draws at that utilisation. Where it has no law of its own,
/// `expected` is the mean of what the others give for its limit.
[[nodiscard]] Watts working_power(const hardware::GpuSpec& gpu, const Utilisation& used);
/// What it draws awake, between steps.
[[nodiscard]] double idle_power(const hardware::GpuSpec& gpu);

}  // namespace ridgeline::latency
