#include "workload/traces/writing/convert.hpp"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "support/paths.hpp"
#include "unit/report/schema_check.hpp"
#include "unit/workload/items.hpp"
#include "unit/workload/traces/trace_text.hpp"
#include "workload/compose.hpp"
#include "workload/item_stream.hpp"
#include "workload/trace_stats.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/reading/json_cursor.hpp"
#include "workload/traces/reading/json_rows.hpp"
#include "workload/traces/reading/trace_clock.hpp"
#include "workload/traces/trace.hpp"

namespace ridgeline::workload {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// Everything that an item can say, in two groups and a stage.
ItemList rich_list() {
  ItemList list;
  Item first = item_at(0.25, 100, 40);
  first.prompt = {{.content = 3, .length = core::Tokens(48)},
                  {.content = 900, .length = core::Tokens(20)}};
  first.session = 0;
  first.slo_class = list.labels.intern("interactive \"now\"");
  first.tenant = list.labels.intern("team, a");
  first.model = list.labels.intern("llama");
  first.adapter = list.labels.intern("lora-1");
  first.priority = -2;
  first.reasoning_tokens = core::Tokens(30);
  first.images = 2;
  first.image_tokens = core::Tokens(64);
  Item second = item_after({0}, 1.5, 160);
  second.prompt = {{.content = 3, .length = core::Tokens(48)},
                   {.content = output_of(0), .length = core::Tokens(40)}};
  second.session = 0;
  second.turn = 1;
  Item third = item_at(0.000000000001, 16, 1);
  third.stage = 1;
  list.items = {first, second, third};
  list.stages = {Stage{.max_concurrency = 3, .think = core::Duration::milliseconds(1)},
                 Stage{.after_previous = true, .pause = core::Duration::seconds(2)}};
  list.block_tokens = core::Tokens(16);
  return list;
}

std::string written(std::unique_ptr<ItemStream> stream,
                    const TraceFormat& format,
                    std::vector<std::string>* lost = nullptr) {
  std::ostringstream out;
  const auto done = convert(std::move(stream), format, out);
  if (!done) {
    ADD_FAILURE() << core::to_string(done.error()[0]);
    return {};
  }
  if (lost != nullptr) {
    *lost = done->lost;
  }
  return out.str();
}

core::Result<ItemList> reread(const std::string& text) {
  auto stream = open_items(input_of(text), "t");
  if (!stream) {
    return core::fail(stream.error());
  }
  return read_all(**stream);
}

document::Node kept_schema(const std::string& name) {
  const auto path = test::source_dir() / "data/schemas" / (name + ".schema.json");
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return document::parse_json(text, path.string()).value_or(document::Node());
}

TEST(Convert, OurOwnFormatFollowsItsSchemas) {
  const document::Node header = kept_schema("request-jsonl-header");
  const document::Node request = kept_schema("request-jsonl");
  ASSERT_TRUE(header.is_map() && request.is_map());
  std::istringstream lines(written(make_list_stream(rich_list()), kRequestJsonl));
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    const auto tree = document::parse_json(line, "t");
    ASSERT_TRUE(tree.has_value());
    report::testing::SchemaCheck check(count == 0 ? header : request);
    EXPECT_THAT(check.problems(*tree), IsEmpty()) << line;
  }
  EXPECT_EQ(count, 1 + 3);
  // Each schema refuses the other's line, and an unknown key.
  report::testing::SchemaCheck check(request);
  const auto problems = [&check](const char* text) {
    return check.problems(document::parse_json(text, "t").value_or(document::Node()));
  };
  EXPECT_THAT(problems(R"({"ridgeline_workload": 1, "stages": []})"), Not(IsEmpty()));
  EXPECT_THAT(problems(R"({"arrival_s": 0, "input_tokens": 1, "output_tokens": 1})"), IsEmpty());
  EXPECT_THAT(problems(R"({"arrival_s": 0, "input_tokens": 0, "output_tokens": 1})"),
              ElementsAre("$.input_tokens is too small"));
  EXPECT_THAT(problems(R"({"input_tokens": 1, "output_tokens": 1, "tokens": 1})"),
              ElementsAre("$ has the unknown key tokens"));
}

