#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cluster/disaggregation/decider.hpp"
#include "cluster/disaggregation/registry.hpp"
#include "core/result.hpp"

namespace ridgeline::scenario {

/// Section `cluster.disaggregation`: prefill and decode on instances of their own. A plain word is
/// its name. Without `prefill_instances` every instance does both.
struct DisaggregationSection {
  std::optional<std::string> name;  ///< In disaggregation::systems().
  std::optional<std::int64_t> prefill_instances;
  std::optional<std::int64_t> decode_instances;
  std::optional<std::string> decider;  ///< In disaggregation::deciders().
  std::optional<std::int64_t> non_cached_tokens;
  std::optional<std::int64_t> min_prompt_tokens;
  std::optional<double> uncached_share;
  std::optional<std::string> stage_order;
  std::optional<std::string> first_token;
  std::optional<std::string> prefill_router;  ///< In routing::routers().
};

/// A section with its system's defaults filled in.
struct DisaggregationRules {
  std::unique_ptr<disaggregation::Decider> decider;
  disaggregation::LegOrder order = disaggregation::LegOrder::kDecodeFirst;
  disaggregation::FirstToken first_token = disaggregation::FirstToken::kDecode;
  disaggregation::TransferMode mode = disaggregation::TransferMode::kAfterPrefill;
};

/// Rules of a section whose names are known; the others' errors have the option's path as their
/// field.
[[nodiscard]] core::Result<DisaggregationRules> disaggregation_rules(
    const DisaggregationSection& section);

}  // namespace ridgeline::scenario
