#include "workload/trace_stats.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/rng.hpp"
#include "core/units.hpp"
#include "domain/chain.hpp"
#include "domain/request.hpp"
#include "support/paths.hpp"
#include "unit/workload/items.hpp"
#include "workload/length_counts.hpp"
#include "workload/reuse.hpp"
#include "workload/traces/trace.hpp"

namespace ridgeline::workload {
namespace {

/// A prompt of these segments and nothing else.
domain::Chain chain_of(std::vector<domain::Segment> segments) {
  domain::Request request;
  for (const domain::Segment& segment : segments) {
    request.prompt_tokens += segment.length;
  }
  request.prompt = std::move(segments);
  return domain::Chain(request);
}

/// Distance by distance.
std::vector<std::int64_t> distances_of(const ReuseDistances& distances,
                                       const domain::Chain& chain,
                                       std::int64_t tokens) {
  std::vector<std::int64_t> all;
  distances.for_each_repeat(chain, tokens, [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      all.push_back(first + i);
    }
  });
  return all;
}

TEST(ReuseDistances, CountBlocksUsedSince) {
  ReuseDistances distances(core::Tokens(4));
  const auto first = chain_of({{1, core::Tokens(8)}, {2, core::Tokens(8)}});
  const auto second = chain_of({{1, core::Tokens(8)}, {3, core::Tokens(4)}});
  EXPECT_THAT(distances_of(distances, first, 16), testing::IsEmpty());
  distances.use(first, 16);
  EXPECT_THAT(distances_of(distances, second, 12), testing::ElementsAre(0, 1));
  distances.use(second, 12);
  // The second has taken the two common blocks along, and its own stands behind them.
  EXPECT_THAT(distances_of(distances, first, 16), testing::ElementsAre(0, 1, 3, 4));
  // Ten tokens: the third block is not full, and no other is like it.
  EXPECT_THAT(distances_of(distances, first, 10), testing::ElementsAre(0, 1));
  distances.use_nameless(4);
  EXPECT_THAT(distances_of(distances, second, 12), testing::ElementsAre(4, 5, 6));
  EXPECT_EQ(distances.distinct(), 9);
}

// Against a list of blocks in the order of use, block by block, over enough uses to make it compact
// itself. Prompts begin with one of three texts and go on with one of three others, cut anywhere.
TEST(ReuseDistances, EqualAListInOrderOfUse) {
  constexpr std::int64_t kBlock = 4;
  ReuseDistances distances((core::Tokens(kBlock)));
  std::vector<std::uint64_t> recent;
  core::RngStream rng(1, 0, "test");
  for (int i = 0; i < 5'000; ++i) {
    const auto chain = chain_of({{1 + rng.below(3), core::Tokens(10)},
                                 {4 + rng.below(3), core::Tokens(20)},
                                 {7 + rng.below(20), core::Tokens(30)}});
    const auto tokens = static_cast<std::int64_t>(1 + rng.below(60));
    std::vector<std::uint64_t> names;
    for (std::int64_t end = kBlock; end - kBlock < tokens; end += kBlock) {
      names.push_back(chain.key(std::min(end, tokens)));
    }
    std::vector<std::int64_t> expected;
    for (const std::uint64_t name : names) {
      if (const auto found = std::ranges::find(recent, name); found != recent.end()) {
        expected.push_back(found - recent.begin());
      }
    }
    ASSERT_EQ(distances_of(distances, chain, tokens), expected);
    distances.use(chain, tokens);
    for (auto name = names.rbegin(); name != names.rend(); ++name) {
      std::erase(recent, *name);
      recent.insert(recent.begin(), *name);
    }
    ASSERT_EQ(distances.distinct(), std::ssize(recent));
  }
}

TEST(LengthCounts, AreExactFarApart) {
  LengthCounts lengths;
  for (const std::int64_t length : {5, 5, 7, 3'000'000}) {
    lengths.add(length);
  }
  EXPECT_EQ(lengths.quantile(0.0), 5);
  EXPECT_EQ(lengths.quantile(0.5), 6);  // Between the second and the third.
  EXPECT_EQ(lengths.quantile(1.0), 3'000'000);
}

Item sharing(double seconds, std::uint64_t content, std::int64_t shared, std::int64_t input) {
  Item item = item_at(seconds, input);
  item.prompt = {{.content = content, .length = core::Tokens(shared)}};
  return item;
}

// Blocks of 16: 40 tokens are 2 full blocks. The first 32 tokens of the second prompt are the
// first's.
TEST(DescribeTrace, CountsBlocksThatComeAgain) {
  const auto stats = describe_trace(
      stream_of({sharing(0, 7, 32, 40), sharing(1, 7, 32, 40), sharing(3, 8, 16, 16)}), "x");
  ASSERT_TRUE(stats.has_value());
  EXPECT_EQ(stats->reuse.block_tokens, 16);
  EXPECT_EQ(stats->reuse.blocks, 5);
  EXPECT_EQ(stats->reuse.repeated, 2);
  EXPECT_DOUBLE_EQ(*stats->reuse.ideal, 2.0 / 5.0);
  // The first block of the first prompt was used last, the second before it.
  EXPECT_DOUBLE_EQ(stats->reuse.by_cache_size[0].hit_rate, 1.0 / 5.0);
  EXPECT_DOUBLE_EQ(stats->reuse.by_cache_size[1].hit_rate, 2.0 / 5.0);
  // Gaps 1 and 2: mean 1.5, population deviation 0.5, so cv 1/3 and burstiness 9.
  EXPECT_NEAR(*stats->burstiness, 9.0, 1e-12);
  EXPECT_DOUBLE_EQ(*stats->request_rate, 1.0);
}

TEST(DescribeTrace, SessionsFindTheirAnswersAgain) {
  Item second = item_after({0}, 1.0, 64);
  second.prompt = {{.content = 9, .length = core::Tokens(16)},
                   {.content = output_of(0), .length = core::Tokens(16)}};
  second.session = 0;
  Item first = item_at(0, 16, 16);
  first.prompt = {{.content = 9, .length = core::Tokens(16)}};
  first.session = 0;
  const auto stats = describe_trace(stream_of({first, second}), "x");
  ASSERT_TRUE(stats.has_value());
  EXPECT_EQ(stats->sessions, 1);
  EXPECT_EQ(stats->waiting, 1);
  // One block of the first prompt, four of the second; of those the prompt's and the answer's come
  // again.
  EXPECT_EQ(stats->reuse.blocks, 5);
  EXPECT_EQ(stats->reuse.repeated, 2);
  ASSERT_EQ(stats->warnings.size(), 1U);
  EXPECT_EQ(stats->warnings[0].code, "W-answers-take-no-time");
}

TEST(DescribeTrace, PeaksNotBelowTheMean) {
  // 200 requests in 0.4 s: less than the second of a window.
  std::vector<Item> quick;
  for (int i = 0; i < 200; ++i) {
    quick.push_back(item_at(i * 0.4 / 199, 16));
  }
  const auto of_quick = describe_trace(stream_of(quick), "x");
  ASSERT_TRUE(of_quick.has_value());
  EXPECT_DOUBLE_EQ(*of_quick->request_rate, 500.0);
  EXPECT_DOUBLE_EQ(*of_quick->peak_rate, 500.0);
  // 1 500 in 1.5 s: the second window has half a second, which counts with the first.
  core::RngStream rng(3, 0, "test");
  std::vector<Item> uneven;
  double at = 0.7;
  for (int i = 0; i < 1500; ++i) {
    uneven.push_back(item_at(at, 16));
    at += static_cast<double>(rng.below(2001)) * 1e-6;
  }
  const auto of_uneven = describe_trace(stream_of(uneven), "x");
  ASSERT_TRUE(of_uneven.has_value());
  EXPECT_GE(*of_uneven->peak_rate, *of_uneven->request_rate);
  EXPECT_LT(*of_uneven->peak_rate, 1.2 * *of_uneven->request_rate);
}

// Gaps of a third of a second are one picosecond apart, and those of times rounded to milliseconds
// at 3 requests per second have a cv of 0.0014.
TEST(DescribeTrace, AConstantRateHasNoBurstinessHoweverItsTimesAreRounded) {
  for (const double unit : {1e-12, 1e-6, 1e-3}) {
    std::vector<Item> items;
    for (int i = 0; i < 100; ++i) {
      items.push_back(item_at(std::round(i / 3.0 / unit) * unit, 16));
    }
    const auto stats = describe_trace(stream_of(items), "x");
    ASSERT_TRUE(stats.has_value());
    EXPECT_EQ(stats->burstiness, std::nullopt) << unit;
    EXPECT_LT(*stats->gap_cv, 0.002) << unit;
  }
}

TEST(DescribeTrace, SaysNothingWhereThereIsNothingToSay) {
  const auto stats = describe_trace(stream_of({item_at(0)}), "x");
  ASSERT_TRUE(stats.has_value());
  EXPECT_EQ(stats->request_rate, std::nullopt);
  EXPECT_EQ(stats->burstiness, std::nullopt);
  EXPECT_EQ(stats->length_correlation, std::nullopt);
  EXPECT_EQ(stats->reuse.ideal, std::nullopt);
}

TEST(DescribeTrace, FindsTheCorrelation) {
  // y = 2x - 1 and then one point off it; by hand: x = 1, 2, 3; y = 1, 3, 2; r = 0.5.
  const auto stats =
      describe_trace(stream_of({item_at(0, 1, 1), item_at(1, 2, 3), item_at(2, 3, 2)}), "x");
  ASSERT_TRUE(stats.has_value());
  EXPECT_NEAR(*stats->length_correlation, 0.5, 1e-12);
}

/// The number behind a key of a line of a JSON lines file, found by text: no reader of ours.
std::int64_t number_after(const std::string& line, const std::string& key) {
  return std::strtoll(line.c_str() + line.find("\"" + key + "\": ") + key.size() + 4, nullptr, 10);
}

TEST(MooncakeConversation, IsDescribedAsCountedIndependently) {
  const auto path = (test::shared_dir() / "traces/mooncake/conversation_trace.jsonl").string();
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << "no " << path;
  }
  std::ifstream file(path);
  double count = 0;
  double input = 0;
  double output = 0;
  double ids = 0;
  double repeated = 0;
  double last = 0;
  std::set<std::int64_t> seen;
  for (std::string line; std::getline(file, line); ++count) {
    input += static_cast<double>(number_after(line, "input_length"));
    output += static_cast<double>(number_after(line, "output_length"));
    last = static_cast<double>(number_after(line, "timestamp")) / 1000.0;
    const char* at = line.c_str() + line.find('[');
    while (*at != ']') {
      char* end = nullptr;
      repeated += seen.insert(std::strtoll(at + 1, &end, 10)).second ? 0 : 1;
      at = end;
      ++ids;
    }
  }
  auto stream = open_items(path);
  ASSERT_TRUE(stream.has_value());
  const auto stats = describe_trace(std::move(*stream), "mooncake");
  ASSERT_TRUE(stats.has_value());
  EXPECT_EQ(static_cast<double>(stats->requests), count);
  EXPECT_EQ(stats->requests, 12'031);
  EXPECT_DOUBLE_EQ(stats->input_tokens.mean, input / count);
  EXPECT_DOUBLE_EQ(stats->output_tokens.mean, output / count);
  EXPECT_DOUBLE_EQ(stats->duration_s, last);
  EXPECT_DOUBLE_EQ(*stats->request_rate, count / last);
  EXPECT_EQ(static_cast<double>(stats->reuse.blocks), ids);
  EXPECT_DOUBLE_EQ(*stats->reuse.ideal, repeated / ids);
  // The figures of the published paper's release: 12,035 and 343 tokens; 0.366 by the ids.
  EXPECT_EQ(std::lround(stats->input_tokens.mean), 12'035);
  EXPECT_EQ(std::lround(stats->output_tokens.mean), 343);
  EXPECT_NEAR(*stats->reuse.ideal, 0.366, 0.0005);
}

}  // namespace
}  // namespace ridgeline::workload
