#include "plan/race.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

namespace ridgeline::plan {
namespace {

/// A contender whose capacity is known to that deviation.
Contender contender(double capacity, double sd, double unit_cost, double load = 10.0) {
  Contender one;
  one.unit_costs = {unit_cost};
  one.rules = {.load = load, .spare = 0, .most = 100, .allowed = {}};
  one.guess = capacity;
  one.capacity.load = capacity;
  one.capacity.sd = sd;
  one.runs_of = 32'000;
  return one;
}

TEST(ReplicaRules, FewestThatServe) {
  const ReplicaRules rules{.load = 10.0, .spare = 1, .most = 6, .allowed = {2, 4, 6}};
  EXPECT_EQ(rules.fewest(10.0), 2);
  EXPECT_EQ(rules.fewest(4.0), 4);
  EXPECT_EQ(rules.fewest(2.0), 6);
  EXPECT_EQ(rules.fewest(1.5), std::nullopt);
  EXPECT_EQ(rules.fewest(0.0), std::nullopt);
  EXPECT_EQ(rules.highest(), 6);
  EXPECT_EQ((ReplicaRules{.load = 10.0, .most = 5, .allowed = {2, 4, 6}}.highest()), 4);
  EXPECT_EQ((ReplicaRules{.load = 10.0, .most = 5}.highest()), 5);
}

TEST(IsBeaten, OnlyBeyondTheIntervals) {
  // 3 replicas against 2 at the same price each.
  const Contender worse = contender(4.0, 0.01, 1.0);
  EXPECT_TRUE(is_beaten(worse, contender(7.0, 0.01, 1.0), 3.0));
  // The other may need 3 as well.
  EXPECT_FALSE(is_beaten(worse, contender(5.1, 0.02, 1.0), 3.0));
  // Neither is beaten by its equal.
  EXPECT_FALSE(is_beaten(worse, worse, 3.0));
}

TEST(IsBeaten, HasToLoseInEveryObjective) {
  Contender p = contender(4.0, 0.01, 3.0);
  Contender q = contender(7.0, 0.01, 2.0);
  p.unit_costs = {3.0, 1.0};
  q.unit_costs = {2.0, 2.0};
  EXPECT_FALSE(is_beaten(p, q, 3.0));
}

TEST(Race, WhatIsABoundDropsNoEstimate) {
  // The bound costs a third and is as well known.
  std::vector<Contender> all = {contender(10.5, 0.001, 3.0), contender(10.5, 0.001, 1.0)};
  all[1].standing = Standing::kAtBest;
  const auto evaluate = [&](const Contender& one, std::int64_t) {
    return core::Result<std::optional<Capacity>>(one.capacity);
  };
  const std::atomic<bool> interrupt = false;
  ASSERT_TRUE(race(all, evaluate, {.jobs = 1}, interrupt).has_value());
  EXPECT_TRUE(all[0].alive && all[1].alive);
  all[1].standing = Standing::kRanked;
  ASSERT_TRUE(race(all, evaluate, {.jobs = 1}, interrupt).has_value());
  EXPECT_FALSE(all[0].alive);
}

TEST(Race, KeepsTheCheapestWhateverTheJobs) {
  const std::vector<double> truth = {3.0, 11.0, 5.5, 9.0, 2.0, 10.5};
  for (const std::int64_t jobs : {1, 2}) {
    std::vector<Contender> all;
    for (std::size_t i = 0; i < truth.size(); ++i) {
      Contender one = contender(truth[i], 0.0, 1.0 + 0.1 * static_cast<double>(i));
      one.candidate = i;
      one.capacity = {};
      one.runs_of = 0;
      all.push_back(one);
    }
    const std::atomic<bool> interrupt = false;
    const auto done = race(
        all,
        [&](const Contender& one, std::int64_t requests) -> core::Result<std::optional<Capacity>> {
          Capacity found;
          found.load = truth[one.candidate];
          found.sd = expected_sd(requests);
          found.requests = requests;
          return found;
        },
        {.jobs = jobs},
        interrupt);
    ASSERT_TRUE(done && *done);
    EXPECT_TRUE(all[1].alive);   // One replica at 1.1.
    EXPECT_FALSE(all[4].alive);  // Five at 1.4.
    EXPECT_FALSE(all[0].alive);  // Four at 1.0.
  }
}

TEST(Race, EndsBeforeARungThatItMayNotRun) {
  // One replica or two: no rung settles it.
  std::vector<Contender> all(6, contender(10.0, 0.0, 1.0));
  for (Contender& one : all) {
    one.capacity = {};
    one.runs_of = 0;
  }
  std::int64_t longest = 0;
  RaceOptions options{.jobs = 1};
  options.may_go_on = [](std::int64_t requests) { return requests <= 6 * 8'000 * 4; };
  const std::atomic<bool> interrupt = false;
  const auto done = race(
      all,
      [&](const Contender& one, std::int64_t requests) -> core::Result<std::optional<Capacity>> {
        Capacity found;
        found.load = one.guess;
        found.sd = expected_sd(requests);
        found.requests = requests;
        longest = std::max(longest, requests);
        return found;
      },
      options,
      interrupt);
  ASSERT_TRUE(done && *done);
  EXPECT_EQ(longest, 8'000);
}

}  // namespace
}  // namespace ridgeline::plan
