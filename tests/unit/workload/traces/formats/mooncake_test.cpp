#include "workload/traces/formats/mooncake.hpp"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "core/time.hpp"
#include "unit/workload/traces/trace_text.hpp"
#include "workload/traces/reading/conversation.hpp"
#include "workload/traces/reading/document_lines.hpp"
#include "workload/traces/reading/grouping.hpp"
#include "workload/traces/trace.hpp"

namespace ridgeline::workload {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

core::Result<ItemList> read_mooncake_text(const std::string& text, bool skip = false) {
  auto stream = open_items(input_of(text), "t", {.skip_bad_rows = skip});
  if (!stream) {
    return core::fail(stream.error());
  }
  return read_all(**stream);
}

std::string first_problem(const core::Result<ItemList>& list) {
  return list ? "none" : core::to_string(list.error().at(0));
}

TEST(Mooncake, CutsPromptsIntoBlocks) {
  const auto list = read_mooncake_text(
      R"({"timestamp": 27.5, "input_length": 600, "output_length": 52, "hash_ids": [7, 9]})");
  ASSERT_TRUE(list.has_value()) << first_problem(list);
  ASSERT_THAT(list->items, SizeIs(1));
  const Item& item = list->items[0];
  EXPECT_EQ(item.arrival, core::Duration::microseconds(27'500));
  ASSERT_THAT(item.prompt, SizeIs(2));
  EXPECT_EQ(item.prompt[0].content, 7U);
  EXPECT_EQ(item.prompt[0].length.value(), 512);
  EXPECT_EQ(item.prompt[1].length.value(), 88);
  EXPECT_EQ(list->block_tokens, kMooncakeBlock);
}

TEST(Bailian, CountsSecondsAndBlocksOf16) {
  const auto list = read_mooncake_text(
      R"({"chat_id": 7, "parent_chat_id": -1, "timestamp": 10.5, "input_length": 40,)"
      R"( "output_length": 9, "type": "text", "turn": 1, "hash_ids": [1, 2, 3]})");
  ASSERT_TRUE(list.has_value()) << first_problem(list);
  ASSERT_THAT(list->items, SizeIs(1));
  EXPECT_EQ(list->items[0].arrival, core::Duration::milliseconds(10'500));
  ASSERT_THAT(list->items[0].prompt, SizeIs(3));
  EXPECT_EQ(list->items[0].prompt[2].length.value(), 8);
}

TEST(Mooncake, RefusesMoreIdsThanBlocks) {
  EXPECT_THAT(
      first_problem(read_mooncake_text(
          R"({"timestamp": 0, "input_length": 512, "output_length": 5, "hash_ids": [1, 2]})")),
      HasSubstr("hash_ids: found 2 ids, expected at most 1 for 512 tokens"));
}

TEST(MooncakeSessions, ATurnWaitsForItsDelayAndHoldsTheConversation) {
  const auto list = read_mooncake_text(
      "{\"session_id\": \"a\", \"timestamp\": 1000, \"input_length\": 100, \"output_length\": 10}\n"
      "{\"session_id\": \"b\", \"timestamp\": 500, \"input_length\": 9, \"output_length\": 1}\n"
      "{\"session_id\": \"a\", \"delay\": 250, \"input_length\": 130, \"output_length\": 10}\n");
  ASSERT_TRUE(list.has_value()) << first_problem(list);
  ASSERT_THAT(list->items, SizeIs(3));
  EXPECT_EQ(list->items[0].arrival, core::Duration::milliseconds(500));
  const Item& turn = list->items[2];
  EXPECT_FALSE(turn.starts_group);
  EXPECT_THAT(turn.parents, ElementsAre(0U));
  EXPECT_EQ(turn.delay, core::Duration::milliseconds(250));
  EXPECT_EQ(turn.turn, 1);
  // 100 tokens of the first prompt, its 10 of answer, 20 new ones.
  ASSERT_THAT(turn.prompt, SizeIs(3));
  EXPECT_EQ(turn.prompt[0], list->items[1].prompt[0]);
  EXPECT_EQ(turn.prompt[1].content, output_of(0));
  EXPECT_EQ(turn.prompt[1].length.value(), 10);
  EXPECT_EQ(turn.prompt[2].length.value(), 20);
}

TEST(MooncakeSessions, PromptsThatShrinkAreDeltas) {
  const auto list = read_mooncake_text(
      "{\"session_id\": 1, \"timestamp\": 0, \"input_length\": 100, \"output_length\": 10}\n"
      "{\"session_id\": 1, \"delay_ms\": 250, \"input_length\": 30, \"output_length\": 20}\n"
      "{\"session_id\": 1, \"delay_ms\": 250, \"input_length\": 5, \"output_length\": 10}\n");
  ASSERT_TRUE(list.has_value()) << first_problem(list);
  EXPECT_EQ(list->items[1].input_tokens.value(), 140);
  EXPECT_EQ(list->items[2].input_tokens.value(), 165);
  ASSERT_THAT(list->warnings, SizeIs(1));
  EXPECT_EQ(list->warnings[0].code, "W-mooncake-delta");
}

TEST(MooncakeSessions, ALaterTurnMayHaveATimeOfItsOwn) {
  const auto list = read_mooncake_text(
      "{\"session_id\": 1, \"timestamp\": 0, \"input_length\": 10, \"output_length\": 10}\n"
      "{\"session_id\": 1, \"timestamp\": 250, \"input_length\": 30, \"output_length\": 20}\n");
  ASSERT_TRUE(list.has_value()) << first_problem(list);
  EXPECT_THAT(list->items[1].parents, IsEmpty());
  EXPECT_EQ(list->items[1].arrival, core::Duration::milliseconds(250));
}

const std::string kFan =
    R"({"request_id": "r0", "timestamp": 0, "input_length": 100, "output_length": 10, "request_kind": "main"}
{"request_id": "r3", "wait_for": ["r1", "r2"], "input_length": 70, "output_length": 5}
{"request_id": "r1", "wait_for": ["r0"], "tool_wait_ms": 250, "input_length": 50, "output_length": 5}
{"request_id": "r2", "wait_for": "r0", "input_length": 60, "output_length": 5}
)";

TEST(MooncakeAgentic, OrdersByWhatWaitsForWhat) {
  const auto list = read_mooncake_text(kFan);
  ASSERT_TRUE(list.has_value()) << first_problem(list);
  ASSERT_THAT(list->items, SizeIs(4));
  EXPECT_EQ(list->items[1].input_tokens.value(), 50);
  EXPECT_EQ(list->items[1].delay, core::Duration::milliseconds(250));
  EXPECT_EQ(list->items[2].input_tokens.value(), 60);
  EXPECT_THAT(list->items[3].parents, ElementsAre(1U, 2U));
}

TEST(MooncakeAgentic, RefusesCirclesAndNamesOfNoRequest) {
  EXPECT_EQ(
      first_problem(read_mooncake_text(
          kFan +
          R"({"request_id": "x", "wait_for": ["x"], "input_length": 7, "output_length": 5})")),
      "t:5:1: found a wait for itself, or for what is missing, expected a request that comes "
      "before it");
  EXPECT_EQ(
      first_problem(read_mooncake_text(
          kFan +
          R"({"request_id": "x", "wait_for": ["y"], "input_length": 7, "output_length": 5})")),
      "t:5:1: found a wait for a request that does not exist, expected the name of another "
      "request");
  EXPECT_THAT(first_problem(read_mooncake_text(
                  R"({"wait_for": ["y"], "request_id": "x", "input_length": 7})")),
              HasSubstr("output_length: found no 'output_length'"));
}

TEST(MooncakeAgentic, BadRowsCanBeDropped) {
  const auto list =
      read_mooncake_text(kFan +
                             "{\"request_id\": \"x\", \"wait_for\": [\"y\"], \"input_length\": 7, "
                             "\"output_length\": 5}\n{\"request_id\": \"z\", \"input_\n",
                         true);
  ASSERT_TRUE(list.has_value()) << first_problem(list);
  EXPECT_THAT(list->items, SizeIs(4));
  ASSERT_THAT(list->warnings, SizeIs(3));
  EXPECT_THAT(list->warnings[0].message, ::testing::StartsWith("2 bad rows were dropped"));
}

TEST(Conversation, CutsFromTheEnd) {
  Conversation talk(1);
  talk.add_shared(5, core::Tokens(10));
  talk.add_own(core::Tokens(10));
  talk.add_answer(0, core::Tokens(4));
  talk.cut(core::Tokens(12));
  ASSERT_THAT(talk.prompt(), SizeIs(2));
  EXPECT_EQ(talk.prompt()[1].length.value(), 2);
  EXPECT_EQ(talk.length().value(), 12);
}

// The first request waits for nothing, so that the keys which tell the format stand further on.
TEST(MooncakeFormats, AreFoundByTheirLaterRows) {
  const std::string first =
      R"({"request_id": "a", "timestamp": 0, "input_length": 10, "output_length": 5})";
  const auto graph = read_mooncake_text(
      first + "\n" +
      R"({"request_id": "b", "wait_for": ["a"], "input_length": 20, "output_length": 5})");
  ASSERT_TRUE(graph.has_value()) << first_problem(graph);
  EXPECT_THAT(graph->items.at(1).parents, ElementsAre(0U));
  const auto sessions = read_mooncake_text(
      first + "\n" +
      R"({"session_id": "s", "timestamp": 7, "input_length": 20, "output_length": 5})" + "\n" +
      R"({"session_id": "s", "delay": 9, "input_length": 40, "output_length": 5})");
  ASSERT_TRUE(sessions.has_value()) << first_problem(sessions);
  EXPECT_THAT(sessions->items.at(2).parents, ElementsAre(0U));
}

}  // namespace
}  // namespace ridgeline::workload