TEST(Convert, OurOwnFormatLosesNothing) {
  const ItemList list = rich_list();
  std::vector<std::string> lost;
  const std::string text = written(make_list_stream(list), kRequestJsonl, &lost);
  EXPECT_THAT(lost, IsEmpty());
  const auto again = reread(text);
  ASSERT_TRUE(again.has_value()) << core::to_string(again.error()[0]) << text;
  EXPECT_EQ(again->items, list.items);
  EXPECT_EQ(again->stages, list.stages);
  EXPECT_EQ(again->block_tokens, list.block_tokens);
  EXPECT_EQ(again->labels.name(again->items[0].tenant), "team, a");
  EXPECT_EQ(again->labels.name(again->items[0].slo_class), "interactive \"now\"");
  // A second time gives the same bytes.
  EXPECT_EQ(written(make_list_stream(*again), kRequestJsonl), text);
}

TEST(Convert, SaysWhatIsLost) {
  std::vector<std::string> lost;
  const std::string text = written(make_list_stream(rich_list()), kRequestCsv, &lost);
  EXPECT_EQ(text,
            "arrival_s,input_tokens,output_tokens\n0.25,100,40\n1.75,160,5\n3.750000000001,16,1\n");
  EXPECT_THAT(lost,
              ElementsAre("what prompts share (2 requests)",
                          "session (2 requests)",
                          "priority (1 request)",
                          "slo_class (1 request)",
                          "tenant (1 request)",
                          "model (1 request)",
                          "adapter (1 request)",
                          "reasoning tokens (1 request)",
                          "images, audio or video (1 request)",
                          "number of images (1 request)",
                          "waiting for answers (1 request)",
                          "limits of concurrency and stages (2)"));
}

