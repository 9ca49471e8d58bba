// TensorRT-LLM's ranks of attention in data parallel: which of them run, and which contexts wait.
#include "engine/tensorrt_llm/attention_dp.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "domain/request.hpp"
#include "engine/loop/rank_agreement.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/options.hpp"
#include "engine/tensorrt_llm/options.hpp"
#include "engine/tensorrt_llm/scheduler.hpp"
#include "engine/tensorrt_llm/settings.hpp"
#include "small_engine.hpp"
#include "support/linear_model.hpp"
#include "support/ranks.hpp"

namespace ridgeline::engine::tensorrt_llm {
namespace {

constexpr std::int64_t kSeats = 8;
constexpr RankStatus kBoth{.contexts = 1, .generations = 1};
constexpr RankStatus kGenerates{.generations = 1};

Settings balanced(std::int64_t timeout, std::int64_t batching) {
  return {.enable_attention_dp = true,
          .attention_dp_enable_balance = true,
          .attention_dp_timeout_iters = timeout,
          .attention_dp_batching_wait_iters = batching};
}

/// "hold go hold": what comes of so many iterations alike.
std::string verdicts(AttentionDpBalance& balance,
                     const std::vector<RankStatus>& ranks,
                     int iterations) {
  std::string text;
  for (int i = 0; i < iterations; ++i) {
    text += (text.empty() ? "" : " ") + std::string(balance.holds(ranks) ? "hold" : "go");
  }
  return text;
}

TEST(AttentionDpBalance, HoldsNothingUnlessEnabled) {
  AttentionDpBalance balance(Settings(), kSeats);
  EXPECT_EQ(verdicts(balance, {kBoth, kGenerates}, 3), "go go go");
}

TEST(AttentionDpBalance, HoldsContextsUntilTheTimeoutWhereARankHasNone) {
  AttentionDpBalance balance(balanced(3, 0), kSeats);
  EXPECT_EQ(verdicts(balance, {kBoth, kGenerates}, 7), "hold hold go hold hold go hold");
}

TEST(AttentionDpBalance, ContextsGoAtOnceWhereARankHasNoGeneration) {
  AttentionDpBalance balance(balanced(3, 2), kSeats);
  EXPECT_EQ(verdicts(balance, {kBoth, {.contexts = 1}}, 2), "go go");
  EXPECT_EQ(verdicts(balance, {{.contexts = 1}, kGenerates}, 2), "go go");
}

TEST(AttentionDpBalance, ContextsOfAllRanksWaitForMoreBesideGenerations) {
  AttentionDpBalance balance(balanced(50, 2), kSeats);
  EXPECT_EQ(verdicts(balance, {kBoth, kBoth}, 5), "hold hold go hold hold");
}

TEST(AttentionDpBalance, ARankWithoutASeatCountsAsOneWithoutAContext) {
  AttentionDpBalance balance(balanced(2, 0), kSeats);
  EXPECT_EQ(verdicts(balance, {kBoth, {.contexts = 1, .generations = kSeats}}, 2), "hold go");
}

TEST(AttentionDpBalance, IterationsWithoutContextsCountTowardsTheTimeout) {
  for (std::int64_t passed = 0; passed < 12; ++passed) {
    AttentionDpBalance at_once(balanced(5, 0), kSeats);
    AttentionDpBalance one_by_one(balanced(5, 0), kSeats);
    at_once.advance_quiet(passed);
    verdicts(one_by_one, {kGenerates, kGenerates}, static_cast<int>(passed));
    EXPECT_EQ(verdicts(at_once, {kBoth, kGenerates}, 6),
              verdicts(one_by_one, {kBoth, kGenerates}, 6))
        << passed;
  }
}

/// Two ranks without time: each turn forms a step of both and ends the oldest.
class TwoSchedulers {
 public:
  TwoSchedulers(const Settings& settings, std::size_t depth) : depth_(depth) {
    options_ = small_options();
    auto own = std::make_shared<OwnOptions>();
    own->settings = settings;
    options_.own = own;
    for (auto& rank : ranks_) {
      rank = std::make_unique<Scheduler>(options_);
    }
    agreement_ = make_agreement(options_);
  }
  void add(std::size_t rank, const domain::Request& request) {
    all_.push_back(ranks_.at(rank)->add(request));
  }
  /// "0:10 / 1" are a context of request 0 and a generation of request 1; "none" runs.
  std::string form() {
    const std::array<StepScheduler*, 2> ranks = {ranks_[0].get(), ranks_[1].get()};
    const bool runs = agreement_->agree(ranks, !in_flight_.empty());
    std::array<ScheduledStep, 2> step;
    std::string text;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      ranks_.at(rank)->schedule(step.at(rank));
      text += rank > 0 ? " /" : "";
      for (const ScheduledSequence& part : step.at(rank)) {
        text += " " + std::to_string(part.sequence->record.id.value());
        text += part.is_prefill ? ":" + std::to_string(part.num_scheduled_tokens) : "";
      }
    }
    if (!runs) {
      EXPECT_TRUE(step[0].empty() && step[1].empty());
      return "none";
    }
    in_flight_.push_back(step);
    return text;
  }
  void end_oldest() {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const ScheduledStep& step = in_flight_.front().at(rank);
      ranks_.at(rank)->update(step, std::vector<std::int64_t>(step.size(), 1));
    }
    in_flight_.pop_front();
  }
  /// A turn; without overlap the step ends with it.
  std::string turn() {
    std::string text = form();
    if (in_flight_.size() >= depth_) {
      end_oldest();
    }
    return text;
  }

