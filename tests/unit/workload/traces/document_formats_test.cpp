// Formats that are read as a whole: small files of our own making, by the published fields.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "support/paths.hpp"
#include "unit/workload/traces/trace_text.hpp"
#include "workload/item.hpp"
#include "workload/item_stream.hpp"
#include "workload/traces/reading/json_records.hpp"
#include "workload/traces/reading/timed_items.hpp"
#include "workload/traces/trace.hpp"

namespace ridgeline::workload {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

core::Result<ItemList> read_document_text(const std::string& text, ReadOptions options = {}) {
  auto stream = open_items(input_of(text), "t", options);
  if (!stream) {
    return core::fail(stream.error());
  }
  return read_all(**stream);
}

std::string problem_of(const core::Result<ItemList>& list) {
  return list ? "sound" : core::to_string(list.error().at(0));
}

std::vector<double> starts(const ItemList& list) {
  std::vector<double> seconds;
  for (const Item& item : list.items) {
    seconds.push_back(item.arrival.to_seconds());
  }
  return seconds;
}

TEST(VllmBench, GivesTheRequestsThatWereSent) {
  const auto list = read_document_text(
      R"({"date": "x", "model_id": "m/a", "num_prompts": 3, "request_rate": "inf", "completed": 2,
          "request_throughput": 1.0, "input_lens": [10, 20, 30], "output_lens": [5, 0, 7],
          "ttfts": [0.1, 0, 0.2], "itls": [[0.01], [], [0.02]], "start_times": [1000.5, 1001, 1000.25]})");
  ASSERT_TRUE(list.has_value()) << problem_of(list);
  // The second failed; the third was sent first.
  EXPECT_THAT(starts(*list), ElementsAre(0.0, 0.25));
  EXPECT_EQ(list->items[0].input_tokens.value(), 30);
  EXPECT_EQ(list->labels.name(list->items[0].model), "m/a");
  ASSERT_THAT(list->warnings, SizeIs(1));
  EXPECT_EQ(list->warnings[0].code, "W-failed-requests");
}

TEST(VllmBench, WithoutTimesRequestsComeEvenly) {
  const auto list = read_document_text(
      R"({"completed": 3, "request_throughput": 1.0, "request_rate": 4.0,
          "input_lens": [1, 2, 3], "output_lens": [1, 1, 1]})");
  ASSERT_TRUE(list.has_value()) << problem_of(list);
  EXPECT_THAT(starts(*list), ElementsAre(0.0, 0.25, 0.5));
}

TEST(VllmBench, WithoutTimesOrRateAllComeAtOnceAndThatIsSaid) {
  const auto list = read_document_text(
      R"({"completed": 2, "request_throughput": 1.0, "request_rate": "inf",
          "input_lens": [1, 2], "output_lens": [1, 1]})");
  ASSERT_TRUE(list.has_value()) << problem_of(list);
  EXPECT_THAT(starts(*list), ElementsAre(0.0, 0.0));
  ASSERT_THAT(list->warnings, SizeIs(1));
  EXPECT_THAT(list->warnings[0].message, HasSubstr("at once"));
}

TEST(SglangBench, IsKnownByItsBackendOrItsOwnNames) {
  const std::string rest =
      R"("completed": 1, "request_throughput": 1.0, "input_lens": [1], "output_lens": [1]})";
  EXPECT_TRUE(kSglangBench.detect(TraceHead(R"({"backend": "sglang-oai", )" + rest)));
  EXPECT_TRUE(kSglangBench.detect(TraceHead(R"({"mean_e2e_latency_ms": 3, )" + rest)));
  EXPECT_FALSE(kSglangBench.detect(TraceHead(R"({"backend": "vllm", )" + rest)));
  EXPECT_TRUE(kVllmBench.detect(TraceHead(R"({"backend": "vllm", )" + rest)));
}

TEST(VllmBench, ASummaryAloneIsNoTrace) {
  EXPECT_THAT(problem_of(read_document_text(R"({"completed": 3, "request_throughput": 1.0})")),
              HasSubstr("expected the result of a run with --save-detailed"));
}

