#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "routing/filters.hpp"
#include "routing/parameters.hpp"
#include "routing/router.hpp"
#include "routing/scorers/scorers.hpp"

namespace ridgeline::routing {

/// A pipeline as llm-d's endpoint picker runs it: what is believed of prompts, filters, the
/// weighted sum of scores clamped to 0 to 1, and a picker. What its filters and scorers need is
/// what it needs.
struct Profile {
  std::vector<NamedWeight> scorers;  ///< Names of scorers/registry.hpp.
  bool normalised = false;           ///< The weights are divided by their sum.
  bool sticky = false;  ///< Keeps requests where most of their prompt is (sticky_candidates()).
  AffinityOptions affinity = {};
  /// Latency is predicted where there is a predictor (RouterSetup), and keeps requests where they
  /// meet their targets (headroom_tier()).
  bool predicts = false;
  double explore = 0.01;  ///< Probability of another instance.
  LatencyWeights latency = {};
  /// What is cached where is known from KV events, in the instances' own blocks; otherwise an
  /// approximate prefix cache remembers what was sent.
  bool exact = false;
  /// The approximate prefix cache, kept where a scorer or the filter reads it.
  std::int64_t block_tokens = 64;
  std::int64_t most_prefix_tokens = 131'072;
  std::size_t blocks_per_instance = 31'250;
};

/// The pickers that a setup may name: the highest score with a draw among equals; the largest
/// U^(1/score); any alike.
[[nodiscard]] std::span<const std::string_view> pickers();

/// The setup's scorers and picker, where it names some, take the place of the profile's; its
/// filters come before the profile's own. Where they leave no instance the request is refused.
[[nodiscard]] std::unique_ptr<Router> make_profile_router(Profile profile,
                                                          const RouterSetup& setup);

}  // namespace ridgeline::routing
