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
  double compute = 0.0;    ///< Of peak_bf16, whatever format is multiplied.
};

/// Watts of one GPU while it works: base + bandwidth * u + compute * v, and no more than its limit
/// lets through. All are shares of the board's power limit.
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
/// (vLLM 0.11.1, github.com/ml-energy/leaderboard at 0cd52da): H100 of 700 W, 34 points without
/// Llama-3.1-8B, 5 % mean error; B200 of 1,000 W, 24 points, 2 %.
[[nodiscard]] const std::vector<PowerLaw>& power_laws();
/// The laws that hold for a GPU: its own alone, or all of them.
[[nodiscard]] std::vector<PowerLaw> power_laws_of(const hardware::GpuSpec& gpu);

/// What a GPU with a known power limit draws at that utilisation. Where it has no law of its own,
/// `expected` is the mean of what the others give for its limit.
[[nodiscard]] Watts working_power(const hardware::GpuSpec& gpu, const Utilisation& used);
/// What it draws awake, between steps.
[[nodiscard]] double idle_power(const hardware::GpuSpec& gpu);

}  // namespace ridgeline::latency