TEST(Guidellm, ReadsBothVersions) {
  const auto list = read_document_text(
      R"({"metadata": {"version": 2}, "benchmarks": [{"config": {}, "requests": {"errored": [{}],
          "successful": [
            {"request_id": "a", "info": {"timings": {"request_start": 1716345602.5}},
             "input_metrics": {"text_tokens": 100}, "output_metrics": {"text_tokens": 7}},
            {"request_id": "b", "start_time": 1716345600.25, "prompt_tokens": 50, "output_tokens": 9}
          ]}}]})");
  ASSERT_TRUE(list.has_value()) << problem_of(list);
  EXPECT_THAT(starts(*list), ElementsAre(0.0, 2.25));
  EXPECT_EQ(list->items[1].input_tokens.value(), 100);
}

TEST(InferencePerfLifecycle, LeavesErrorsOut) {
  const std::string text =
      R"([{"start_time": 10.5, "end_time": 11, "request": "r", "info": {"input_tokens": 5, "output_tokens": 3}, "error": null},
          {"start_time": 10.75, "end_time": 11, "request": "r", "info": {"input_tokens": 6, "output_tokens": 3}, "error": {"error_type": "timeout"}},
          {"start_time": 12, "end_time": 13, "request": "r", "info": {"input_tokens": 7, "output_tokens": 3}}])";
  const auto list = read_document_text(text);
  ASSERT_TRUE(list.has_value()) << problem_of(list);
  EXPECT_THAT(starts(*list), ElementsAre(0.0, 1.5));
  ASSERT_THAT(list->warnings, SizeIs(1));
  EXPECT_THAT(problem_of(read_document_text(text.substr(0, text.size() - 30))),
              HasSubstr("expected"));
}

TEST(Aiperf, LeavesOtherPhasesAndErrorsOut) {
  const auto request = [](const char* start, const char* more, const char* error) {
    return std::string(R"({"metadata": {"request_start_ns": )") + start + more +
           R"(}, "metrics": {"input_sequence_length": {"value": 5, "unit": "tokens"}, )"
           R"("output_sequence_length": {"value": 3, "unit": "tokens"}}, "error": )" +
           error + "}\n";
  };
  const auto list = read_document_text(
      request("1700000000100000000", R"(, "benchmark_phase": "warmup")", "null") +
      request("1700000001000000000", R"(, "benchmark_phase": "profiling")", "null") +
      request("1700000001250000000", R"(, "was_cancelled": true)", "null") +
      request("1700000001300000000", "", R"({"code": 500, "type": "x"})") +
      request("1700000001500000001", R"(, "was_cancelled": false)", "null"));
  ASSERT_TRUE(list.has_value()) << problem_of(list);
  EXPECT_THAT(starts(*list), ElementsAre(0.0, 0.500000001));
  ASSERT_THAT(list->warnings, SizeIs(2));
  EXPECT_THAT(list->warnings[0].message, HasSubstr("2 requests with an error"));
  EXPECT_THAT(list->warnings[1].message, HasSubstr("1 requests before the phase"));
}

/// A turn of AIPerf's: when it was sent and answered, in seconds, its session, conversation and
/// tokens.
std::string aiperf_turn(double start,
                        double end,
                        const std::string& session,
                        const std::string& conversation,
                        int input,
                        int output) {
  return fmt::format(R"({{"metadata": {{"request_start_ns": {:.0f}, "request_end_ns": {:.0f}, )"
                     R"("x_correlation_id": "{}", "conversation_id": "{}"}}, )"
                     R"("metrics": {{"input_sequence_length": {{"value": {}}}, )"
                     R"("output_sequence_length": {{"value": {}}}}}}})"
                     "\n",
                     (100.0 + start) * 1e9,
                     (100.0 + end) * 1e9,
                     session,
                     conversation,
                     input,
                     output);
}

/// Tokens that two prompts begin with alike.
std::int64_t common_tokens(const Item& a, const Item& b) {
  std::int64_t common = 0;
  auto other = b.prompt.begin();
  for (const auto& segment : a.prompt) {
    if (other == b.prompt.end() || !(*other == segment)) {
      break;
    }
    common += segment.length.value();
    ++other;
  }
  return common;
}

TEST(Aiperf, TurnsOfASessionHoldWhatWasSaidBefore) {
  // Rows stand in the order of their ends. The second turn has 20 tokens of prompt, 8 of the answer
  // and 12 new ones; the third has lost the answers, which were thoughts: the prompt and 10 more.
  const auto list = read_document_text(aiperf_turn(0.0, 1.0, "a", "talk", 20, 8) +
                                       aiperf_turn(4.0, 4.5, "a", "talk", 50, 5) +
                                       aiperf_turn(1.5, 5.0, "a", "talk", 40, 30));
  ASSERT_TRUE(list.has_value()) << problem_of(list);
  EXPECT_THAT(starts(*list), ElementsAre(0.0, 1.5, 4.0));
  ASSERT_THAT(list->items, SizeIs(3));
  std::int32_t turn = 0;
  for (const Item& item : list->items) {
    EXPECT_EQ(item.session, 0);
    EXPECT_EQ(item.turn, turn++);
  }
  EXPECT_EQ(common_tokens(list->items[0], list->items[1]), 20);
  EXPECT_EQ(common_tokens(list->items[1], list->items[2]), 40);
  EXPECT_EQ(list->items[1].input_tokens.value(), 40);
}

