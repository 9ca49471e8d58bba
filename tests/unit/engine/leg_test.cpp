// Requests of which another engine computes a part: KV that takes time to arrive, blocks that stay
// until they were read (docs/internals/fleet.md).
#include "engine/leg.hpp"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/rng.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/engine.hpp"
#include "engine/options.hpp"
#include "engine/profiles.hpp"
#include "engine/server.hpp"
#include "support/drive.hpp"
#include "support/linear_model.hpp"
#include "support/probe_run.hpp"
#include "support/recording_sink.hpp"

namespace ridgeline::engine {
namespace {

using core::RequestId;
using core::SimTime;
using core::Tokens;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

SimTime at(std::int64_t microseconds) {
  return SimTime() + core::Duration::microseconds(microseconds);
}

struct Loads final : LoadSink {
  std::vector<std::pair<LoadStart, SimTime>> seen;
  void on_load_start(const LoadStart& load, SimTime at) override { seen.emplace_back(load, at); }
};

/// An engine whose steps take 1000 us and 10 us a token; blocks of 4 tokens.
struct Fixture {
  explicit Fixture(bool prefix_caching = false, std::int64_t blocks = 64, bool jump = true) {
    options = test::tiny_options("0.20");
    options.num_gpu_blocks = core::Blocks(blocks);
    options.enable_prefix_caching = prefix_caching;
    options.kv_transfer = true;
    engine = make_fast_engine(
        {.options = options, .model = model, .host = host, .sink = sink, .loads = &loads}, jump);
  }
  void run_to(SimTime limit) { engine->advance(limit, false, test::kNoBudget); }
  [[nodiscard]] std::int64_t used(SimTime when) const {
    return engine->state(when).used_blocks.value();
  }

