#include "routing/filter_registry.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "routing/filters.hpp"
#include "routing/router.hpp"
#include "routing/scorers/columns.hpp"

namespace ridgeline::routing {
namespace {

Places keep_within_limits(const Columns& all, const NamedFilter& filter) {
  return within_limits(all, filter.limits, filter.all_if_empty);
}

Needs needs_of_limits(const NamedFilter& filter) {
  Needs needs;
  for (const UtilizationLimit& limit : filter.limits) {
    const bool is_own = limit.metric == Utilization::kInFlight;
    needs.own = needs.own || is_own;
    needs.gauges = needs.gauges || !is_own;
  }
  return needs;
}

Places keep_session(const Columns& all, const NamedFilter& /*filter*/) {
  return session_candidates(all);
}

// One line per filter.
constexpr auto kFilters = std::to_array<FilterEntry>({
    {"utilization-filter", keep_within_limits, needs_of_limits, true},
    {"session-affinity-filter", keep_session, nullptr, false, true},
});

}  // namespace

std::span<const FilterEntry> filters() {
  return kFilters;
}

const FilterEntry* find_filter(std::string_view name) {
  const auto* const found = std::ranges::find(kFilters, name, &FilterEntry::name);
  return found == kFilters.end() ? nullptr : found;
}

}  // namespace ridgeline::routing
