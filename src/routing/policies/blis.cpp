#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "routing/parameters.hpp"
#include "routing/profile.hpp"
#include "routing/registry.hpp"
#include "routing/router.hpp"

namespace ridgeline::routing {
namespace {

constexpr auto kBlisParameters = std::to_array<Parameter>({
    {.name = "lru_blocks_per_instance",
     .standard = std::int64_t{10'000},
     .lowest = 1.0,
     .highest = 1e9,
     .help = "Blocks of prompts that the router remembers of each instance",
     .source = "inference-sim f90a1e3"},
});

std::unique_ptr<Router> make_blis(const RouterSetup& setup) {
  constexpr std::int64_t kBlockTokens = 16;
  return make_profile_router({.scorers = {{.name = "prefix-affinity", .weight = 2.0},
                                          {.name = "queue-depth", .weight = 1.0},
                                          {.name = "kv-utilization", .weight = 1.0}},
                              .normalised = true,
                              .block_tokens = kBlockTokens,
                              .blocks_per_instance = static_cast<std::size_t>(
                                  setup.integer(kBlisParameters, "lru_blocks_per_instance"))},
                             setup);
}

}  // namespace

extern const RouterEntry kBlis{
    .name = "blis",
    .summary = "prefixes that it sent 2, short queue 1, free KV cache 1",
    .source = "inference-sim f90a1e3 (August 2026), weighted with prefix-affinity",
    .make = make_blis,
    .parameters = [] { return std::span<const Parameter>(kBlisParameters); },
    .profile = true,
};

}  // namespace ridgeline::routing