  EngineOptions options;
  test::LinearModel model;
  HostTime host;
  test::RecordingSink sink;
  Loads loads;
  std::unique_ptr<Engine> engine;
};

const Leg kLoadsAll{.remote_tokens = Tokens(1 << 20), .loads = true};

TEST(Legs, ALoadHoldsBlocksWithoutASeatAndOneTokenIsComputed) {
  Fixture f;
  f.engine->submit_leg(test::tiny_request(0, 16, 2), at(0), kLoadsAll);
  f.run_to(at(5000));
  ASSERT_EQ(f.loads.seen.size(), 1U);
  EXPECT_EQ(f.loads.seen.front().first.blocks, core::Blocks(4));
  EXPECT_EQ(f.loads.seen.front().second, at(0));
  EXPECT_EQ(f.used(at(5000)), 4);
  EXPECT_EQ(f.engine->state(at(5000)).running, 0);
  EXPECT_EQ(f.engine->next_instant(), SimTime::never());
  f.engine->finish_load(RequestId(0), at(5000), true);
  f.run_to(SimTime::never());
  ASSERT_EQ(f.sink.requests.size(), 1U);
  // An idle engine goes on at once: a step of one token, and one more.
  EXPECT_EQ(f.sink.requests.front().first_scheduled, at(5000));
  EXPECT_EQ(f.sink.requests.front().first_token, at(6010));
  EXPECT_EQ(f.sink.requests.front().last_token, at(7020));
}

TEST(Legs, ABusyEngineSeesTheKvAtItsNextStepBoundary) {
  Fixture f;
  f.engine->submit(test::tiny_request(0, 8, 40), at(0));  // A step of 1080 us, then of 1010 us.
  f.engine->submit_leg(test::tiny_request(1, 16, 2), at(0), kLoadsAll);
  f.run_to(at(2000));
  f.engine->finish_load(RequestId(1), at(2000), true);
  f.run_to(at(2100));
  EXPECT_EQ(f.engine->state(at(2100)).running, 2);
  f.run_to(SimTime::never());
  ASSERT_EQ(f.sink.requests.size(), 2U);
  EXPECT_EQ(f.sink.requests.front().id, RequestId(1));
  EXPECT_EQ(f.sink.requests.front().first_scheduled, at(2090));
}

TEST(Legs, WhatTheOwnCacheHoldsIsNotRead) {
  Fixture f(true);
  domain::Request first = test::tiny_request(0, 16, 1);
  first.prompt.push_back({7, Tokens(16)});
  domain::Request second = test::tiny_request(1, 20, 1);
  second.prompt.push_back({7, Tokens(16)});
  f.engine->submit(first, at(0));
  f.run_to(at(3000));
  f.engine->submit_leg(second, at(3000), kLoadsAll);
  f.run_to(at(4000));
  ASSERT_EQ(f.loads.seen.size(), 1U);
  EXPECT_EQ(f.loads.seen.front().first.blocks, core::Blocks(1));
  f.engine->finish_load(RequestId(1), at(4000), true);
  f.run_to(SimTime::never());
  EXPECT_EQ(f.sink.requests.back().first_token, at(5010));
}

TEST(Legs, APromptThatIsCachedStartsALoadOfNothing) {
  Fixture f(true);
  domain::Request request = test::tiny_request(0, 16, 1);
  request.prompt.push_back({7, Tokens(16)});
  f.engine->submit(request, at(0));
  f.run_to(at(3000));
  request.id = RequestId(1);
  request.prompt_tokens = Tokens(17);
  f.engine->submit_leg(request, at(3000), {.remote_tokens = Tokens(16), .loads = true});
  f.run_to(SimTime::never());
  ASSERT_EQ(f.loads.seen.size(), 1U);
  EXPECT_EQ(f.loads.seen.front().first.blocks, core::Blocks(0));
  EXPECT_EQ(f.sink.requests.back().first_token, at(4010));
}

TEST(Legs, KvThatNeverComesIsComputed) {
  Fixture f;
  f.engine->submit_leg(test::tiny_request(0, 16, 1), at(0), kLoadsAll);
  f.run_to(at(500));
  f.engine->finish_load(RequestId(0), at(500), false);
  f.run_to(SimTime::never());
  ASSERT_EQ(f.sink.requests.size(), 1U);
  EXPECT_EQ(f.sink.requests.front().first_token, at(500 + 1160));
  EXPECT_EQ(f.used(f.engine->now()), 0);
}

TEST(Legs, BlocksOfAPrefillStayUntilTheyAreReleased) {
  Fixture f(false, 6);
  f.engine->submit_leg(test::tiny_request(0, 16, 1), at(0), {.holds_blocks = true});
  f.engine->submit(test::tiny_request(1, 16, 1), at(1));
  f.run_to(at(9000));
  // The first has ended, and the second has no blocks.
  EXPECT_EQ(f.sink.requests.size(), 1U);
  EXPECT_EQ(f.used(at(9000)), 4);
  EXPECT_EQ(f.engine->state(at(9000)).waiting, 1);
  f.engine->release_blocks(RequestId(0), at(9000));
  f.run_to(SimTime::never());
  ASSERT_EQ(f.sink.requests.size(), 2U);
  EXPECT_EQ(f.sink.requests.back().first_scheduled, at(9000));
  EXPECT_EQ(f.used(f.engine->now()), 0);
}

/// Two loads hold 3 of the 7 blocks each, and lack 2 for what is left to compute; vLLM would
/// stand still. The second gives its blocks back and is computed when the first has ended.
TEST(Legs, WhatHasArrivedGivesWayWhereNothingCanRun) {
  Fixture f(true, 8);
  f.options.profile.reserve_full_prompt = false;
  f.engine = make_fast_engine(
      {.options = f.options, .model = f.model, .host = f.host, .sink = f.sink, .loads = &f.loads},
      true);
  const Leg loads{.remote_tokens = Tokens(12), .loads = true};
  f.engine->submit_leg(test::tiny_request(0, 20, 1), at(0), loads);
  f.engine->submit_leg(test::tiny_request(1, 20, 1), at(0), loads);
  f.run_to(at(5000));
  ASSERT_EQ(f.loads.seen.size(), 2U);
  EXPECT_EQ(f.used(at(5000)), 6);
  f.engine->finish_load(RequestId(0), at(5000), true);
  f.engine->finish_load(RequestId(1), at(5000), true);
  f.run_to(SimTime::never());
  ASSERT_EQ(f.sink.requests.size(), 2U);
  EXPECT_EQ(f.sink.requests.front().first_token, at(6080));  // 8 tokens.
  EXPECT_EQ(f.sink.requests.back().first_scheduled, at(6080));
  EXPECT_EQ(f.used(f.engine->now()), 0);
}

/// A load keeps 3 of the 7 blocks, and the one seat is taken by a request that needs 6, in two
/// steps. It preempts itself after each first one: before vLLM 0.20 for ever. The second time the
/// load gives its blocks back; it is computed when the other has ended.
TEST(Legs, WhatHasArrivedGivesWayToARequestThatPreemptsItself) {
  for (const bool is_fast : {false, true}) {
    Fixture f(false, 8);
    f.options.profile = *find_profile("0.15");
    f.options.max_num_seqs = 1;
    f.options.max_num_batched_tokens = Tokens(12);
    const EngineInputs inputs{
        .options = f.options, .model = f.model, .host = f.host, .sink = f.sink, .loads = &f.loads};
    f.engine = is_fast ? make_fast_engine(inputs, true) : make_reference_engine(inputs);
    f.engine->submit_leg(test::tiny_request(0, 12, 1), at(0), kLoadsAll);
    f.engine->submit(test::tiny_request(1, 24, 1), at(0));
    f.run_to(at(500));
    f.engine->finish_load(RequestId(0), at(500), true);
    f.run_to(at(100'000));
    ASSERT_EQ(f.sink.requests.size(), 2U) << is_fast;
    EXPECT_EQ(f.sink.requests.front().preemptions, 1);
    EXPECT_EQ(f.sink.requests.front().first_token, at(3 * 1120));  // 12 tokens, again, the rest.
    EXPECT_EQ(f.sink.requests.back().first_scheduled, at(3 * 1120));
    EXPECT_EQ(f.sink.requests.back().first_token, at(4 * 1120));
    EXPECT_EQ(f.used(f.engine->now()), 0);
  }
}

TEST(Legs, AnAbortGivesBlocksBack) {
  Fixture f;
  f.engine->submit_leg(test::tiny_request(0, 16, 1), at(0), kLoadsAll);
  f.engine->submit_leg(test::tiny_request(1, 16, 9), at(0), {.holds_blocks = true});
  f.run_to(at(1200));
  f.engine->abort(RequestId(0), at(1200));
  f.engine->abort(RequestId(1), at(1200));
  f.engine->finish_load(RequestId(0), at(1200), true);
  f.run_to(SimTime::never());
  EXPECT_EQ(f.used(f.engine->now()), 0);
  EXPECT_EQ(f.sink.requests.size(), 2U);
}

TEST(Legs, WhatAnEarlierAttemptComputedIsFound) {
  Fixture f(true);
  const domain::Request request = test::tiny_request(0, 16, 1);
  f.engine->submit_leg(request, at(0), {.holds_blocks = true});
  f.run_to(at(5000));
  f.engine->submit_leg(request, at(5000), {.holds_blocks = true, .was_sent_before = true});
  f.run_to(SimTime::never());
  ASSERT_EQ(f.sink.requests.size(), 2U);
  EXPECT_EQ(f.sink.requests.back().cached_tokens, Tokens(12));
  const SimTime end = f.engine->now();
  EXPECT_EQ(f.used(end), 5) << "both hold the three blocks that were found";
  f.engine->release_blocks(RequestId(0), end);
  f.run_to(SimTime::never());
  EXPECT_EQ(f.used(end), 4);
  f.engine->release_blocks(RequestId(0), end);
  f.run_to(SimTime::never());
  EXPECT_EQ(f.used(end), 0);
}

/// Loads of random lengths among other requests, with preemptions: with and without jumps the same,
/// and as in the reference.
TEST(Legs, JumpsChangeNothing) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::vector<test::RecordingSink> sinks;
    for (const bool is_fast : {false, false, true}) {
      core::RngStream draws(seed, 0, "legs");
      const auto below = [&](std::int64_t n) {
        return static_cast<std::int64_t>(draws.next_u64() % static_cast<std::uint64_t>(n));
      };
      Fixture f(seed % 2 == 0, 24, is_fast);
      if (sinks.empty()) {
        f.engine = make_reference_engine({.options = f.options,
                                          .model = f.model,
                                          .host = f.host,
                                          .sink = f.sink,
                                          .loads = &f.loads});
      }
      std::vector<std::pair<SimTime, RequestId>> ends;
      SimTime now;
      for (std::uint32_t i = 0; i < 30; ++i) {
        now += core::Duration::microseconds(below(6000));
        f.run_to(now);
        const domain::Request request = test::tiny_request(i, 1 + below(24), 1 + below(30));
        const std::int64_t kind = below(3);
        const SimTime end = now + core::Duration::microseconds(below(9000));
        f.engine->submit_leg(request,
                             now,
                             kind == 0   ? kLoadsAll
                             : kind == 1 ? Leg{.holds_blocks = true}
                                         : Leg{});
        now = end;
        f.run_to(now);
        f.engine->finish_load(RequestId(i), now, below(4) > 0);
        f.engine->release_blocks(RequestId(i), now);
      }
      for (std::uint32_t i = 0; i < 30 && f.sink.requests.size() < 30; ++i) {
        f.run_to(SimTime::never());
        for (std::uint32_t id = 0; id < 30; ++id) {
          f.engine->finish_load(RequestId(id), f.engine->now(), true);
          f.engine->release_blocks(RequestId(id), f.engine->now());
        }
      }
      f.run_to(SimTime::never());
      EXPECT_EQ(f.sink.requests.size(), 30U);
      EXPECT_EQ(f.used(f.engine->now()), 0);
      sinks.push_back(std::move(f.sink));
    }
    for (const std::size_t other : {1U, 2U}) {
      EXPECT_EQ(sinks[0].requests, sinks[other].requests) << seed;
      EXPECT_EQ(sinks[0].gaps, sinks[other].gaps) << seed;
    }
  }
}

}  // namespace
}  // namespace ridgeline::engine
