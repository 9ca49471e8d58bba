// Rules of vLLM 0.28 to 0.33, by hand.
#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/units.hpp"
#include "engine/options.hpp"
#include "engine/probe.hpp"
#include "engine/profiles.hpp"
#include "support/probe_run.hpp"

namespace ridgeline {
namespace {

using test::tiny_options;
using test::tiny_request;

test::ProbeRun plain_run(const engine::EngineOptions& options) {
  return test::ProbeRun(engine::make_reference_probe(options));
}

TEST(Releases, AThresholdForPrefillsSparesARequestAloneFrom031On) {
  for (const auto& [version, first] : {std::pair("0.30", "0:5"), std::pair("0.31", "0:16")}) {
    auto options = tiny_options(version);
    options.long_prefill_token_threshold = core::Tokens(5);
    auto run = plain_run(options);
    run.add(tiny_request(0, 30, 4));
    EXPECT_EQ(run.step(), first) << version;
    run.add(tiny_request(1, 30, 4));
    EXPECT_EQ(run.step(), "0:5 1:5") << version;
  }
}

TEST(Releases, PrefillsWaitBetweenDecodesFrom033On) {
  for (const auto& [version, held] : {std::pair("0.32", "0:1 1:4"), std::pair("0.33", "0:1")}) {
    auto options = tiny_options(version);
    options.prefill_schedule_interval = 3;
    auto run = plain_run(options);
    run.add(tiny_request(0, 4, 9));
    EXPECT_EQ(run.step(), "0:4");
    run.add(tiny_request(1, 4, 9));
    EXPECT_EQ(run.step(), held) << version;
  }
}

TEST(Releases, FewerRequestsThanSequencesMayRunFrom031On) {
  for (const auto& [version, first] : {std::pair("0.30", "0:4 1:4"), std::pair("0.31", "0:4")}) {
    auto options = tiny_options(version);
    options.max_num_active_seqs = 1;
    auto run = plain_run(options);
    run.add(tiny_request(0, 4, 9));
    run.add(tiny_request(1, 4, 9));
    EXPECT_EQ(run.step(), first) << version;
  }
}

/// Three blocks of 4 hold 12 of 13 tokens. Drafting from hidden states gives one of them up; from
/// 0.33 on their hashes cover what it reads.
TEST(Releases, HashesLookAheadFrom033On) {
  for (const auto& [version, found] : {std::pair("0.32", 8), std::pair("0.33", 12)}) {
    auto options = tiny_options(version);
    options.enable_prefix_caching = true;
    options.num_speculative_tokens = 2;
    auto run = plain_run(options);
    EXPECT_EQ(run.hits({tiny_request(0, 13, 1, 7), tiny_request(1, 13, 1, 7)}).back(), found)
        << version;
  }
}

/// Two prompts of 20 tokens share 12: the third that does finds the state at the place where the
/// second has left the first, though states are kept thinly.
TEST(Releases, TheStateAtAJunctionIsKept) {
  auto options = tiny_options("0.33");
  options.enable_prefix_caching = true;
  options.prefix_cache_retention_interval = core::Tokens(0);
  options.max_num_batched_tokens = core::Tokens(32);
  options.cache_groups = {
      engine::CacheGroup{},
      engine::CacheGroup{.sliding_window = core::Tokens(2), .keeps_states = true}};
  const auto sharing = [](std::uint32_t id) {
    auto request = tiny_request(id, 20, 2, 7);
    request.prompt = {{7, core::Tokens(12)}, {100 + id, core::Tokens(8)}};
    return request;
  };
  auto run = plain_run(options);
  EXPECT_EQ(run.hits({sharing(0), sharing(1), sharing(2)}), (std::vector<std::int64_t>{0, 0, 12}));
}

}  // namespace
}  // namespace ridgeline
