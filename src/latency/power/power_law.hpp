#pragma once

#include <string>
#include <vector>

#include "core/units.hpp"
#include "model/hardware/gpu_spec.hpp"

/// What a GPU draws, by how much of it is in use.
namespace ridgeline::latency {

/// Mean shares of a GPU's datasheet rates over some time.
struct Utilisation {
  double bandwidth = 0.0;  ///< Share of mem_bandwidth.
  /// Share of peak_bf16, whatever format is multiplied, with rows that only fill tiles.
  double compute = 0.0;
};

/// Watts of one GPU while kernels run: idle + bandwidth * sqrt(u) + compute * sqrt(v), and no more
/// than its limit lets through. All are shares of the board's power limit.
struct PowerLaw {
  std::string gpu;           ///< On which it was measured.
  std::string architecture;  ///< The first law of each stands for other GPUs of it.
  double bandwidth = 0.0;
  double compute = 0.0;
};

/// Watts: as measured on this GPU, or between the laws of the GPUs that were measured.
struct Watts {
  double expected = 0.0;
  double low = 0.0;
  double high = 0.0;
};

/// The laws at hand. Source: least absolute errors over steady states of the ML.ENERGY benchmark v3
/// (github.com/ml-energy/leaderboard at 0cd52da; H100, B200), InferenceX's watts (H200, B200) and a
/// sweep of gpt-oss-120b (H200), at the measured step times where a record has them, without the
/// points that a front end may bind. Hopper has one law of the bytes per second, whose weight grows
/// with the square root of the memory's rate from H100 to H200: 129 points, error 8.7 / 10.7 %
/// (median, mean), 8.7 / 11.1 % with each network left out; Blackwell 82 points, 7.1 / 10.5 % and
/// 7.7 / 10.9 %.
[[nodiscard]] const std::vector<PowerLaw>& power_laws();
/// The laws that hold for a GPU: its own alone, or one of each architecture.
[[nodiscard]] std::vector<PowerLaw> power_laws_of(const hardware::GpuSpec& gpu);

/// What a GPU with a known power limit draws at that utilisation. Where it has no law of its own,
/// `expected` is the mean of what the others give for its limit.
[[nodiscard]] Watts working_power(const hardware::GpuSpec& gpu, const Utilisation& used);
/// What it draws awake, between steps.
[[nodiscard]] double idle_power(const hardware::GpuSpec& gpu);

}  // namespace ridgeline::latency
