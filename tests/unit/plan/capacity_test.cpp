#include "plan/capacity.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "plan/question.hpp"
#include "plan/share.hpp"
#include "plan/space.hpp"

namespace ridgeline::plan {
namespace {

const std::atomic<bool> kNoInterrupt = false;

/// One seat, prompts of one length, one token each: a server that takes the same time for all.
scenario::Resolved one_seat(const char* load = "workload.request_rate") {
  QuestionWords words;
  words.overrides = {{.path = "model", .text = "llama-3.1-8b"},
                     {.path = "gpu", .text = "h100"},
                     {.path = "engine.tensor_parallel_size", .text = "1"},
                     {.path = "engine.max_num_batched_tokens", .text = "2048"},
                     {.path = "engine.max_num_seqs", .text = "1"},
                     {.path = load, .text = "1"},
                     {.path = "workload.input_len", .text = "1000"},
                     {.path = "workload.output_len", .text = "1"},
                     {.path = "slo.ttft", .text = "1s"}};
  words.objective = "gpus";
  const auto question = read_question(words);
  const auto space = Space::read(*question);
  auto found = space->resolve(space->point(0));
  EXPECT_TRUE(found.has_value());
  return std::move(found->resolved);
}

Targets ttft(double seconds) {
  return {percentile_target(metrics::Metric::kTtft,
                            metrics::Statistic::kP99,
                            core::Duration::saturating(core::Seconds(seconds)))};
}

/// P(wait <= t) of M/D/1 with service time 1 and rate rho (Erlang 1909): (1 - rho) times the sum
/// over k <= t of (rho (k - t))^k / k! * exp(-rho (k - t)).
double waits_at_most(double t, double rho) {
  double sum = 0.0;
  double log_factorial = 0.0;
  for (int k = 0; k <= static_cast<int>(t); ++k) {
    log_factorial += k > 0 ? std::log(static_cast<double>(k)) : 0.0;
    const double left = rho * (t - k);
    const double size = k == 0 ? 0.0 : k * std::log(std::max(left, 1e-300));
    sum += (k % 2 == 0 ? 1.0 : -1.0) * std::exp(size - log_factorial + left);
  }
  return (1.0 - rho) * sum;
}

/// The time that each request takes the seat: of a run that is never idle.
double service_seconds(const scenario::Resolved& resolved) {
  constexpr std::int64_t kFew = 2'000;
  const auto busy = run_share(resolved,
                              ttft(1.0),
                              {.load = 1'000.0, .requests = kFew, .batch = kFew, .seed = 1},
                              kNoInterrupt);
  EXPECT_TRUE(busy.has_value());
  return *busy->summary.duration_s / static_cast<double>(kFew);
}

TEST(FindCapacity, OfOneSeatIsThatOfMD1) {
  const scenario::Resolved resolved = one_seat();
  const double service_s = service_seconds(resolved);
  // What one sees that never waits.
  const Targets mean = {percentile_target(
      metrics::Metric::kTtft, metrics::Statistic::kMean, core::Duration::seconds(1))};
  const auto alone = run_share(
      resolved, mean, {.load = 0.001, .requests = 10, .batch = 10, .seed = 1}, kNoInterrupt);
  ASSERT_TRUE(alone.has_value());
  const BatchCount total = alone->targets.front().total();
  const double alone_s = total.sum_s / static_cast<double>(total.requests);
  for (const double services : {3.5, 8.5}) {
    double low = 0.01;
    double high = 0.99;
    for (int i = 0; i < 40; ++i) {
      const double middle = (low + high) / 2.0;
      (waits_at_most(services, middle) >= 0.99 ? low : high) = middle;
    }
    const auto found = find_capacity(
        resolved,
        ttft(alone_s + services * service_s),
        {.requests = 200'000, .guess = 0.5 / service_s, .ceiling = 0.99 / service_s, .seed = 1},
        kNoInterrupt);
    ASSERT_TRUE(found.has_value() && found->has_value());
    EXPECT_EQ((*found)->limit, Limit::kTarget);
    EXPECT_NEAR((*found)->load * service_s / low, 1.0, 0.01) << services;
  }
}

TEST(FindCapacity, OfClientsIsSoManyTurnsOfTheSeat) {
  const double service_s = service_seconds(one_seat());
  // N clients take turns: each waits for the others, so that an answer comes N services after its
  // request, and the seat is never idle.
  for (const double turns : {3.5, 5.9, 40.5}) {
    const Targets target = {
        percentile_target(metrics::Metric::kE2e,
                          metrics::Statistic::kMean,
                          core::Duration::saturating(core::Seconds(turns * service_s)))};
    const auto found = find_capacity(
        one_seat("workload.max_concurrency"),
        target,
        {.requests = 2'000, .guess = 3.0, .ceiling = 100.0, .seed = 1, .is_closed_loop = true},
        kNoInterrupt);
    ASSERT_TRUE(found.has_value() && found->has_value());
    EXPECT_EQ((*found)->load, std::floor(turns)) << turns;
    EXPECT_NEAR((*found)->requests_per_second * service_s, 1.0, 0.02) << turns;
  }
}

TEST(FindCapacity, SaysWhereNoLoadMeetsTheTargets) {
  // A little less than a prompt alone takes: no bound refuses it, every run does.
  const auto found = find_capacity(one_seat(),
                                   ttft(0.001),
                                   {.requests = 2'000, .guess = 10.0, .ceiling = 20.0, .seed = 1},
                                   kNoInterrupt);
  ASSERT_TRUE(found.has_value() && found->has_value());
  EXPECT_EQ((*found)->limit, Limit::kNone);
  EXPECT_EQ((*found)->load, 0.0);
}

TEST(FindCapacity, EndsAtTheCeiling) {
  const auto found = find_capacity(one_seat(),
                                   ttft(1'000.0),
                                   {.requests = 2'000, .guess = 5.0, .ceiling = 10.0, .seed = 1},
                                   kNoInterrupt);
  ASSERT_TRUE(found.has_value() && found->has_value());
  EXPECT_EQ((*found)->limit, Limit::kUtilisation);
  EXPECT_NEAR((*found)->load, 10.0, 1e-9);
}

TEST(ExpectedSd, IsWhatWasMeasured) {
  EXPECT_NEAR(expected_sd(2'000), 0.10, 1e-12);
  EXPECT_NEAR(expected_sd(20'000), 0.045, 0.005);
}

}  // namespace
}  // namespace ridgeline::plan
