#include "engine/sglang/policy.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/rng.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "engine/sglang/options.hpp"
#include "engine/sglang/radix_cache.hpp"
#include "engine/sglang/request.hpp"

namespace ridgeline::engine::sglang {
namespace {

RequestPtr waiting_request(std::uint32_t id, std::vector<domain::Segment> prompt) {
  domain::Request request;
  request.id = core::RequestId(id);
  for (const domain::Segment& segment : prompt) {
    request.prompt_tokens += segment.length;
  }
  request.prompt = std::move(prompt);
  request.max_tokens = core::Tokens(10 + id % 3);
  request.output_tokens = request.max_tokens;
  request.priority = static_cast<std::int32_t>(id % 2);
  auto sequence = std::make_shared<Sequence>(request, core::Tokens(4096), Speculation());
  sequence->entered = id;
  return sequence;
}

std::vector<std::uint64_t> sorted(WaitingQueue waiting,
                                  const Options& options,
                                  RadixCache* tree,
                                  std::int64_t prefilled = 0,
                                  std::int64_t passes_before = 1) {
  core::RngStream draws(1, 0, "test");
  sort_waiting(
      waiting,
      {.options = options, .tree = tree, .passes_before = passes_before, .prefilled = prefilled},
      draws);
  std::vector<std::uint64_t> ids;
  for (const RequestPtr& request : waiting) {
    ids.push_back(request->record.id.value());
  }
  return ids;
}

using Ids = std::vector<std::uint64_t>;

TEST(SglangPolicy, LpmTakesTheLongestCachedPrefixFirstAndSharersLast) {
  RadixCache tree(1, EvictionPolicy::kLru);
  const RequestPtr cached = waiting_request(9, {{1, core::Tokens(40)}});
  static_cast<void>(tree.insert(cached->keys, 40, {.salt = cached->salt}));
  const WaitingQueue waiting = {
      waiting_request(0, {{5, core::Tokens(40)}, {11, core::Tokens(5)}}),
      waiting_request(1,
                      {{5, core::Tokens(36)}, {12, core::Tokens(3)}}),  // As 0: 36 of 32 or more.
      waiting_request(2, {{1, core::Tokens(20)}, {13, core::Tokens(30)}}),
      waiting_request(3, {{1, core::Tokens(40)}, {14, core::Tokens(10)}}),
  };
  Options options;
  options.schedule_policy = SchedulePolicy::kLpm;
  EXPECT_EQ(sorted(waiting, options, &tree), (Ids{3, 2, 0, 1}));
  EXPECT_EQ(sorted(waiting, options, nullptr), (Ids{0, 1, 2, 3}));  // No cache, no order by it.
}

TEST(SglangPolicy, DfsWeightGoesDownTheBranchWithMostRequests) {
  RadixCache tree(1, EvictionPolicy::kLru);
  for (const std::uint64_t content : {1ULL, 2ULL}) {
    const RequestPtr cached = waiting_request(9, {{content, core::Tokens(10)}});
    static_cast<void>(tree.insert(cached->keys, 10, {.salt = cached->salt}));
  }
  const WaitingQueue waiting = {waiting_request(0, {{3, core::Tokens(10)}}),
                                waiting_request(1, {{1, core::Tokens(10)}}),
                                waiting_request(2, {{2, core::Tokens(10)}}),
                                waiting_request(3, {{2, core::Tokens(12)}})};
  Options options;
  options.schedule_policy = SchedulePolicy::kDfsWeight;
  EXPECT_EQ(sorted(waiting, options, &tree), (Ids{2, 3, 1, 0}));
}

TEST(SglangPolicy, LofTakesTheLongestOutputsFirst) {
  const WaitingQueue waiting = {waiting_request(0, {{3, core::Tokens(10)}}),
                                waiting_request(1, {{1, core::Tokens(10)}}),
                                waiting_request(2, {{2, core::Tokens(10)}}),
                                waiting_request(5, {{2, core::Tokens(12)}})};
  Options options;
  options.schedule_policy = SchedulePolicy::kLof;
  EXPECT_EQ(sorted(waiting, options, nullptr), (Ids{2, 5, 1, 0}));
}

TEST(SglangPolicy, PrioritiesComeBeforeTheOrderOfEntry) {
  const WaitingQueue waiting = {waiting_request(3, {{3, core::Tokens(10)}}),
                                waiting_request(0, {{1, core::Tokens(10)}}),
                                waiting_request(1, {{2, core::Tokens(10)}})};
  Options options;
  EXPECT_EQ(sorted(waiting, options, nullptr), (Ids{3, 0, 1}));
  options.enable_priority_scheduling = true;
  EXPECT_EQ(sorted(waiting, options, nullptr), (Ids{1, 3, 0}));  // Larger values first.
  options.schedule_low_priority_values_first = true;
  EXPECT_EQ(sorted(waiting, options, nullptr), (Ids{0, 1, 3}));
}

TEST(SglangPolicy, HrrnWeighsWaitingByWhatIsToCompute) {
  RadixCache tree(1, EvictionPolicy::kLru);
  const RequestPtr cached = waiting_request(9, {{1, core::Tokens(90)}});
  static_cast<void>(tree.insert(cached->keys, 90, {.salt = cached->salt}));
  const WaitingQueue waiting = {waiting_request(0, {{2, core::Tokens(100)}}),
                                waiting_request(1, {{1, core::Tokens(100)}}),
                                waiting_request(2, {{3, core::Tokens(20)}})};
  waiting[1]->prefilled_before = 90;  // It came late, but 90 of its tokens are cached.
  Options options;
  options.schedule_policy = SchedulePolicy::kHrrn;
  // 1 + 100/100, 1 + 10/10 and 1 + 100/20: equal ratios by id.
  EXPECT_EQ(sorted(waiting, options, &tree, 100), (Ids{2, 0, 1}));
}

TEST(SglangPolicy, EveryThirtySecondPassTouchesWhatWaitingRequestsFind) {
  for (const std::int64_t passes_before : {31, 32}) {
    RadixCache tree(1, EvictionPolicy::kLru);
    for (const std::uint64_t content : {1ULL, 2ULL}) {
      const RequestPtr cached = waiting_request(9, {{content, core::Tokens(10)}});
      static_cast<void>(tree.insert(cached->keys, 10, {.salt = cached->salt}));
    }
    const WaitingQueue waiting = {waiting_request(0, {{1, core::Tokens(12)}})};
    Options options;
    options.rules.refreshes_waiting = true;
    static_cast<void>(sorted(waiting, options, &tree, 0, passes_before));
    static_cast<void>(tree.evict(10));  // The oldest.
    const bool is_kept = tree.find(waiting[0]->keys, 10, waiting[0]->salt) == 10;
    EXPECT_EQ(is_kept, passes_before == 32);
  }
}

TEST(SglangPolicy, RandomIsAShuffleOfAllThatIsTheSameForASeed) {
  WaitingQueue waiting;
  for (std::uint32_t id = 0; id < 20; ++id) {
    waiting.push_back(waiting_request(id, {{id + 1, core::Tokens(4)}}));
  }
  Options options;
  options.schedule_policy = SchedulePolicy::kRandom;
  Ids ids = sorted(waiting, options, nullptr);
  EXPECT_EQ(ids, sorted(waiting, options, nullptr));
  EXPECT_FALSE(std::ranges::is_sorted(ids));
  std::ranges::sort(ids);
  EXPECT_EQ(ids.front(), 0U);
  EXPECT_EQ(ids.back(), 19U);
}

}  // namespace
}  // namespace ridgeline::engine::sglang
