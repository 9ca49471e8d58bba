#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "unit/workload/traces/trace_text.hpp"

namespace ridgeline::workload {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::string kPlainHeader = "arrival_s,input_tokens,output_tokens\n";

std::vector<std::string> csv_problems(const std::string& text) {
  std::vector<std::string> out;
  for (const auto& error : read_trace_text(text).errors) {
    out.push_back(core::to_string(error));
  }
  return out;
}

TEST(RequestCsv, ReadsColumnsInAnyOrder) {
  const auto text = read_trace_text("output_tokens, arrival_s ,input_tokens\n7, 0.1 ,5\n70,0.1,50");
  EXPECT_EQ(text.format, "request-csv");
  EXPECT_THAT(text.errors, IsEmpty());
  ASSERT_THAT(text.rows, SizeIs(2));
  EXPECT_EQ(text.rows[0].arrival.count(), 100'000'000'000);
  EXPECT_EQ(text.rows[0].input_tokens.value(), 5);
  EXPECT_EQ(text.rows[0].output_tokens.value(), 7);
  EXPECT_EQ(text.rows[1].input_tokens.value(), 50);
}

// What --requests-out writes.
TEST(RequestCsv, ReadsTheRecordsOfARun) {
  const auto text = read_trace_text(
      "request_id,arrival_s,input_tokens,output_tokens,outcome,ttft_ms,max_tokens,session,turn,"
      "priority,images,slo_class,tenant,model,adapter\n"
      "0,0.1,5,7,finished,13.25,7,,,0,0,,,,\n"
      "1,0.1,5,0,rejected,,9,4,2,-3,1,batch,\"a,b\",,sql\n");
  EXPECT_EQ(text.format, "request-csv");
  EXPECT_THAT(text.errors, IsEmpty());
  ASSERT_THAT(text.rows, SizeIs(2));
  EXPECT_EQ(text.rows[0].output_tokens.value(), 7);
  EXPECT_EQ(text.rows[0].session, -1);
  EXPECT_EQ(text.rows[0].tenant, -1);
  const TraceRow& row = text.rows[1];
  EXPECT_EQ(row.output_tokens.value(), 9);
  EXPECT_EQ(row.session, 4);
  EXPECT_EQ(row.turn, 2);
  EXPECT_EQ(row.priority, -3);
  EXPECT_EQ(row.images, 1);
  EXPECT_EQ(row.model, -1);
  // Labels are numbered as they come.
  EXPECT_EQ(row.slo_class, 0);
  EXPECT_EQ(row.tenant, 1);
  EXPECT_EQ(row.adapter, 2);
  EXPECT_THAT(csv_problems("arrival_s,input_tokens,output_tokens,priority\n0,1,1,high\n"),
              ElementsAre(::testing::HasSubstr("t:2:7: priority: found \"high\"")));
}

TEST(RequestCsv, NamesUnknownAndMissingColumns) {
  EXPECT_THAT(
      csv_problems("arrival_s,input_token,output_tokens\n0,1,1\n"),
      ElementsAre(
          "t:1:11: found the unknown name \"input_token\", expected arrival_s, input_tokens, "
          "output_tokens (did you mean 'input_tokens'?)",
          "t:1:1: input_tokens: found no 'input_tokens', expected arrival_s, input_tokens, "
          "output_tokens"));
}

TEST(RequestCsv, RefusesAColumnTooMany) {
  EXPECT_THAT(
      csv_problems("arrival_s,input_tokens,output_tokens,lora\n"),
      ElementsAre("t:1:38: found the unknown name \"lora\", expected arrival_s, input_tokens, "
                  "output_tokens"));
}

TEST(RequestCsv, RefusesAColumnTwice) {
  EXPECT_THAT(csv_problems("arrival_s,input_tokens,output_tokens,arrival_s\n"),
              ElementsAre("t:1:38: arrival_s: found this name twice, expected it once"));
}

TEST(RequestCsv, RefusesRowsOfAnotherWidth) {
  EXPECT_THAT(csv_problems(kPlainHeader + "0,1,2,3\n"),
              ElementsAre("t:2:1: found 4 columns (\"0,1,2,3\"), expected 3 columns"));
  EXPECT_THAT(csv_problems(kPlainHeader + "0,1\n"),
              ElementsAre("t:2:1: output_tokens: found 2 columns (\"0,1\"), expected 3 columns"));
  EXPECT_THAT(csv_problems(kPlainHeader + "0,1,2\n\n0,1,2\n"),
              ElementsAre("t:3:1: input_tokens: found an empty line, expected 3 columns"));
}

TEST(RequestCsv, TellsEveryBadCellOfARow) {
  EXPECT_THAT(
      csv_problems(kPlainHeader + "0,1,2\n-1,,many\n"),
      ElementsAre(
          "t:3:1: arrival_s: found \"-1\", expected a number of seconds that is not negative",
          "t:3:4: input_tokens: found an empty cell, expected a whole number of tokens from 1 to "
          "100000000",
          "t:3:5: output_tokens: found \"many\", expected a whole number of tokens from 1 to "
          "100000000"));
}

TEST(RequestCsv, RefusesATrillionTokens) {
  EXPECT_THAT(
      csv_problems(kPlainHeader + "0,1000000000000,2\n"),
      ElementsAre("t:2:3: input_tokens: found \"1000000000000\", expected a whole number of tokens "
                  "from 1 to 100000000"));
}

TEST(RequestCsv, RefusesArrivalsOutOfOrder) {
  EXPECT_THAT(
      csv_problems(kPlainHeader + "0.5,1,1\n0.499999999999,1,1\n0.5,1,1\n"),
      ElementsAre("t:3:1: arrival_s: found an arrival at 0.499999999999 s after one at 0.5 s, "
                  "expected rows in the order of arrival"));
}

TEST(RequestCsv, RefusesOtherFormatsInBetween) {
  EXPECT_THAT(
      csv_problems(kPlainHeader + "{\"arrival_s\":0,\"input_tokens\":1,\"output_tokens\":1}\n"),
      ElementsAre(
          "t:2:1: arrival_s: found \"{\\\"arrival_s\\\":0\", expected a number of seconds such as "
          "12.5",
          "t:2:16: input_tokens: found \"\\\"input_tokens\\\":1\", expected a whole number of "
          "tokens from 1 to 100000000",
          "t:2:33: output_tokens: found \"\\\"output_tokens\\\":1}\", expected a whole number of "
          "tokens from 1 to 100000000"));
  EXPECT_THAT(
      csv_problems(kPlainHeader + "2023-11-16 18:15:46,1,1\n"),
      ElementsAre(
          "t:2:1: arrival_s: found \"2023-11-16 18:15:46\", expected a number of seconds such "
          "as 12.5"));
}

TEST(RequestCsv, RefusesBytesThatAreNotText) {
  EXPECT_THAT(csv_problems(kPlainHeader + "0,1,\xFF\n"),
              ElementsAre("t:2:5: found \"\\xff\", expected UTF-8 text"));
  EXPECT_THAT(csv_problems("arrival_s,input_tokens,output_\xE9tokens\n"),
              ElementsAre("t:1:31: found \"\\xe9\", expected UTF-8 text"));
  EXPECT_THAT(
      csv_problems(kPlainHeader + std::string("0,1,1\0\n", 7)),
      ElementsAre(
          "t:2:5: output_tokens: found \"1\\x00\", expected a whole number of tokens from 1 "
          "to 100000000"));
}

}  // namespace
}  // namespace ridgeline::workload
