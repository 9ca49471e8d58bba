// BurstGPT, Vidur, splitwise-sim and APEX+: small files of our own making.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/time.hpp"
#include "unit/workload/traces/trace_text.hpp"
#include "workload/traces/trace.hpp"

namespace ridgeline::workload {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

ItemList items_of(const std::string& text, const ReadOptions& options = {}) {
  auto stream = open_items(input_of(text), "t", options);
  if (!stream) {
    ADD_FAILURE() << core::to_string(stream.error()[0]);
    return {};
  }
  auto list = read_all(**stream);
  if (!list) {
    ADD_FAILURE() << core::to_string(list.error()[0]);
    return {};
  }
  return *list;
}

TEST(BurstGpt, LeavesFailuresOutAndKeepsSessions) {
  const auto list = items_of(
      "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,"
      "Log Type\n"
      "5,s1,1,ChatGPT,472,18,490,Conversation log\n"
      "45,,2,GPT-4,1087,0,1087,API log\n"
      "118.5,s1,3,GPT-4,417,276,693,Conversation log\n");
  ASSERT_THAT(list.items, SizeIs(2));
  EXPECT_EQ(list.items[0].session, 0);
  EXPECT_EQ(list.items[1].session, 0);
  EXPECT_EQ(list.items[1].turn, 1);
  EXPECT_EQ(list.items[1].arrival, core::Duration::milliseconds(118'500));
  EXPECT_EQ(list.labels.name(list.items[1].model), "GPT-4");
  EXPECT_EQ(list.labels.name(list.items[1].tenant), "Conversation log");
  ASSERT_THAT(list.warnings, SizeIs(1));
  EXPECT_EQ(list.warnings[0].code, "W-failed-requests");
}

TEST(BurstGpt, TheFirstReleaseHasNoSessions) {
  const auto list = items_of(
      "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
      "5,ChatGPT,472,18,490,API log\n");
  ASSERT_THAT(list.items, SizeIs(1));
  EXPECT_EQ(list.items[0].session, -1);
}

TEST(VidurCsv, IsRead) {
  const auto list = items_of(
      "arrived_at,num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio\n"
      "0.25,374,44,418,8.5\n"
      "1e1,396.0,109,505,3.6\n");
  ASSERT_THAT(list.items, SizeIs(2));
  EXPECT_EQ(list.items[1].arrival, core::Duration::seconds(10));
  EXPECT_EQ(list.items[1].input_tokens.value(), 396);
}

TEST(SplitwiseCsv, IsReadWithQuotedCells) {
  const auto list = items_of(
      "request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,token_size\n"
      "0,2,\"a,b\",0.5,1,100,20\n");
  ASSERT_THAT(list.items, SizeIs(1));
  EXPECT_EQ(list.labels.name(list.items[0].tenant), "a,b");
  EXPECT_EQ(list.items[0].output_tokens.value(), 20);
}

TEST(ApexJsonl, CountsNanoseconds) {
  const auto list = items_of(
      R"({"ContextTokens": 304, "GeneratedTokens": 822, "StartTimeOffset": 618518284, "RequestID": "x", "TotalTokens": 1126})"
      "\n");
  ASSERT_THAT(list.items, SizeIs(1));
  EXPECT_EQ(list.items[0].arrival.count(), 618'518'284'000);
  EXPECT_EQ(list.items[0].input_tokens.value(), 304);
}

TEST(SkipBadRows, CountsAndListsThem) {
  const std::string text =
      "arrival_s,input_tokens,output_tokens\n"
      "1,10,1\n"
      "2,-5,1\n"
      "0.5,10,1\n"
      "3,10,1\n"
      "4,1000000000000,1\n";
  const auto list = items_of(text, {.skip_bad_rows = true});
  ASSERT_THAT(list.items, SizeIs(2));
  ASSERT_THAT(list.warnings, SizeIs(4));
  EXPECT_EQ(list.warnings[0].code, "W-rows-dropped");
  EXPECT_THAT(list.warnings[0].message, ::testing::StartsWith("3 bad rows were dropped"));
  EXPECT_THAT(list.warnings[1].message, ::testing::StartsWith("t:3:3: input_tokens: found \"-5\""));
  EXPECT_THAT(list.warnings[2].message,
              ::testing::HasSubstr("found an arrival at 0.5 s after one at 1 s"));
  EXPECT_THAT(list.warnings[3].message, ::testing::StartsWith("t:6:3: input_tokens"));
}

TEST(OpenItems, RefusesBytesThatAreNoTextEvenInUnreadColumns) {
  auto stream = open_items(input_of("Timestamp,Model,Request tokens,Response tokens\n"
                                    "5,\xFF,472,18\n"),
                           "t");
  ASSERT_TRUE(stream.has_value());
  Item item;
  EXPECT_FALSE((*stream)->next(item));
  ASSERT_THAT((*stream)->errors(), SizeIs(1));
  EXPECT_EQ(core::to_string((*stream)->errors()[0]), "t:2:3: found \"\\xff\", expected UTF-8 text");
}

}  // namespace
}  // namespace ridgeline::workload
