#include "engine/sglang/attention_dp.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>

#include "engine/loop/rank_agreement.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/options.hpp"
#include "engine/sglang/options.hpp"
#include "engine/sglang/scheduler.hpp"

namespace ridgeline::engine::sglang {
namespace {

class AttentionDp final : public RankAgreement {
 public:
  explicit AttentionDp(const Options& options)
      : overlap_(options.overlap), verifies_(options.speculation.is_on()) {}

  bool agree(std::span<StepScheduler* const> ranks, bool in_flight) override {
    constexpr int kStuck = 3;  // As Scheduler::schedule().
    for (int empty = 0; empty < kStuck;) {
      const bool waits_its_turn = std::ranges::any_of(
          ranks, [](const StepScheduler* rank) { return own(rank).waits_its_turn(); });
      if (iterate(ranks)) {
        return true;
      }
      const bool receives = std::ranges::any_of(
          ranks, [](const StepScheduler* rank) { return own(rank).has_arrivals(); });
      const bool waits = std::ranges::any_of(
          ranks, [](const StepScheduler* rank) { return own(rank).has_queued(); });
      if (in_flight || (!receives && !waits && !waits_its_turn)) {
        return false;
      }
      empty += receives || waits_its_turn ? 0 : 1;
    }
    return false;
  }

  void advance_quiet(std::span<StepScheduler* const> ranks, std::int64_t rounds) override {
    for (StepScheduler* const rank : ranks) {
      own(rank).pass_idle_rounds(rounds);
    }
  }

 private:
  static Scheduler& own(StepScheduler* rank) { return static_cast<Scheduler&>(*rank); }
  static const Scheduler& own(const StepScheduler* rank) {
    return static_cast<const Scheduler&>(*rank);
  }

  /// One iteration of every rank's event loop; true where any of them has a batch. With drafts,
  /// none verifies beside one that prefills.
  bool iterate(std::span<StepScheduler* const> ranks) {
    bool prefills = false;
    for (StepScheduler* const rank : ranks) {
      prefills = own(rank).propose_prefill() || prefills;
    }
    bool any = false;
    for (StepScheduler* const rank : ranks) {
      any = own(rank).propose_decode(!(verifies_ && prefills)) || any;
    }
    // An idle batch is a batch: no rank keeps house beside one that works.
    if (!any && !(overlap_ && follows_batch_)) {
      for (StepScheduler* const rank : ranks) {
        own(rank).keep_house();
      }
    }
    follows_batch_ = any;
    return any;
  }

  bool overlap_;
  bool verifies_;
  bool follows_batch_ = false;  ///< The last iteration had one.
};

}  // namespace

std::unique_ptr<RankAgreement> make_agreement(const EngineOptions& options) {
  return std::make_unique<AttentionDp>(settings_of(options));
}

}  // namespace ridgeline::engine::sglang
