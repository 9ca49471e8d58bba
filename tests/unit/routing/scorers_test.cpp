#include "routing/scorers/scorers.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/rng.hpp"
#include "routing/scorers/candidate.hpp"
#include "routing/scorers/columns.hpp"
#include "routing/scorers/registry.hpp"

namespace ridgeline::routing {
namespace {

using testing::DoubleEq;
using testing::ElementsAre;

std::vector<Candidate> three() {
  std::vector<Candidate> all(3);
  all[0].gauges = {.waiting = 0, .running = 8, .kv_usage = 0.25};
  all[1].gauges = {.waiting = 4, .running = 6, .kv_usage = 0.5};
  all[2].gauges = {.waiting = 8, .running = 4, .kv_usage = 1.0};
  all[0].inflight_requests = 4;
  all[1].inflight_requests = 1;
  all[2].prefix = {.matched = 3, .total = 4, .block_tokens = 64};
  return all;
}

TEST(Scorers, RankByLoad) {
  const auto all = three();
  EXPECT_THAT(queue_scores(all), ElementsAre(1.0, 0.5, 0.0));
  EXPECT_THAT(running_scores(all), ElementsAre(0.0, 0.5, 1.0));
  EXPECT_THAT(kv_utilization_scores(all), ElementsAre(0.75, 0.5, 0.0));
  EXPECT_THAT(load_aware_scores(all, 8.0), ElementsAre(0.5, 0.25, 0.0));
  EXPECT_THAT(active_request_scores(all), ElementsAre(0.0, 0.75, 1.0));
  EXPECT_THAT(active_requests_scores(all), ElementsAre(0.0, 0.75, 1.0));
  EXPECT_THAT(vllm_dp_scores(all), ElementsAre(1.0, DoubleEq(14.0 / 28.0), 0.0));
  EXPECT_THAT(load_balance_scores(all)[1], DoubleEq(1.0 / 12.0));
}

TEST(Scorers, EqualCandidatesScoreOne) {
  const std::vector<Candidate> same(2);
  EXPECT_THAT(queue_scores(same), ElementsAre(1.0, 1.0));
  EXPECT_THAT(precise_prefix_scores(same), ElementsAre(1.0, 1.0));
  EXPECT_THAT(active_requests_scores(same), ElementsAre(1.0, 1.0));
}

TEST(Scorers, RankByPrefix) {
  const auto all = three();
  EXPECT_THAT(prefix_scores(all), ElementsAre(0.0, 0.0, 0.75));
  // 192 of 8192 tokens, squared, at half the weight.
  EXPECT_DOUBLE_EQ(prefix_scores(all, 0.5)[2], 0.5 * 0.0234375 * 0.0234375 + 0.5 * 0.75);
  EXPECT_THAT(precise_prefix_scores(all), ElementsAre(0.0, 0.0, 1.0));
}

TEST(Scorers, CountTokensToCompute) {
  std::vector<Candidate> all(2);
  all[0].inflight_tokens = 300;
  all[0].uncached_tokens = 200;
  all[1].inflight_tokens = 2000;
  EXPECT_THAT(token_load_scores(all, 1000.0), ElementsAre(0.5, 0.0));
}

TEST(Scorers, PreferAdaptersThatAreThereOrFit) {
  std::vector<Candidate> all(4);
  all[0].adapters = {.active = {"a", "m"}, .most = 2};
  all[1].adapters = {.active = {"a"}, .most = 2};
  all[2].adapters = {.active = {"a"}, .waiting = {"m"}, .most = 2};
  all[3].adapters = {.active = {"a", "b"}, .most = 2};
  EXPECT_THAT(lora_affinity_scores(all, "m"), ElementsAre(1.0, 0.8, 0.6, 0.0));
  EXPECT_THAT(resident_adapter_scores(all, "m"), ElementsAre(1.0, 0.0, 0.0, 0.0));
  EXPECT_THAT(resident_adapter_scores(all, ""), ElementsAre(1.0, 1.0, 1.0, 1.0));
}

TEST(Scorers, PreferNarrowContextRanges) {
  EXPECT_DOUBLE_EQ(context_length_score(std::nullopt, 10), 0.5);
  EXPECT_DOUBLE_EQ(context_length_score(ContextRange{100, 100}, 100), 1.0);
  EXPECT_DOUBLE_EQ(context_length_score(ContextRange{0, 100}, 1100), 0.15);
  EXPECT_DOUBLE_EQ(context_length_score(ContextRange{0, 10'000}, 5000),
                   0.3 + 0.7 * (0.7 * 0.5 + 0.3 * 0.5));
}

TEST(Scorers, OfTwoSitesIsTheNearestLevelThatBothShare) {
  const Site here{.host = 3, .rack = 1, .zone = 0, .region = 0};
  EXPECT_EQ(nearness(here, here), 1.0);
  EXPECT_EQ(nearness(here, {.host = 2, .rack = 1, .zone = 0, .region = 0}), 0.2);
  EXPECT_EQ(nearness(here, {.host = 9, .rack = 4, .zone = 0, .region = 0}), 0.05);
  EXPECT_EQ(nearness(here, {.host = 99, .rack = 49, .zone = 7, .region = 0}), 0.02);
  EXPECT_EQ(nearness(here, {.host = 999, .rack = 499, .zone = 77, .region = 2}), 0.0);
  EXPECT_EQ(nearness({}, {}), 0.0);  // What is not known is not shared.
}

/// Candidates with a few blocks, requests and tokens each.
std::vector<Candidate> drawn_candidates(core::RngStream& draws) {
  std::vector<Candidate> all(1 + draws.below(6));
  const auto blocks = static_cast<std::int64_t>(draws.below(20));
  for (Candidate& one : all) {
    const auto below = [&](std::uint64_t most) {
      return static_cast<std::int64_t>(draws.below(most));
    };
    one.gauges = {.waiting = below(300), .running = below(300), .kv_usage = draws.uniform()};
    one.inflight_requests = below(3);
    one.inflight_tokens = below(8'000'000);
    one.uncached_tokens = below(8'000'000);
    one.prefix = {.matched = below(static_cast<std::uint64_t>(blocks) + 1),
                  .total = blocks,
                  .block_tokens = 64};
    one.served_session = draws.uniform() < 0.5;
  }
  return all;
}

TEST(Scorers, ScoreBetweenZeroAndOneUnlessTheySayOtherwise) {
  core::RngStream draws(1, 0, "candidates");
  for (int i = 0; i < 1000; ++i) {
    std::vector<Candidate> candidates = drawn_candidates(draws);
    Columns all(candidates);
    all.nearness.assign(all.size, draws.uniform());
    std::vector<Candidate> unmatched = candidates;
    for (Candidate& one : unmatched) {
      one.prefix.matched = 0;
    }
    for (const ScorerEntry& entry : scorers()) {
      const Scores scores = entry.make({})(all, {});
      ASSERT_EQ(scores.size(), all.size) << entry.name;
      EXPECT_TRUE(
          entry.may_exceed_1 ||
          std::ranges::all_of(scores, [](double score) { return score >= 0.0 && score <= 1.0; }))
          << entry.name;
      EXPECT_TRUE(!entry.zero_unmatched ||
                  std::ranges::count(entry.make({})(Columns(unmatched), {}), 0.0) ==
                      std::ssize(unmatched))
          << entry.name;
    }
  }
}

TEST(Scorers, ReadTheRowsThatTheirEntriesName) {
  core::RngStream draws(2, 0, "candidates");
  for (const ScorerEntry& entry : scorers()) {
    if (!entry.needs.gauges) {
      continue;
    }
    Columns all(drawn_candidates(draws));
    all.nearness.assign(all.size, 0.0);
    const Scores scores = entry.make({})(all, {});
    for (const auto& [row, is_read] : {std::pair(&all.waiting, entry.rows.waiting),
                                       std::pair(&all.running, entry.rows.running),
                                       std::pair(&all.kv_usage, entry.rows.kv_usage)}) {
      if (!is_read) {
        std::ranges::fill(*row, std::numeric_limits<double>::quiet_NaN());
      }
    }
    EXPECT_EQ(entry.make({})(all, {}), scores) << entry.name;
  }
}

TEST(Scorers, AreFoundByNameAndClampedInSums) {
  ASSERT_NE(find_scorer("queue-scorer"), nullptr);
  EXPECT_TRUE(find_scorer("queue-scorer")->needs.gauges);
  EXPECT_EQ(find_scorer("queue-scorers"), nullptr);
  Scores sums(2, 1.0);
  add_weighted(sums, {1.01, -1.0}, 2.0);
  EXPECT_THAT(sums, ElementsAre(3.0, 1.0));
}

}  // namespace
}  // namespace ridgeline::routing
