#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "domain/request.hpp"
#include "evidence/validate/staged_source.hpp"
#include "lab/records/campaign.hpp"
#include "lab/records/evidence_words.hpp"
#include "scenario/scenario.hpp"

/// A published campaign's fleet, and its load.
namespace ridgeline::records {

/// The campaign's instances behind their gateway under a strategy, as settings of a scenario
/// (`cluster`); what each instance is, stands elsewhere.
[[nodiscard]] std::vector<scenario::Override> fleet_settings(const Campaign& campaign,
                                                             const Strategy& strategy);

/// The requests of a campaign's stages. A stage sends as many requests as its nominal rate and
/// length give, at the achieved rate where one was published; the next one starts when every answer
/// is there, as inference-perf does it.
class LadderSource final : public StagedSource {
 public:
  /// `strategy` names the rows whose achieved rates count. The seed draws arrivals and the order of
  /// prompts.
  LadderSource(const Campaign& campaign, const Strategy& strategy, std::uint64_t seed);

  std::optional<core::SimTime> next_arrival() override;
  domain::Request pop() override;
  [[nodiscard]] bool is_closed_loop() const override { return true; }
  void on_completion(core::RequestId id, core::SimTime time) override;
  [[nodiscard]] std::optional<std::int64_t> size() const override {
    return static_cast<std::int64_t>(requests_.size());
  }
  [[nodiscard]] bool names_prompts() const override { return true; }

  [[nodiscard]] std::size_t stage_of(core::RequestId id) const override;

 private:
  std::vector<domain::Request> requests_;  ///< `arrival` since the start of its stage.
  std::vector<std::size_t> ends_;          ///< End of each stage in requests_.
  std::size_t next_ = 0;
  std::size_t completed_ = 0;
  std::size_t stage_ = 0;
  core::SimTime stage_start_;
};

}  // namespace ridgeline::records
