#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/ids.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "domain/request.hpp"
#include "studies/campaign.hpp"
#include "workload/source.hpp"

/// The load of a published campaign on a simulated fleet.
namespace ridgeline::studies {

/// The requests of a campaign's stages. A stage sends as many requests as its nominal rate and
/// length give, at the achieved rate where one was published; the next one starts when every answer
/// is there, as inference-perf does it.
class LadderSource final : public workload::Source {
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

  /// The place of a request's stage.
  [[nodiscard]] std::size_t stage_of(core::RequestId id) const;

 private:
  std::vector<domain::Request> requests_;  ///< `arrival` since the start of its stage.
  std::vector<std::size_t> ends_;          ///< Of each stage, in requests_.
  std::size_t next_ = 0;
  std::size_t completed_ = 0;
  std::size_t stage_ = 0;
  core::SimTime stage_start_;
};

/// What a strategy's fleet did in one stage.
struct LadderStage {
  std::int64_t sent = 0;
  std::int64_t requests = 0;         ///< Answered: the gateway refused the others.
  double output_tokens_per_s = 0.0;  ///< From the first arrival to the last answer.
  double ttft_mean_s = 0.0;
  double ttft_p90_s = 0.0;
  double tpot_mean_s = 0.0;
  double cached_share = 0.0;  ///< Of prompt tokens, found in the prefix caches.
};

/// Simulates a strategy through all stages; one result per stage.
[[nodiscard]] core::Result<std::vector<LadderStage>> simulate_ladder(const Campaign& campaign,
                                                                     const Strategy& strategy,
                                                                     std::uint64_t seed);

}  // namespace ridgeline::studies
