#include <cstddef>
#include <cstdint>
#include <memory>

#include "routing/policies/policies.hpp"
#include "routing/profile.hpp"
#include "routing/router.hpp"
#include "routing/scorers/scorers.hpp"

namespace ridgeline::routing {

std::unique_ptr<Router> make_blis() {
  constexpr double kPrefixShare = 0.5;  // Weights 2, 1, 1, normalised.
  constexpr double kLoadShare = 0.25;
  constexpr std::int64_t kBlockTokens = 16;
  constexpr std::size_t kBlocks = 10'000;
  return make_profile_router(
      {.scorers = {{.score = find_scorer("prefix-affinity"), .weight = kPrefixShare},
                   {.score = find_scorer("queue-depth"), .weight = kLoadShare},
                   {.score = find_scorer("kv-utilization"), .weight = kLoadShare}},
       .needs = {.gauges = true},
       .block_tokens = kBlockTokens,
       .blocks_per_instance = kBlocks});
}

}  // namespace ridgeline::routing
