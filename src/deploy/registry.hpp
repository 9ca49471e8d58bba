#pragma once

#include <span>
#include <string>

#include "core/result.hpp"
#include "deploy/targets.hpp"

namespace ridgeline::deploy {

/// Everything that deployments are written for, vllm first.
[[nodiscard]] std::span<const Target* const> targets();
/// By name; unknown ones are answered with the nearest.
[[nodiscard]] core::Result<const Target*> find_target(const std::string& name);

}  // namespace ridgeline::deploy
