#pragma once

#include <string_view>

/// Options of a scenario that deployments treat in a way of their own.
namespace ridgeline::deploy {

inline constexpr std::string_view kEngineSection = "engine";
inline constexpr std::string_view kEngineVersion = "engine.version";
inline constexpr std::string_view kSpeculativeConfig = "engine.speculative_config";
/// Its key of ours beside vLLM's: a server has the acceptance of drafts from its traffic.
inline constexpr std::string_view kAcceptance = "acceptance";
inline constexpr std::string_view kInstances = "cluster.instances";
inline constexpr std::string_view kPools = "cluster.pools";
inline constexpr std::string_view kPrefillInstances = "cluster.disaggregation.prefill_instances";
inline constexpr std::string_view kDecodeInstances = "cluster.disaggregation.decode_instances";

}  // namespace ridgeline::deploy