TEST(Aiperf, SessionsOfOneConversationAskAlike) {
  const auto list = read_document_text(aiperf_turn(0.0, 1.0, "a", "talk", 20, 8) +
                                       aiperf_turn(2.0, 3.0, "b", "talk", 20, 8) +
                                       aiperf_turn(4.0, 5.0, "c", "other", 20, 8));
  ASSERT_TRUE(list.has_value()) << problem_of(list);
  ASSERT_THAT(list->items, SizeIs(3));
  EXPECT_EQ(common_tokens(list->items[0], list->items[1]), 20);
  EXPECT_EQ(common_tokens(list->items[0], list->items[2]), 0);
}

TEST(Aiperf, OfRequestsThatAreAConversationEachNothingIsSaid) {
  const auto list = read_document_text(aiperf_turn(0.0, 1.0, "a", "one", 20, 8) +
                                       aiperf_turn(2.0, 3.0, "b", "two", 20, 8));
  ASSERT_TRUE(list.has_value()) << problem_of(list);
  EXPECT_TRUE(list->items[0].prompt.empty());
  EXPECT_EQ(list->items[0].session, -1);
}

/// A record of `ridgeline observe` with these lines behind its first.
std::string observed(const std::string& rows) {
  return "{\"ridgeline_observed\":1,\"model\":\"m\"}\n" + rows +
         "{\"ridgeline_observed_end\":1,\"unsound\":[]}\n";
}

TEST(Observed, TakesWhatWasAnsweredInTheOrderOfSending) {
  const auto list = read_document_text(observed(
      R"({"id":1,"send_s":2.5,"input_tokens":8,"prompt_tokens":9,"output_tokens":4,"completion_tokens":3})"
      "\n"
      R"({"id":0,"send_s":1.25,"input_tokens":8,"output_tokens":4,"gaps_us":[1,2]})"
      "\n"
      R"({"scrape_s":1.5,"running":3})"
      "\n"
      R"({"id":2,"send_s":3,"input_tokens":8,"output_tokens":4,"error":"HTTP 503"})"
      "\n"
      R"({"id":3,"send_s":3,"input_tokens":8,"output_tokens":4,"warmup":true})"
      "\n"));
  ASSERT_TRUE(list.has_value()) << problem_of(list);
  EXPECT_THAT(starts(*list), ElementsAre(0.0, 1.25));
  EXPECT_EQ(list->items[0].input_tokens, core::Tokens(8));
  EXPECT_EQ(list->items[1].input_tokens, core::Tokens(9));
  EXPECT_EQ(list->items[1].output_tokens, core::Tokens(3));
  ASSERT_THAT(list->warnings, SizeIs(2));
  EXPECT_THAT(list->warnings[0].message, HasSubstr("1 request that failed"));
  EXPECT_THAT(list->warnings[1].message, HasSubstr("1 request of the warm-up"));
}

TEST(Observed, KeepsWhatPromptsShare) {
  const auto list = read_document_text(observed(
      R"({"id":5,"session":0,"turn":0,"send_s":1,"input_tokens":8,"output_tokens":4,"prompt":[[7,8]]})"
      "\n"
      R"({"id":6,"session":1,"turn":0,"send_s":2,"input_tokens":9,"output_tokens":4,"prompt":[[7,8],[-3,1]]})"
      "\n"
      R"({"id":9,"session":0,"turn":1,"send_s":3,"input_tokens":20,"output_tokens":4,"prompt":[[7,8],[-6,4]]})"
      "\n"));
  ASSERT_TRUE(list.has_value()) << problem_of(list);
  const auto& items = list->items;
  ASSERT_THAT(items, SizeIs(3));
  EXPECT_TRUE(keeps_group_rules(*list));
  // The answer to request 2 is not in the file.
  EXPECT_EQ(items[1].prompt.size(), 1U);
  ASSERT_EQ(items[2].prompt.size(), 2U);
  EXPECT_EQ(items[2].prompt[1].content, output_of(0));
  EXPECT_EQ(items[2].session, 0);
  EXPECT_EQ(items[2].turn, 1);
}

