#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "routing/filters.hpp"
#include "routing/router.hpp"
#include "routing/scorers/columns.hpp"

namespace ridgeline::routing {

/// A filter of a profile as the user states it.
struct NamedFilter {
  std::string name;                           ///< A name of filters().
  std::vector<UtilizationLimit> limits = {};  ///< Limits of the utilization-filter.
  bool all_if_empty = false;  ///< The utilization-filter leaves all where it left none.
};

/// A filter by the name that a profile gives it (llm-d-router ebab687).
struct FilterEntry {
  std::string_view name;
  Places (*keep)(const Columns& all, const NamedFilter& filter);
  Needs (*needs)(const NamedFilter& filter) = nullptr;  ///< Null: nothing of the views.
  bool has_limits = false;     ///< Reads `limits`, of which there has to be one.
  bool reads_session = false;  ///< Where the request's session was served last.
};

/// All filters that a profile may name. Those that a policy has built in are not among them.
[[nodiscard]] std::span<const FilterEntry> filters();
/// Null where no such filter exists.
[[nodiscard]] const FilterEntry* find_filter(std::string_view name);

/// What a utilization-filter may look at, by llm-d's names.
inline constexpr auto kUtilizationMetrics =
    std::to_array<std::pair<std::string_view, Utilization>>({
        {"waiting-queue", Utilization::kWaiting},
        {"running-requests", Utilization::kRunning},
        {"kv-cache-utilization", Utilization::kKvUsage},
        {"active-requests", Utilization::kInFlight},
    });

}  // namespace ridgeline::routing
