#include "routing/registry.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/reader.hpp"
#include "routing/policies/policies.hpp"

namespace ridgeline::routing {
namespace {

// One line per policy.
constexpr auto kRouters = std::to_array<RouterEntry>({
    {"round-robin", "one after the other", "every proxy", make_round_robin},
    {"random", "each with the same probability", "every proxy", make_random},
    {"least-request",
     "fewest requests in flight by the gateway's own count, a draw among equals",
     "Envoy FULL_SCAN, NGINX least_conn",
     make_least_request},
    {"power-of-two",
     "of two drawn, the one with fewer requests in flight by the gateway's own count",
     "Envoy choice_count 2, SGLang gateway",
     make_power_of_two},
    {"session",
     "the requests of a session stay with one instance",
     "rendezvous hashing (Thaler, Ravishankar 1998)",
     make_session},
    {"jsq-oracle",
     "fewest requests at this instant, which no gateway knows: the bound for queue-length policies",
     "join the shortest queue",
     make_jsq_oracle},
});

}  // namespace

std::span<const RouterEntry> routers() {
  return kRouters;
}

core::Result<const RouterEntry*> find_router(const std::string& name) {
  const auto* const found = std::ranges::find(kRouters, name, &RouterEntry::name);
  if (found != kRouters.end()) {
    return found;
  }
  std::vector<std::string> names;
  for (const RouterEntry& entry : kRouters) {
    names.emplace_back(entry.name);
  }
  const auto meant = document::nearest(name, names);
  return core::fail(core::Error{.message = fmt::format("no routing policy '{}'", name),
                                .hint = meant ? fmt::format("did you mean '{}'?", *meant)
                                              : fmt::format("one of {}", fmt::join(names, ", "))});
}

}  // namespace ridgeline::routing
