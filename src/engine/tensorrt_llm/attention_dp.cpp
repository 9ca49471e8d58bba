#include "engine/tensorrt_llm/attention_dp.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "engine/loop/rank_agreement.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/options.hpp"
#include "engine/tensorrt_llm/options.hpp"
#include "engine/tensorrt_llm/scheduler.hpp"

namespace ridgeline::engine::tensorrt_llm {

bool AttentionDpBalance::holds(std::span<const RankStatus> ranks) {
  if (!settings_.attention_dp_enable_balance) {
    return false;
  }
  const bool all_have_contexts =
      std::ranges::all_of(ranks, [](const RankStatus& rank) { return rank.contexts > 0; });
  const bool all_have_generations =
      std::ranges::all_of(ranks, [](const RankStatus& rank) { return rank.generations > 0; });
  const bool all_have_seats = std::ranges::all_of(
      ranks, [this](const RankStatus& rank) { return rank.generations < max_batch_size_; });
  if (all_have_contexts && all_have_seats) {
    waiting_ = 0;
    if (!all_have_generations) {
      return false;
    }
    if (batching_ < settings_.attention_dp_batching_wait_iters) {
      ++batching_;
      return true;
    }
    batching_ = 0;
    return false;
  }
  if (++waiting_ >= settings_.attention_dp_timeout_iters || !all_have_generations) {
    waiting_ = 0;
    return false;
  }
  return true;
}

void AttentionDpBalance::advance_quiet(std::int64_t iterations) {
  const std::int64_t most = std::max<std::int64_t>(settings_.attention_dp_timeout_iters, 1);
  waiting_ = (waiting_ + iterations) % most;
}

namespace {

class AttentionDp final : public RankAgreement {
 public:
  explicit AttentionDp(const EngineOptions& options)
      : balance_(settings_of(options), options.max_num_seqs) {}

  bool agree(std::span<StepScheduler* const> ranks, bool in_flight) override {
    while (true) {
      std::int64_t pauses = 0;
      statuses_.clear();
      for (StepScheduler* const rank : ranks) {
        pauses -= rank->counts().preemptions;
        statuses_.push_back(own(rank).propose());
        pauses += rank->counts().preemptions;
      }
      if (std::ranges::all_of(statuses_, &RankStatus::is_idle)) {
        return false;
      }
      if (balance_.holds(statuses_)) {
        for (std::size_t i = 0; i < ranks.size(); ++i) {
          own(ranks[i]).hold_contexts();
          statuses_[i].contexts = 0;
        }
      }
      if (std::ranges::none_of(statuses_, &RankStatus::is_stuck)) {
        return true;
      }
      for (StepScheduler* const rank : ranks) {
        own(rank).withdraw();
      }
      if (in_flight || pauses == 0) {
        return false;
      }
    }
  }

  void advance_quiet(std::span<StepScheduler* const> ranks, std::int64_t rounds) override {
    static_cast<void>(ranks);
    balance_.advance_quiet(rounds);
  }

 private:
  static Scheduler& own(StepScheduler* rank) { return static_cast<Scheduler&>(*rank); }

  AttentionDpBalance balance_;
  std::vector<RankStatus> statuses_;  ///< Scratch of agree().
};

}  // namespace

std::unique_ptr<RankAgreement> make_agreement(const EngineOptions& options) {
  return std::make_unique<AttentionDp>(options);
}

}  // namespace ridgeline::engine::tensorrt_llm
