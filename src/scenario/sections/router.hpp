#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "routing/parameters.hpp"

namespace ridgeline::scenario {

/// Section `cluster.router`: which policy routes, and with what. A plain word is its name.
struct RouterSection {
  std::optional<std::string> name;        ///< Of routing/registry.hpp.
  std::optional<document::Node> scorers;  ///< Weights by scorer.
  std::optional<std::string> picker;
  std::vector<routing::NamedValue> parameters;  ///< The policy's own.
};

/// The policy asked for, or the default.
[[nodiscard]] inline std::string router_name(const RouterSection& router) {
  return router.name.value_or("round-robin");
}

/// The balancer between the data-parallel ranks of an engine version: vLLM's generation of it.
/// Nothing for other engines.
[[nodiscard]] std::optional<std::string> rank_router(std::string_view engine_version);

/// What the policy is made with. Of a section whose scorers are not a map of weights, the problems.
[[nodiscard]] core::Result<routing::RouterSetup> router_setup(const RouterSection& router);

}  // namespace ridgeline::scenario
