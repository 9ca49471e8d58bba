#pragma once

#include <cstdint>

#include "core/rng.hpp"
#include "core/time.hpp"
#include "core/units.hpp"

namespace ridgeline::scaling {

/// How long one part of a start takes: always the same, or lognormal with this mean and standard
/// deviation.
struct StartPhase {
  core::Duration mean = {};
  core::Duration sd = {};

  friend bool operator==(const StartPhase&, const StartPhase&) = default;
};

/// What an instance does before it serves. Anchors of the defaults: vLLM's torch.compile 39 s
/// (route179.dev, Qwen3.6-35B on a DGX Spark), the rest a plan's round numbers.
struct ColdStart {
  StartPhase schedule;  ///< Find a node.
  StartPhase pull;      ///< Fetch the image.
  StartPhase load;      ///< Read the weights.
  StartPhase compile = {.mean = core::Duration::seconds(40)};
  StartPhase capture = {.mean = core::Duration::seconds(20)};  ///< CUDA graphs.
  StartPhase warm_up;

  friend bool operator==(const ColdStart&, const ColdStart&) = default;
};

/// What a start's times depend on.
struct StartFacts {
  core::Bytes weights;  ///< Weights of all ranks of an instance.
  std::int64_t layers = 0;
  std::int64_t ranks = 1;
  std::int64_t graph_sizes = 0;  ///< CUDA graphs to capture; 0: nothing is compiled or captured.
  double host_class = 1.0;       ///< As the steps' (serving.host_class).
};

/// The parts of a start as vLLM's log has them.
struct StartParts {
  core::Seconds processes;  ///< Imports, workers, API server: before the network and after all.
  core::Seconds weights;    ///< Read from a disk or the page cache.
  core::Seconds build;      ///< The network around them, on the GPU.
  core::Seconds profile;    ///< A step of the largest size, to see what memory is left.
  core::Seconds compile;    ///< torch.compile.
  core::Seconds caches;     ///< KV cache, and the kernels' warm-up.
  core::Seconds capture;    ///< CUDA graphs.

  /// "Model loading took".
  [[nodiscard]] core::Seconds model_load() const { return weights + build; }
  /// "init engine (profile, create kv cache, warmup model) took".
  [[nodiscard]] core::Seconds engine() const { return profile + compile + caches + capture; }
  /// From the log's first line until the server answers.
  [[nodiscard]] core::Seconds whole() const { return processes + model_load() + engine(); }
};

/// The parts by what the instance runs. Source: four starts of vLLM 0.22 with gpt-oss-120b (36
/// layers, 147 graph sizes) on H200, from the servers' logs: two on a common host with one rank,
/// two on a slow one (class 8) with four and eight ranks. Weights came at 0.8, 1.6, 1.7 and 7 GB/s
/// (geometric mean 2.0: kDefaultLoadBandwidth): no record tells whether from a disk or the page
/// cache. How compiling grows with layers, and capturing with layers and sizes, is assumed to be in
/// proportion: one network was measured (docs/accuracy.md has the errors).
[[nodiscard]] StartParts start_parts(const StartFacts& facts);

/// The computed parts as phases: what is neither read, compiled nor captured is warm-up.
[[nodiscard]] ColdStart computed_start(const StartFacts& facts);

/// What disks and object stores give, unless set.
inline constexpr core::BytesPerSecond kDefaultLoadBandwidth{2e9};

/// The states before ready, in order, and how long each lasts.
struct StartTimes {
  core::Duration pending;  ///< Schedule and pull.
  core::Duration loading;
  core::Duration warming;  ///< Compile, capture, warm up.
};

/// One start. Draws once per part that has a standard deviation.
[[nodiscard]] StartTimes start_times(const ColdStart& start, core::RngStream& draws);

}  // namespace ridgeline::scaling