TEST(Observed, ARequestThatLacksAFactIsABadRow) {
  for (const char* row : {R"({"send_s":1,"input_tokens":8,"output_tokens":4})",
                          R"({"id":1,"input_tokens":8,"output_tokens":4})",
                          R"({"id":1,"send_s":1,"output_tokens":4})",
                          R"({"id":1,"send_s":1,"input_tokens":8})"}) {
    EXPECT_THAT(problem_of(read_document_text(observed(row + std::string("\n")))),
                HasSubstr("lacks one of its facts"))
        << row;
  }
  for (const char* row :
       {R"({"id":1,"send_s":-1,"input_tokens":8,"output_tokens":4})",
        R"({"id":1,"send_s":1,"input_tokens":8,"output_tokens":4,"prompt":[[1]]})",
        R"({"id":1,"send_s":1,"input_tokens":8,"output_tokens":4,"session":"x"})",
        R"({"id":1,"send_s":1,"input_tokens":8,)"}) {
    EXPECT_FALSE(read_document_text(observed(row + std::string("\n"))).has_value()) << row;
  }
}

TEST(OtelSpans, MakesAGraphOfWhatHadEnded) {
  // 0 .. 2, then 3 .. 5 and 3 .. 6 side by side, then 7 .. 8.
  const auto span = [](const char* id, int begin, int end) {
    return std::string(R"({"traceId": "t", "spanId": ")") + id + R"(", "startTimeUnixNano": ")" +
           std::to_string(begin) + R"(000000000", "endTimeUnixNano": ")" + std::to_string(end) +
           R"(000000000", "attributes": [{"key": "gen_ai.usage.input_tokens", "value": {"intValue": "50"}},
              {"key": "gen_ai.usage.output_tokens", "value": {"intValue": 5}},
              {"key": "gen_ai.request.model", "value": {"stringValue": "m"}}]})";
  };
  const auto list = read_document_text(
      R"({"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": [)" +
      span("d", 7, 8) + "," + span("a", 0, 2) + "," + span("b", 3, 5) + "," + span("c", 3, 6) +
      R"(, {"spanId": "x", "startTimeUnixNano": "1", "endTimeUnixNano": "2"}]}]}]})");
  ASSERT_TRUE(list.has_value()) << problem_of(list);
  ASSERT_THAT(list->items, SizeIs(4));
  EXPECT_THAT(list->items[0].parents, IsEmpty());
  EXPECT_THAT(list->items[1].parents, ElementsAre(0U));
  EXPECT_EQ(list->items[1].delay, core::Duration::seconds(1));
  EXPECT_THAT(list->items[2].parents, ElementsAre(0U));
  EXPECT_THAT(list->items[3].parents, ElementsAre(1U, 2U));
  EXPECT_EQ(list->items[3].delay, core::Duration::seconds(1));
}

TEST(OtelSpans, ReadsAFlatListToo) {
  const auto list = read_document_text(
      R"([{"span_id": "a", "trace_id": "t", "start_time": "2024-05-10T00:00:00.5Z",
           "end_time": "2024-05-10T00:00:01Z",
           "attributes": {"gen_ai.usage.input_tokens": 50, "gen_ai.usage.output_tokens": 5}}])");
  ASSERT_TRUE(list.has_value()) << problem_of(list);
  ASSERT_THAT(list->items, SizeIs(1));
  EXPECT_EQ(list->items[0].output_tokens.value(), 5);
}

TEST(ShareGpt, ConversationsGrow) {
  const auto list = read_document_text(
      R"([{"id": "a", "conversations": [{"from": "human", "value": "x", "tokens": 10},
           {"from": "gpt", "value": "y", "tokens": 4}, {"from": "human", "value": "z", "tokens": 3},
           {"from": "gpt", "value": "w", "tokens": 6}]},
          {"id": "b", "conversations": [{"from": "human", "num_tokens": 7}, {"from": "gpt", "num_tokens": 2}]}])");
  ASSERT_TRUE(list.has_value()) << problem_of(list);
  ASSERT_THAT(list->items, SizeIs(3));
  EXPECT_EQ(list->items[1].input_tokens.value(), 17);
  EXPECT_THAT(list->items[1].parents, ElementsAre(0U));
  EXPECT_EQ(list->items[1].prompt[1].content, output_of(0));
  EXPECT_EQ(list->items[2].session, 1);
  EXPECT_THAT(problem_of(read_document_text(
                  R"([{"id": "a", "conversations": [{"from": "human", "value": "x"}]}])")),
              HasSubstr("tokens: found a turn without its number of tokens"));
}

