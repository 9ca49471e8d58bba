#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "evidence/validate/evidence.hpp"
#include "evidence/validate/staged_source.hpp"
#include "lab/records/campaign.hpp"

namespace ridgeline::records {

/// What a record knows of its fleet: instances and strategy, and the stages of its campaign where
/// its prompts come in groups.
struct Ladder final : evidence::validate::FleetLoad {
  bool is_apart = false;  ///< Some instances compute prompts, the others answers.
  /// The stages were read: each starts when the one before is answered.
  bool has_stages = false;
  Campaign campaign = {};  ///< Instances and one strategy; the rest where there are stages.
  /// The stage that the record tells of; nothing: all stages but, where the first only warms the
  /// caches, that one.
  std::optional<CampaignStage> stage = {};
  bool warms_up = true;     ///< The first stage only warms the caches.
  bool is_made_up = false;  ///< The record does not say what was before its stage.
  std::optional<double> achieved_per_s = {};  ///< Requests sent in its stage.

  [[nodiscard]] std::size_t num_stages() const override;
  [[nodiscard]] bool has_prompts_of(const FleetLoad& other) const override;
  [[nodiscard]] bool holds(const FleetLoad& record) const override;
  [[nodiscard]] Range join(const FleetLoad& record) override;
  [[nodiscard]] std::string assumed_in(const FleetLoad& run) const override;
  [[nodiscard]] std::unique_ptr<FleetLoad> copy() const override;
  [[nodiscard]] std::unique_ptr<evidence::validate::StagedSource> source(
      std::uint64_t seed) const override;
};

/// The ladder of a record of this folder's readers; all its fleets have one.
[[nodiscard]] Ladder& ladder_of(evidence::validate::Fleet& fleet);
[[nodiscard]] const Ladder& ladder_of(const evidence::validate::Fleet& fleet);

}  // namespace ridgeline::records
