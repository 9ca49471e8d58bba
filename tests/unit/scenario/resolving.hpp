#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/result.hpp"
#include "scenario/deployment.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {

/// The deployment that options on a command line resolve to, without a workload.
inline core::Result<std::shared_ptr<const Deployment>> resolved(
    const std::vector<Override>& overrides) {
  auto loaded = load_scenario(std::nullopt, overrides, Purpose::kLook);
  if (!loaded) {
    return core::fail(loaded.error());
  }
  auto out = resolve(std::move(*loaded));
  if (!out) {
    return core::fail(std::move(out.error()));
  }
  return out->deployment;
}

inline std::vector<Override> with(std::string model,
                                  std::string gpu,
                                  std::vector<Override> more = {}) {
  more.push_back({.path = "model", .text = std::move(model)});
  more.push_back({.path = "gpu", .text = std::move(gpu)});
  return more;
}

inline core::Error only_error(const std::vector<Override>& overrides) {
  const auto result = resolved(overrides);
  if (result || result.error().size() != 1) {
    ADD_FAILURE() << "expected exactly one error";
    return {};
  }
  return result.error().front();
}

}  // namespace ridgeline::scenario