 private:
  std::size_t depth_;
  EngineOptions options_;
  std::array<std::unique_ptr<Scheduler>, 2> ranks_;
  std::unique_ptr<RankAgreement> agreement_;
  std::vector<engine::SequencePtr> all_;
  std::deque<std::array<ScheduledStep, 2>> in_flight_;
};

TEST(TensorRtAttentionDp, AContextIsHeldUntilTheOtherRankHasOneToo) {
  TwoSchedulers two(balanced(50, 0), 1);
  two.add(0, small_request(0, 4, 9));
  two.add(1, small_request(1, 4, 9));
  EXPECT_EQ(two.turn(), " 0:4 / 1:4");
  two.add(0, small_request(2, 6, 9));
  EXPECT_EQ(two.turn(), " 0 / 1");
  EXPECT_EQ(two.turn(), " 0 / 1");
  two.add(1, small_request(3, 5, 9));
  EXPECT_EQ(two.turn(), " 2:6 0 / 3:5 1");
}

TEST(TensorRtAttentionDp, ARankWithoutRequestsHasADummyGeneration) {
  TwoSchedulers two(balanced(3, 0), 1);
  two.add(0, small_request(0, 4, 9));
  // A rank has no generation: the context goes. Later the dummy is one, and contexts are held.
  EXPECT_EQ(two.turn(), " 0:4 /");
  two.add(0, small_request(1, 6, 9));
  EXPECT_EQ(two.turn(), " 0 /");
  EXPECT_EQ(two.turn(), " 0 /");
  EXPECT_EQ(two.turn(), " 1:6 0 /");
}

TEST(TensorRtAttentionDp, NoRankRunsWhereOneWithRequestsHasNothingToRun) {
  TwoSchedulers two({.enable_attention_dp = true}, 2);
  two.add(0, small_request(0, 4, 2));
  two.add(1, small_request(1, 4, 9));
  EXPECT_EQ(two.form(), " 0:4 / 1:4");
  EXPECT_EQ(two.form(), " 0 / 1");
  two.end_oldest();
  // The last token of request 0 is in flight: its rank has a request, and an empty batch.
  EXPECT_EQ(two.form(), "none");
  two.end_oldest();
  EXPECT_EQ(two.form(), " / 1") << "a dummy on the first rank";
}

TEST(TensorRtAttentionDp, NoneRunsWhereNoRankHasRequests) {
  TwoSchedulers two({.enable_attention_dp = true}, 1);
  EXPECT_EQ(two.form(), "none");
}

}  // namespace
}  // namespace ridgeline::engine::tensorrt_llm