/// A flat list that any format of rows can hold, to the millisecond.
std::vector<Item> plain_items() {
  return {
      item_at(0, 374, 44), item_at(1.5, 396, 109), item_at(1.5, 12, 1), item_at(86'400.001, 7, 9)};
}

class RoundTrip : public ::testing::TestWithParam<const TraceFormat*> {};

/// What a format carries is read back by detection, and a second writing gives the same bytes.
TEST_P(RoundTrip, KeepsArrivalsAndLengths) {
  const TraceFormat& format = *GetParam();
  const std::string text = written(stream_of(plain_items()), format);
  auto stream = open_items(input_of(text), "t");
  ASSERT_TRUE(stream.has_value()) << core::to_string(stream.error()[0]) << text;
  const auto again = read_all(**stream);
  ASSERT_TRUE(again.has_value()) << core::to_string(again.error()[0]) << text;
  ASSERT_EQ(again->items.size(), 4U);
  const auto items = plain_items();
  for (std::size_t i = 0; i < items.size(); ++i) {
    EXPECT_EQ(again->items[i].input_tokens, items[i].input_tokens);
    EXPECT_EQ(again->items[i].output_tokens, items[i].output_tokens);
    if (has(format.carries, Field::kArrival)) {
      EXPECT_EQ(again->items[i].arrival, items[i].arrival);
    }
  }
  EXPECT_EQ(written(make_list_stream(*again), format), text);
}

std::vector<const TraceFormat*> writable_formats() {
  std::vector<const TraceFormat*> formats;
  for (const TraceFormat* format : trace_formats()) {
    if (format->make_writer != nullptr) {
      formats.push_back(format);
    }
  }
  return formats;
}

INSTANTIATE_TEST_SUITE_P(Formats,
                         RoundTrip,
                         ::testing::ValuesIn(writable_formats()),
                         [](const auto& format) {
                           std::string name(format.param->name);
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(Convert, MooncakeKeepsWhatPromptsShare) {
  const std::string text =
      "{\"timestamp\": 0, \"input_length\": 1000, \"output_length\": 52, \"hash_ids\": [0, 1]}\n"
      "{\"timestamp\": 27.5, \"input_length\": 600, \"output_length\": 5, \"hash_ids\": [0, 2]}\n";
  const auto list = reread(text);
  ASSERT_TRUE(list.has_value());
  EXPECT_EQ(written(make_list_stream(*list), kMooncake), text);
}

// Turns that do not hold the conversation so far say so: readers would put it in front of them.
TEST(Convert, SessionsThatForgetKeepTheirLengths) {
  Item first = item_at(0, 500, 10);
  first.session = 3;
  Item second = item_at(5, 200, 10);
  second.session = 3;
  EXPECT_EQ(written(stream_of({first, second}), kMooncakeSessions),
            "{\"session_id\": \"s3\", \"timestamp\": 0, \"input_length\": 500, "
            "\"output_length\": 10}\n"
            "{\"session_id\": \"s3\", \"timestamp\": 5000, \"input_length\": 200, "
            "\"output_length\": 10, \"prefix_reset\": true}\n");
  Item third = item_after({0}, 2.0, 600);
  third.session = 3;
  third.prompt = {{.content = 8, .length = core::Tokens(500)},
                  {.content = output_of(0), .length = core::Tokens(10)}};
  EXPECT_EQ(written(stream_of({first, third}), kMooncakeSessions),
            "{\"session_id\": \"s3\", \"timestamp\": 0, \"input_length\": 500, "
            "\"output_length\": 10}\n"
            "{\"session_id\": \"s3\", \"delay\": 2000, \"input_length\": 600, "
            "\"output_length\": 5}\n");
}

// What waits for more than the turn before it comes at the times that answers without delay give.
TEST(Convert, SessionsAreChainsOrNothing) {
  std::vector<Item> items = {
      item_at(1, 50), item_after({0}, 0.5, 60), item_after({0, 1}, 0.25, 70)};
  std::vector<std::string> lost;
  EXPECT_EQ(written(stream_of(items), kMooncakeSessions, &lost),
            "{\"timestamp\": 1000, \"input_length\": 50, \"output_length\": 5}\n"
            "{\"timestamp\": 1500, \"input_length\": 60, \"output_length\": 5}\n"
            "{\"timestamp\": 1750, \"input_length\": 70, \"output_length\": 5}\n");
  EXPECT_THAT(lost, ElementsAre("waiting for answers (2 requests)"));
  EXPECT_EQ(written(stream_of(items), kMooncakeAgentic, &lost),
            "{\"request_id\": \"r0\", \"timestamp\": 1000, \"wait_for\": [], \"input_length\": 50, "
            "\"output_length\": 5}\n"
            "{\"request_id\": \"r1\", \"wait_for\": [\"r0\"], \"tool_wait_ms\": 500, "
            "\"input_length\": 60, \"output_length\": 5}\n"
            "{\"request_id\": \"r2\", \"wait_for\": [\"r0\", \"r1\"], \"tool_wait_ms\": 250, "
            "\"input_length\": 70, \"output_length\": 5}\n");
  EXPECT_THAT(lost, IsEmpty());
}

TEST(Convert, ReuseIsTheSameAfterOurOwnFormat) {
  const std::string text = written(make_list_stream(rich_list()), kRequestJsonl);
  const auto before = describe_trace(make_list_stream(rich_list()), "x");
  auto stream = open_items(input_of(text), "t");
  ASSERT_TRUE(stream.has_value());
  const auto after = describe_trace(std::move(*stream), "x");
  ASSERT_TRUE(before.has_value() && after.has_value());
  EXPECT_EQ(before->reuse.repeated, after->reuse.repeated);
  EXPECT_EQ(before->duration_s, after->duration_s);
}

TEST(TraceClock, WritesWhatItReads) {
  const auto time = core::Duration::seconds(86'400 * 45 + 3661) + core::Duration::ticks(5);
  EXPECT_EQ(clock_text(time), "2000-02-15 01:01:01.000000000005");
  const auto start = parse_timestamp(clock_text(core::Duration()));
  const auto instant = parse_timestamp(clock_text(time));
  ASSERT_TRUE(start && instant);
  EXPECT_EQ(instant->seconds - start->seconds, 86'400 * 45 + 3661);
  EXPECT_EQ(instant->ticks, 5);
}

}  // namespace
}  // namespace ridgeline::workload
