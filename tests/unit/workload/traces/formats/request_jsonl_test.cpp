#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "unit/workload/traces/trace_text.hpp"
#include "workload/item.hpp"

namespace ridgeline::workload {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::string kRow = R"({"arrival_s":0.1,"input_tokens":5,"output_tokens":7})";

std::vector<std::string> jsonl_problems(const std::string& text) {
  std::vector<std::string> out;
  for (const auto& error : read_trace_text(text).errors) {
    out.push_back(core::to_string(error));
  }
  return out;
}

TEST(RequestJsonl, ReadsKeysInAnyOrder) {
  const auto text = read_trace_text(
      kRow + "\n  { \"output_tokens\" : 70 ,\t\"arrival_s\": 1e-1, \"input_tokens\":50 } ");
  EXPECT_EQ(text.format, "request-jsonl");
  EXPECT_THAT(text.errors, IsEmpty());
  ASSERT_THAT(text.rows, SizeIs(2));
  EXPECT_EQ(text.rows[0].arrival.count(), 100'000'000'000);
  EXPECT_EQ(text.rows[0].input_tokens.value(), 5);
  EXPECT_EQ(text.rows[0].output_tokens.value(), 7);
  EXPECT_EQ(text.rows[1].arrival.count(), 100'000'000'000);
  EXPECT_EQ(text.rows[1].input_tokens.value(), 50);
  EXPECT_EQ(text.rows[1].output_tokens.value(), 70);
}

// What --requests-out writes: measured numbers are read over, and what was asked for is asked for.
TEST(RequestJsonl, ReadsTheRecordsOfARun) {
  const auto record = [](const std::string& generated, const std::string& more) {
    return R"({"request_id":0,"arrival_s":0.1,"input_tokens":5,"output_tokens":)" + generated +
           R"(,"cached_tokens":0,"preemptions":0,"outcome":"x","queue_time_ms":null,"ttft_ms":13.25,)"
           R"("tpot_ms":1,"e2e_ms":2,"server_ttft_ms":3,"server_e2e_ms":4)" +
           more + "}\n";
  };
  // Several of a kind, so that both ways to read a line are taken.
  const std::string asked = R"(,"max_tokens":9,"priority":-1)";
  const auto text = read_trace_text(record("7", "") + record("7", "") + record("0", asked) +
                                    record("3", asked) + record("4", asked) + record("7", ""));
  EXPECT_EQ(text.format, "request-jsonl");
  EXPECT_THAT(text.errors, IsEmpty());
  std::vector<std::int64_t> outputs;
  std::vector<std::int32_t> priorities;
  for (const auto& row : text.rows) {
    outputs.push_back(row.output_tokens.value());
    priorities.push_back(row.priority);
  }
  EXPECT_THAT(outputs, ElementsAre(7, 7, 9, 9, 9, 7));
  EXPECT_THAT(priorities, ElementsAre(0, 0, -1, -1, -1, 0));
  EXPECT_THAT(jsonl_problems(record("0", "")),
              ElementsAre(HasSubstr("output_tokens: found \"0\", expected a whole number of tokens "
                                    "from 1 to")));
}

TEST(RequestJsonl, NamesUnknownMissingAndRepeatedKeys) {
  EXPECT_THAT(
      jsonl_problems(R"({"arrival_s":0,"input_tokens":5,"output_toks":7})"),
      ElementsAre(
          "t:1:34: found the unknown name \"output_toks\", expected arrival_s, input_tokens, "
          "output_tokens (did you mean 'output_tokens'?)",
          "t:1:1: output_tokens: found no 'output_tokens', expected arrival_s, "
          "input_tokens, output_tokens"));
  EXPECT_THAT(jsonl_problems(R"({"arrival_s":0,"input_tokens":5,"output_tokens":7,"arrival_s":1})"),
              ElementsAre("t:1:52: arrival_s: found this name twice, expected it once"));
}

TEST(RequestJsonl, RefusesValuesThatAreNotNumbers) {
  EXPECT_THAT(
      jsonl_problems(R"({"arrival_s":0,"input_tokens":"5","output_tokens":7})"),
      ElementsAre(
          "t:1:31: input_tokens: found \"\\\"5\\\",\\\"output_tokens\\\":7}\", expected a number"));
  for (const std::string value : {"null", "true", "[1]", "{}", "NaN", "Infinity", ".5", "+5", ""}) {
    EXPECT_THAT(
        jsonl_problems(R"({"arrival_s":0,"input_tokens":)" + value + R"(,"output_tokens":7})"),
        ElementsAre(HasSubstr("input_tokens: found")))
        << value;
  }
  EXPECT_THAT(
      jsonl_problems(R"({"arrival_s":0,"input_tokens":5.5,"output_tokens":7})"),
      ElementsAre(
          "t:1:31: input_tokens: found \"5.5\", expected a whole number of tokens from 1 to "
          "100000000"));
  EXPECT_THAT(
      jsonl_problems(R"({"arrival_s":00.5,"input_tokens":5,"output_tokens":7})"),
      ElementsAre("t:1:14: arrival_s: found \"00.5\", expected a number without leading zeros"));
  EXPECT_THAT(jsonl_problems(R"({"arrival_s":0.1,"input_tokens":1000000000000,"output_tokens":7})"),
              ElementsAre(HasSubstr("input_tokens: found \"1000000000000\"")));
}

TEST(RequestJsonl, RefusesHalfALine) {
  // Every proper beginning of a row is a problem, reported in one or more lines.
  for (std::size_t length = 1; length < kRow.size(); ++length) {
    EXPECT_THAT(jsonl_problems(kRow + "\n" + kRow.substr(0, length)), ::testing::Not(IsEmpty()))
        << length;
  }
  EXPECT_THAT(jsonl_problems(kRow + "\n" + R"({"arrival_s":0.1,"input_)"),
              ElementsAre("t:2:25: found the end of the line, expected the end of the key"));
}

TEST(RequestJsonl, RefusesWhatIsNotOneObjectALine) {
  EXPECT_THAT(jsonl_problems(kRow + kRow), ElementsAre(HasSubstr("expected the end of the line")));
  EXPECT_THAT(jsonl_problems(kRow + "\n\n" + kRow),
              ElementsAre("t:2:1: found an empty line, expected a JSON object"));
  EXPECT_THAT(jsonl_problems(kRow + "\n0.1,5,7\n"),
              ElementsAre("t:2:1: found \"0.1,5,7\", expected '{'"));
  EXPECT_THAT(jsonl_problems("{}\n"),
              ElementsAre(HasSubstr("no 'arrival_s'"),
                          HasSubstr("no 'input_tokens'"),
                          HasSubstr("no 'output_tokens'")));
  EXPECT_THAT(jsonl_problems(R"({"arrival_s":0.1,"input_tokens":5,"output_tokens":7,})"),
              ElementsAre(HasSubstr("found \"}\", expected a key in double quotes")));
  EXPECT_THAT(jsonl_problems(R"({"arrival_s" 0.1})"),
              ElementsAre("t:1:14: found \"0.1}\", expected ':'"));
  EXPECT_THAT(jsonl_problems(R"({"arrival_s":0.1;"input_tokens":5})"), ::testing::Not(IsEmpty()));
}

TEST(RequestJsonl, KeysAreNotUnescaped) {
  // An equal key in RFC 8259, but none that a program writes.
  EXPECT_THAT(jsonl_problems(R"({"arrival\u005fs":0})"), ::testing::Not(IsEmpty()));
  EXPECT_THAT(jsonl_problems(R"({"a\"b":0})"), ::testing::Not(IsEmpty()));
}

TEST(RequestJsonl, RefusesBytesThatAreNotText) {
  EXPECT_THAT(jsonl_problems("{\"arrival_s\":0.1,\"\xFF\":5}"),
              ElementsAre("t:1:19: found \"\\xff\", expected UTF-8 text"));
}

TEST(RequestJsonl, RefusesArrivalsOutOfOrder) {
  EXPECT_THAT(
      jsonl_problems(kRow + "\n" + R"({"arrival_s":0.05,"input_tokens":5,"output_tokens":7})"),
      ElementsAre(
          "t:2:1: arrival_s: found an arrival at 0.05 s after one at 0.1 s, expected rows in "
          "the order of arrival"));
}

// A row that says nothing of its stage is of the first, wherever it stands.
TEST(RequestJsonl, ReadsCancellationsAndLimits) {
  const auto text = read_trace_text(
      R"({"arrival_s":1,"input_tokens":5,"output_tokens":7,"abort_s":   1.5,"limit_tokens":9,"data_parallel_rank":3})"
      "\n"
      R"({"arrival_s":2,"input_tokens":5,"output_tokens":7,"abort_s":null})");
  EXPECT_THAT(text.errors, IsEmpty());
  ASSERT_THAT(text.rows, SizeIs(2));
  EXPECT_EQ(text.rows[0].patience, core::Duration::milliseconds(500));
  EXPECT_EQ(text.rows[0].limit_tokens, core::Tokens(9));
  EXPECT_EQ(text.rows[0].rank, 3);
  EXPECT_EQ(text.rows[1].rank, -1);
  EXPECT_EQ(text.rows[1].patience, Item::kEndless);
  EXPECT_THAT(jsonl_problems(R"({"arrival_s":1,"input_tokens":5,"output_tokens":7,"abort_s":0.5})"),
              ElementsAre(HasSubstr("abort_s")));
}

TEST(RequestJsonl, AnswersOfTheWholeFileAreThoseOfEarlierRows) {
  const std::string head = R"({"ridgeline_workload":1,"answers":"absolute","stages":[{}]})"
                           "\n" +
                           kRow + "\n";
  const auto row = [](int answer) {
    return R"({"arrival_s":1,"input_tokens":5,"output_tokens":7,"prompt":[[)" +
           std::to_string(answer) + ",3]]}";
  };
  EXPECT_THAT(jsonl_problems(head + row(-1)), IsEmpty());
  EXPECT_THAT(jsonl_problems(head + row(-2)), ElementsAre(HasSubstr("of no earlier request")));
  EXPECT_THAT(jsonl_problems(kRow + "\n" + row(-1)),
              ElementsAre(HasSubstr("of no earlier request")));
}

TEST(RequestJsonl, StagesDoNotGoBack) {
  const std::string head = "{\"ridgeline_workload\":1,\"stages\":[{},{}]}\n";
  const std::string first = "{\"arrival_s\":0,\"input_tokens\":1,\"output_tokens\":1}\n";
  const std::string second =
      "{\"arrival_s\":0,\"input_tokens\":1,\"output_tokens\":1,\"stage\":1}\n";
  EXPECT_EQ(read_trace_text(head + first + first + second + second).rows.size(), 4U);
  const auto back = read_trace_text(head + first + first + second + first + second);
  EXPECT_EQ(back.rows.size(), 4U);
  ASSERT_EQ(back.errors.size(), 1U);
  EXPECT_EQ(core::to_string(back.errors[0]),
            "t:5:1: stage: found 0, expected stages of the first line in order");
}

}  // namespace
}  // namespace ridgeline::workload
