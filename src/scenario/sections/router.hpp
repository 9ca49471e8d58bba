#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "routing/filter_registry.hpp"
#include "routing/parameters.hpp"

namespace ridgeline::scenario {

/// Section `cluster.router`: which policy routes, and with what. A plain word is its name.
struct RouterSection {
  std::optional<std::string> name;        ///< In routing/registry.hpp.
  std::optional<document::Node> scorers;  ///< Weights by scorer.
  std::optional<document::Node> filters;  ///< A list, in their order: names, or maps of settings.
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

/// Whether a scorer reads where instances stand.
[[nodiscard]] bool reads_sites(const RouterSection& router);

/// What the policy is made with. Of a section whose scorers or filters cannot be read, the
/// problems.
[[nodiscard]] core::Result<routing::RouterSetup> router_setup(const RouterSection& router);

/// Reads what a filter is set to, all but its name. Problems name their place.
void read_filter_settings(document::ObjectReader& reader,
                          const routing::FilterEntry& entry,
                          routing::NamedFilter& filter,
                          core::Errors& errors);

}  // namespace ridgeline::scenario
