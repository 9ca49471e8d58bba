// inference-sim's workload description, by its specification: what its own program is known to do
// otherwise is done right, and said in a warning.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "core/time.hpp"
#include "unit/workload/sample.hpp"
#include "unit/workload/traces/trace_text.hpp"
#include "workload/item.hpp"
#include "workload/item_stream.hpp"
#include "workload/replay.hpp"
#include "workload/source.hpp"
#include "workload/traces/trace.hpp"

namespace ridgeline::workload {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

core::Result<ItemList> blis_items(const std::string& text) {
  auto stream = open_items(input_of("version: \"2\"\n" + text), "t", {.seed = 1});
  if (!stream) {
    return core::fail(stream.error());
  }
  return read_all(**stream);
}

std::string blis_problem(const std::string& text) {
  const auto list = blis_items(text);
  return list ? "sound" : core::to_string(list.error()[0]);
}

std::set<std::string> warning_codes(const ItemList& list) {
  std::set<std::string> codes;
  for (const auto& warning : list.warnings) {
    codes.insert(warning.code);
  }
  return codes;
}

const std::string kFixedLengths =
    "    input_distribution: {type: constant, params: {value: 100}}\n"
    "    output_distribution: {type: constant, params: {value: 10}}\n";

// A client with a window of its own rate beside one that is always on: both are generated, and the
// prefix of the first stays (there, the second generates nothing and the prefix is dropped).
TEST(BlisWindows, KeepPrefixesAndAlwaysOnClients) {
  const auto list = blis_items(
      "aggregate_rate: 4\nhorizon: 100000000\nclients:\n"
      "  - id: a\n    rate_fraction: 1\n    prefix_group: p\n    prefix_length: 64\n"
      "    lifecycle: {windows: [{start_us: 10000000, end_us: 60000000, trace_rate: 10}]}\n" +
      kFixedLengths + "  - id: b\n    rate_fraction: 1\n" + kFixedLengths);
  ASSERT_TRUE(list.has_value()) << core::to_string(list.error()[0]);
  double windowed = 0;
  double steady = 0;
  for (const Item& item : list->items) {
    if (item.prompt.empty()) {
      ++steady;
      EXPECT_EQ(item.input_tokens.value(), 100);
    } else {
      ++windowed;
      EXPECT_EQ(item.input_tokens.value(), 164);
      EXPECT_GE(item.arrival, core::Duration::seconds(10));
      EXPECT_LE(item.arrival, core::Duration::seconds(60));
    }
  }
  // 10/s for 50 s, and half of 4/s for 100 s.
  EXPECT_NEAR(windowed, 500, kStandardErrors * std::sqrt(500.0));
  EXPECT_NEAR(steady, 200, kStandardErrors * std::sqrt(200.0));
  EXPECT_THAT(warning_codes(*list), Contains("W-blis-windows"));
}

// Mean gaps of shape * scale = 2 * 0.25 s whatever the rate says.
TEST(BlisArrivals, ShapeAndScaleStateTheRate) {
  const auto list = blis_items(
      "aggregate_rate: 100\nnum_requests: 4000\nclients:\n  - id: a\n    rate_fraction: 1\n"
      "    arrival: {process: gamma, shape: 2, scale: 250000}\n" +
      kFixedLengths);
  ASSERT_TRUE(list.has_value()) << core::to_string(list.error()[0]);
  // The gaps' coefficient of variation is sqrt(1/2).
  EXPECT_NEAR(list->items.back().arrival.to_seconds(),
              2000,
              kStandardErrors * 2000 * std::sqrt(0.5 / 4000));
}

// Gamma(1 + 1/2) = sqrt(pi) / 2: mean gaps of 0.886 s.
TEST(BlisArrivals, SoDoThoseOfAWeibullLaw) {
  const auto list = blis_items(
      "aggregate_rate: 100\nnum_requests: 4000\nclients:\n  - id: a\n    rate_fraction: 1\n"
      "    arrival: {process: weibull, shape: 2, scale: 1000000}\n" +
      kFixedLengths);
  ASSERT_TRUE(list.has_value()) << core::to_string(list.error()[0]);
  const double mean = 0.886226925452758;
  EXPECT_NEAR(list->items.back().arrival.to_seconds(),
              4000 * mean,
              kStandardErrors * mean * 0.5227232 * std::sqrt(4000.0));
}

TEST(BlisArrivals, RefuseWhatWouldSayNothing) {
  const auto why = [](const std::string& arrival) {
    return blis_problem(
        "aggregate_rate: 1\nnum_requests: 5\nclients:\n  - id: a\n    rate_fraction: 1\n"
        "    arrival: " +
        arrival + "\n" + kFixedLengths);
  };
  EXPECT_THAT(why("{process: poisson, shape: 2}"), HasSubstr("says nothing of poisson arrivals"));
  EXPECT_THAT(why("{process: gamma, scale: 5}"), HasSubstr("scale: stands without shape"));
}

TEST(BlisSections, AreReadOrRefusedByName) {
  const std::string client = "clients:\n  - id: a\n    rate_fraction: 1\n" + kFixedLengths;
  EXPECT_THAT(blis_problem("servegen_data: {path: x}\n"), HasSubstr("servegen_data: is not read"));
  EXPECT_THAT(blis_problem("num_requests: 5\naggregate_rate: 1\n" + client +
                           "inference_perf:\n  stages: [{rate: 1, duration: 3}]\n  shared_prefix: "
                           "{num_unique_system_prompts: 1, num_users_per_system_prompt: 1, "
                           "system_prompt_len: 4, question_len: 2, output_len: 8}\n"),
              HasSubstr("inference_perf: stands beside clients or cohorts"));
  EXPECT_THAT(
      blis_problem("num_requests: 5\naggregate_rate: 1\n" + client +
                   "  - id: b\n    rate_fraction: 1\n    slo_class: batch\n" + kFixedLengths),
      HasSubstr("1 of 2 are without slo_class"));
  EXPECT_THAT(blis_problem("num_requests: 5\nclients:\n  - id: a\n    concurrency: 2\n"
                           "    reasoning: {multi_turn: {max_rounds: 2}}\n" +
                           kFixedLengths),
              HasSubstr("concurrency: stands beside multi_turn"));
  EXPECT_THAT(
      blis_problem("num_requests: 5\naggregate_rate: 1\nclients:\n  - id: a\n    rate_fraction: 1\n"
                   "    multimodal: {audio_distribution: {type: constant, params: {value: 1}}}\n" +
                   kFixedLengths),
      HasSubstr("audio_distribution: is not generated yet"));
  EXPECT_THAT(
      blis_problem("num_requests: 5\naggregate_rate: 1\nclients:\n  - id: a\n    rate_fraction: 1\n"
                   "    lifecycle: {windows: [{start_us: 0, end_us: 5, arrival: {process: "
                   "poisson}}]}\n" +
                   kFixedLengths),
      HasSubstr("arrival: is not read inside a window"));
}

// Users that send again when they have their answer: what ends them is the horizon alone.
const std::string kEndless =
    "horizon: 60000000\naggregate_rate: 0\nclients:\n  - id: a\n"
    "    concurrency: 8\n    think_time_us: 500000\n" +
    kFixedLengths;

core::Result<std::unique_ptr<ItemStream>> endless(const std::string& text) {
  return open_items(input_of("version: \"2\"\n" + text), "t", {.seed = 1});
}

TEST(BlisConcurrency, EndsWithTheHorizon) {
  auto stream = endless(kEndless);
  ASSERT_TRUE(stream.has_value());
  EXPECT_TRUE((*stream)->is_endless());
  // Answers at once: each of 8 sends every half second from 0 s on, and none at 60 s.
  const auto list = read_all(*flattened(std::move(*stream)));
  ASSERT_TRUE(list.has_value());
  EXPECT_THAT(list->items, SizeIs(8 * 120));
  const auto source = make_replay(*endless(kEndless));
  std::int64_t sent = 0;
  for (auto time = source->next_arrival(); time; time = source->next_arrival()) {
    EXPECT_LT(time->to_seconds(), 60.0);
    const auto id = source->pop().id;
    source->on_completion(id, *time + core::Duration::milliseconds(500));
    ++sent;
  }
  EXPECT_EQ(sent, 8 * 60);
}

TEST(BlisConcurrency, WithoutThinkTimeOnlyARunSaysHowMany) {
  std::string text = kEndless;
  text.replace(text.find("500000"), 6, "0");
  auto stream = endless(text);
  ASSERT_TRUE(stream.has_value());
  const auto list = read_all(*flattened(std::move(*stream)));
  ASSERT_FALSE(list.has_value());
  EXPECT_THAT(core::to_string(list.error()[0]), HasSubstr("num_requests: missing"));
}

TEST(BlisWarnings, SayWhatIsReadOver) {
  const auto list = blis_items(
      "seed: 7\ngoodput_slo_targets: {batch: {ttft_ms: 5}}\nnum_requests: 5\naggregate_rate: 1\n"
      "clients:\n  - id: a\n    rate_fraction: 1\n    network: {rtt_ms: 5}\n    timeout: 5\n" +
      kFixedLengths);
  ASSERT_TRUE(list.has_value()) << core::to_string(list.error()[0]);
  for (const char* code : {"W-blis-seed", "W-slo-targets", "W-blis-network", "W-blis-timeout"}) {
    EXPECT_THAT(warning_codes(*list), Contains(code));
  }
  EXPECT_THAT(warning_codes(*list), Not(Contains("W-blis-windows")));
}

// num_requests is 3: three sessions of two rounds, each round whole (there, the schedule is cut
// before the rounds are taken out, and more requests run than were asked for).
TEST(BlisSessions, AreCountedAsSessions) {
  for (const char* closed : {"true", "false"}) {
    const auto list = blis_items(
        "aggregate_rate: 1\nnum_requests: 3\nclients:\n  - id: a\n    rate_fraction: 1\n"
        "    closed_loop: " +
        std::string(closed) +
        "\n    prefix_group: p\n    prefix_length: 30\n"
        "    reasoning: {multi_turn: {max_rounds: 2, think_time_us: 1000000}}\n" +
        kFixedLengths);
    ASSERT_TRUE(list.has_value()) << core::to_string(list.error()[0]);
    ASSERT_THAT(list->items, SizeIs(6));
    for (const Item& item : list->items) {
      // Without accumulation each round is the prefix and fresh input.
      EXPECT_EQ(item.input_tokens.value(), 130);
      ASSERT_FALSE(item.prompt.empty());
      EXPECT_EQ(item.prompt[0].length.value(), 30);
    }
    EXPECT_EQ(std::ranges::count_if(list->items, &Item::starts_group), 3);
    EXPECT_THAT(warning_codes(*list), Contains("W-blis-sessions"));
  }
}

}  // namespace
}  // namespace ridgeline::workload
