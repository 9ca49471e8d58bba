// prefix_cache_retention_interval: which blocks of windows beside full attention can be found. A
// window of 8 tokens in blocks of 4: a hit needs the two blocks before its end.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "engine/options.hpp"
#include "engine/probe.hpp"
#include "support/probe_run.hpp"

namespace ridgeline {
namespace {

using core::BlockId;
using Interval = std::optional<std::int64_t>;

engine::EngineOptions windowed(Interval interval) {
  auto options = test::tiny_options("0.29");
  options.max_num_batched_tokens = core::Tokens(64);
  options.enable_prefix_caching = true;
  options.cache_groups = {{}, {.sliding_window = core::Tokens(8)}};
  if (interval) {
    options.prefix_cache_retention_interval = core::Tokens(*interval);
  }
  return options;
}

/// Text 7 to so many tokens, then tokens of the request's own.
domain::Request begins_alike(std::uint32_t id, std::int64_t shared, std::int64_t prompt) {
  auto request = test::tiny_request(id, prompt, 1);
  request.prompt = {{7, core::Tokens(shared)}};
  return request;
}

/// What each of these finds, one after the other, each from its beginning to its end.
std::vector<std::int64_t> hits(const engine::EngineOptions& options,
                               const std::vector<domain::Request>& requests) {
  test::ProbeRun run(engine::make_fast_probe(options));
  std::vector<std::int64_t> found = run.hits(requests);
  EXPECT_EQ(run->num_free_blocks(), 64);
  return found;
}

// A prompt of 18 and an answer of 12, whose last token is never computed: 29 tokens, 7 blocks. The
// last aligned position of the prompt is 16.
TEST(WindowRetention, TheNextTurnHitsUpToThePromptNotItsAnswer) {
  for (const auto& [interval, expected] :
       {std::pair(Interval(), 28),
        std::pair(Interval(0), 16),
        std::pair(Interval(12), 24),
        std::pair(Interval(14), 28),  // 14 and 28: blocks to 12 and 28.
        std::pair(Interval(32), 16)}) {
    auto next = test::tiny_request(1, 35, 1);
    next.prompt = {{7, core::Tokens(18)},
                   {domain::output_content(core::RequestId(0)), core::Tokens(12)}};
    EXPECT_THAT(hits(windowed(interval), {test::tiny_request(0, 18, 12, 7), next}),
                testing::ElementsAre(0, expected))
        << interval.value_or(-1);
  }
}

// The second prompt leaves the first one after 20 tokens, inside it: nothing of the window is
// there. From then on its junction is.
TEST(WindowRetention, APrefixIsFoundOncePromptsPartedThere) {
  const std::vector<domain::Request> requests = {
      test::tiny_request(0, 33, 1, 7), begins_alike(1, 20, 30), begins_alike(2, 20, 30)};
  EXPECT_THAT(hits(windowed(std::nullopt), requests), testing::ElementsAre(0, 20, 20));
  EXPECT_THAT(hits(windowed(0), requests), testing::ElementsAre(0, 0, 20));
}

// A prompt is found again where its own look-up ends: one block short of a prompt that ends with a
// block; with drafts from hidden states one block more is asked for, and given up.
TEST(WindowRetention, ARepeatedPromptIsFoundAsBefore) {
  for (const Interval interval : {Interval(), Interval(0)}) {
    auto options = windowed(interval);
    const auto again = [&](std::int64_t prompt) {
      return hits(options,
                  {test::tiny_request(0, prompt, 1, 7), test::tiny_request(1, prompt, 1, 7)})
          .back();
    };
    EXPECT_EQ(again(16), 12);
    EXPECT_EQ(again(18), 16);
    EXPECT_EQ(again(3), 0);
    EXPECT_EQ(again(6), 4);  // Shorter than the window.
    options.num_speculative_tokens = 1;
    EXPECT_EQ(again(18), 12);
  }
}

TEST(WindowRetention, BlocksThatCannotBeFoundAreReusedFirst) {
  const auto reused_first = [](Interval interval, std::size_t count) {
    test::ProbeRun run(engine::make_fast_probe(windowed(interval)));
    run.add(test::tiny_request(0, 33, 1, 7));
    run.step();
    const auto free = run->free_list();
    return std::vector(free.begin(), free.begin() + static_cast<std::ptrdiff_t>(count));
  };
  // Blocks 1 to 9 have the whole context, 10 to 18 the window; 9 and 18 are not full. Before token
  // 32 the window keeps 16 and 17.
  EXPECT_THAT(reused_first(std::nullopt, 3),
              testing::ElementsAre(BlockId(18), BlockId(9), BlockId(19)));
  EXPECT_THAT(reused_first(0, 9),
              testing::ElementsAre(BlockId(18),
                                   BlockId(15),
                                   BlockId(14),
                                   BlockId(13),
                                   BlockId(12),
                                   BlockId(11),
                                   BlockId(10),
                                   BlockId(9),
                                   BlockId(19)));
}

/// The second prompt parts from the first at 20 tokens, where nothing was kept.
TEST(WindowRetention, WindowsAloneAndStatesAreThinnedToo) {
  const std::vector<domain::Request> requests = {test::tiny_request(0, 33, 1, 7),
                                                 begins_alike(1, 20, 30)};
  auto alone = windowed(0);
  alone.cache_groups = {{.sliding_window = core::Tokens(8)}};
  EXPECT_THAT(hits(alone, requests), testing::ElementsAre(0, 0));
  auto states = windowed(0);
  states.cache_groups = {{}, {.sliding_window = core::Tokens(2), .keeps_states = true}};
  states.max_num_batched_tokens = core::Tokens(4);  // Every block's end has a state.
  EXPECT_THAT(hits(states, requests), testing::ElementsAre(0, 0));
}

}  // namespace
}  // namespace ridgeline
