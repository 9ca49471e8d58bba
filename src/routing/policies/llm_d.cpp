#include <memory>

#include "routing/policies/policies.hpp"
#include "routing/profile.hpp"
#include "routing/router.hpp"
#include "routing/scorers/scorers.hpp"

namespace ridgeline::routing {

std::unique_ptr<Router> make_llm_d() {
  constexpr double kPrefixWeight = 3.0;
  constexpr double kLoadWeight = 2.0;
  return make_profile_router(
      {.scorers = {{.score = find_scorer("queue-scorer"), .weight = kLoadWeight},
                   {.score = find_scorer("kv-cache-utilization-scorer"), .weight = kLoadWeight},
                   {.score = find_scorer("prefix-cache-scorer"), .weight = kPrefixWeight}},
       .needs = {.gauges = true}});
}

std::unique_ptr<Router> make_llm_d_sticky() {
  return make_profile_router({.scorers = {{.score = find_scorer("token-load-scorer")}},
                              .needs = {.own = true, .first_token = true},
                              .sticky = true});
}

}  // namespace ridgeline::routing
