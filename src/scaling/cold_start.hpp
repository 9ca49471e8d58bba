#pragma once

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
