#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "routing/router.hpp"
#include "routing/scorers/scorers.hpp"

namespace ridgeline::routing {

/// A scorer of a profile, with its weight.
struct WeightedScorer {
  PlainScorer score = nullptr;
  double weight = 1.0;
};

/// A pipeline as llm-d's endpoint picker runs it: what is believed of prompts, an optional filter,
/// the weighted sum of scores clamped to 0 to 1, and a draw among the highest.
struct Profile {
  std::vector<WeightedScorer> scorers;
  Needs needs;
  bool sticky = false;  ///< Keeps requests where most of their prompt is (sticky_candidates()).
  /// Of the approximate prefix cache; no prefix is believed anywhere where it is zero.
  std::int64_t block_tokens = 64;
  std::int64_t most_prefix_tokens = 131'072;
  std::size_t blocks_per_instance = 31'250;
};

[[nodiscard]] std::unique_ptr<Router> make_profile_router(Profile profile);

}  // namespace ridgeline::routing
