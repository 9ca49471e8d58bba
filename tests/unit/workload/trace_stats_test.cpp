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
#include "support/paths.hpp"
#include "unit/workload/items.hpp"
#include "workload/reuse.hpp"
#include "workload/traces/trace.hpp"

namespace ridgeline::workload {
namespace {

TEST(ReuseDistances, CountBlocksUsedSince) {
  ReuseDistances distances;
  EXPECT_EQ(distances.distance(1), std::nullopt);
  for (const std::uint64_t name : {1U, 2U, 3U, 2U}) {
    distances.use(name);
  }
  EXPECT_EQ(distances.distance(2), 0);
  EXPECT_EQ(distances.distance(3), 1);
  EXPECT_EQ(distances.distance(1), 2);
  distances.use_nameless(4);
  EXPECT_EQ(distances.distance(1), 6);
  EXPECT_EQ(distances.distinct(), 7);
}

// Against a list kept in the order of use, over enough uses to make it compact itself.
TEST(ReuseDistances, EqualAListInOrderOfUse) {
  ReuseDistances distances;
  std::vector<std::uint64_t> recent;
  core::RngStream rng(1, 0, "test");
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t name = 1 + rng.below(200) * rng.below(3);
    const auto found = std::ranges::find(recent, name);
    if (found == recent.end()) {
      ASSERT_EQ(distances.distance(name), std::nullopt);
    } else {
      ASSERT_EQ(distances.distance(name), found - recent.begin());
      recent.erase(found);
    }
    recent.insert(recent.begin(), name);
    distances.use(name);
  }
}

Item sharing(double seconds, std::uint64_t content, std::int64_t shared, std::int64_t input) {
  Item item = item_at(seconds, input);
  item.prompt = {{.content = content, .length = core::Tokens(shared)}};
  return item;
}

// Blocks of 16: 40 tokens are 3 blocks. The first 32 tokens of the second prompt are the first's.
TEST(DescribeTrace, CountsBlocksThatComeAgain) {
  const auto stats = describe_trace(
      stream_of({sharing(0, 7, 32, 40), sharing(1, 7, 32, 40), sharing(3, 8, 16, 16)}), "x");
  ASSERT_TRUE(stats.has_value());
  EXPECT_EQ(stats->reuse.block_tokens, 16);
  EXPECT_EQ(stats->reuse.blocks, 7);
  EXPECT_EQ(stats->reuse.repeated, 2);
  EXPECT_DOUBLE_EQ(*stats->reuse.ideal, 2.0 / 7.0);
  // The first block of the first prompt was used last, the second before it.
  EXPECT_DOUBLE_EQ(stats->reuse.by_cache_size[0].hit_rate, 1.0 / 7.0);
  EXPECT_DOUBLE_EQ(stats->reuse.by_cache_size[1].hit_rate, 2.0 / 7.0);
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