TEST(LlmServingSim, SharesTokenIdsByBlocks) {
  std::string ids;
  for (int i = 0; i < 20; ++i) {
    ids += (i > 0 ? "," : "") + std::to_string(i);
  }
  const auto list = read_document_text(
      "{\"input_toks\": 20, \"output_toks\": 3, \"arrival_time_ns\": 1500, \"input_tok_ids\": [" +
      ids +
      "]}\n{\"input_toks\": 20, \"output_toks\": 3, \"arrival_time_ns\": 2500, \"input_tok_ids\": "
      "[" +
      ids.substr(0, ids.size() - 2) + "99]}\n");
  ASSERT_TRUE(list.has_value()) << problem_of(list);
  EXPECT_EQ(list->items[0].arrival.count(), 1'500'000);
  EXPECT_EQ(list->items[0].prompt[0], list->items[1].prompt[0]);
  EXPECT_NE(list->items[0].prompt[1].content, list->items[1].prompt[1].content);
}

TEST(LlmServingSim, SubRequestsFollowEachOther) {
  const auto list = read_document_text(
      R"({"session_id": 1, "arrival_time_ns": 1000000000, "sub_requests": [{"input_toks": 10, "output_toks": 2, "tool_duration_ns": 500000000}, {"input_toks": 20, "output_toks": 3, "tool_duration_ns": 0}]})");
  ASSERT_TRUE(list.has_value()) << problem_of(list);
  ASSERT_THAT(list->items, SizeIs(2));
  EXPECT_EQ(list->items[0].arrival, core::Duration::seconds(1));
  EXPECT_THAT(list->items[1].parents, ElementsAre(0U));
  EXPECT_EQ(list->items[1].delay, core::Duration::milliseconds(500));
}

TEST(AppliedCompute, TurnsHoldWhatToolsReturned) {
  const auto list = read_document_text(
      R"({"num_turns": 2, "input_prompt_length": 100, "assistant_response_length": [10], "tool_call_output_length": [30], "tool_call_latency": [1.5], "final_assistant_response_length": 7})");
  ASSERT_TRUE(list.has_value()) << problem_of(list);
  ASSERT_THAT(list->items, SizeIs(2));
  EXPECT_EQ(list->items[1].input_tokens.value(), 140);
  EXPECT_EQ(list->items[1].output_tokens.value(), 7);
  EXPECT_EQ(list->items[1].delay, core::Duration::milliseconds(1500));
}

/// A folder that goes away with it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    static int count = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("ridgeline_folder_" + std::to_string(getpid()) + "_" + std::to_string(count++));
    std::filesystem::create_directory(path_);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  [[nodiscard]] std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name) << text;
    return (path_ / name).string();
  }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

core::Result<ItemList> read_path(const std::string& path, const ReadOptions& options = {}) {
  auto stream = open_items(path, options);
  if (!stream) {
    return core::fail(stream.error());
  }
  return read_all(**stream);
}

const std::string kV2Data =
    "request_id,client_id,tenant_id,slo_class,session_id,round_index,prefix_group,prefix_length,"
    "input_tokens,output_tokens,model,server_input_tokens,arrival_time_us,send_time_us,status,"
    "think_time_us\n"
    "0,c,acme,critical,s1,0,sys,64,100,10,m,0,1000000,0,ok,0\n"
    "1,c,acme,critical,s1,1,sys,64,20,10,m,0,5000000,0,ok,250000\n"
    "2,c,,batch,,0,,0,50,5,m,57,3000000,0,ok,0\n";

