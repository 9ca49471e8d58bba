#pragma once

#include <memory>

#include "cluster/disaggregation/decider.hpp"
#include "core/units.hpp"

namespace ridgeline::disaggregation {

/// Settings of deciders; each reads its own.
struct DeciderParameters {
  core::Tokens non_cached_tokens{0};  ///< So much of a prompt is left to compute.
  core::Tokens min_prompt_tokens{0};  ///< And it is so long.
  double uncached_share = 0.0;        ///< Or so large a share of it is left.
};

std::unique_ptr<Decider> make_never(const DeciderParameters& parameters);
std::unique_ptr<Decider> make_always(const DeciderParameters& parameters);
std::unique_ptr<Decider> make_prefix_based(const DeciderParameters& parameters);
std::unique_ptr<Decider> make_isl_bounding(const DeciderParameters& parameters);
std::unique_ptr<Decider> make_prefix_threshold(const DeciderParameters& parameters);

}  // namespace ridgeline::disaggregation