TEST(TraceV2, APairIsReadFromEitherFileAndFromItsFolder) {
  const TemporaryFolder folder;
  const auto data = folder.write("run.csv", kV2Data);
  const auto header = folder.write(
      "run.yaml",
      "trace_version: 3\ntime_unit: us\nmode: generated\nsession_context_growth: accumulate\n");
  for (const std::string& path : {data, header, folder.path()}) {
    const auto list = read_path(path);
    ASSERT_TRUE(list.has_value()) << problem_of(list);
    ASSERT_THAT(list->items, SizeIs(3));
    EXPECT_EQ(list->items[0].input_tokens.value(), 164);
    // The prefix, the first round's 100 and its answer of 10 (not 9), and 20 new ones.
    EXPECT_EQ(list->items[1].input_tokens.value(), 194);
    EXPECT_EQ(list->items[1].arrival, core::Duration::seconds(5));
    // No prefix group: what the server counted.
    EXPECT_EQ(list->items[2].input_tokens.value(), 57);
    EXPECT_EQ(list->labels.name(list->items[0].slo_class), "critical");
    ASSERT_THAT(list->warnings, SizeIs(1));
    EXPECT_EQ(list->warnings[0].code, "W-blis-context");
  }
}

TEST(TraceV2, WithoutAHeaderRoundsStandForThemselves) {
  const TemporaryFolder folder;
  const auto list = read_path(folder.write("run.csv", kV2Data));
  ASSERT_TRUE(list.has_value()) << problem_of(list);
  EXPECT_EQ(list->items[1].input_tokens.value(), 84);
  EXPECT_EQ(list->items[1].prompt[0], list->items[0].prompt[0]);
}

TEST(TraceV2, RoundsCanWaitForAnswers) {
  const TemporaryFolder folder;
  const auto list =
      read_path(folder.write("run.csv", kV2Data), {.session_times = SessionTimes::kAnswered});
  ASSERT_TRUE(list.has_value()) << problem_of(list);
  EXPECT_THAT(list->items[1].parents, ElementsAre(0U));
  EXPECT_EQ(list->items[1].delay, core::Duration::milliseconds(250));
}

TEST(TraceV2, SendTimesOfTheEpochCountFromTheFirst) {
  const TemporaryFolder folder;
  const auto list =
      read_path(folder.write("run.csv",
                             "request_id,input_tokens,output_tokens,arrival_time_us,send_time_us\n"
                             "0,5,5,0,1716345600000000\n1,5,5,500000,1716345600500100\n"));
  ASSERT_TRUE(list.has_value()) << problem_of(list);
  EXPECT_EQ(list->items[1].arrival, core::Duration::microseconds(500'100));
  ASSERT_THAT(list->warnings, SizeIs(1));
  EXPECT_EQ(list->warnings[0].code, "W-blis-send-times");
}

TEST(EpochClock, IsExactBeyondDoubles) {
  core::Errors errors;
  const std::string text = "1716345600.123456789 1716345601.123456789";
  const std::string file = "t";
  const TraceLine line(text, file, 1, errors);
  EpochClock clock;
  core::Duration first;
  core::Duration second;
  EXPECT_TRUE(clock.read(line, "x", std::string_view(text).substr(0, 20), kSecondsUnit, first));
  EXPECT_TRUE(clock.read(line, "x", std::string_view(text).substr(21), kSecondsUnit, second));
  EXPECT_EQ((second - first).count(), core::Duration::kTicksPerSecond);
  EXPECT_EQ(first.count(), 123'456'789'000);
}

TEST(SettleArrivals, SortsAndStartsAtZero) {
  std::vector<Item> items(2);
  items[0].arrival = core::Duration::seconds(5);
  items[1].arrival = core::Duration::seconds(2);
  settle_arrivals(items);
  EXPECT_EQ(items[0].arrival, core::Duration());
  EXPECT_EQ(items[1].arrival, core::Duration::seconds(3));
}

// Counts and sums of the published cuts, by python's json module.
TEST(ApexSamples, LoadWhole) {
  const auto folder = test::shared_dir() / "traces/apex";
  if (!std::filesystem::exists(folder)) {
    GTEST_SKIP() << "no " << folder;
  }
  struct Sample {
    const char* path;
    std::int64_t requests;
    std::int64_t input;
    std::int64_t output;
  };
  for (const Sample& sample : {Sample{"llama/creation_05.jsonl", 512, 157'563, 585'888},
                               Sample{"llama/lmsys_05.jsonl", 1024, 63'148, 165'996},
                               Sample{"mistral/creation_025.jsonl", 725, 258'099, 552'065}}) {
    const auto scan = scan_trace((folder / sample.path).string());
    ASSERT_TRUE(scan.has_value()) << core::to_string(scan.error()[0]);
    EXPECT_EQ(scan->requests, sample.requests);
    EXPECT_EQ(scan->input_tokens.value(), sample.input);
    EXPECT_EQ(scan->output_tokens.value(), sample.output);
  }
}

}  // namespace
}  // namespace ridgeline::workload
