// A bad request in the middle of a file of every format: the problem names its own line, and with
// --skip-bad-rows the others are read.
#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "unit/workload/traces/trace_text.hpp"
#include "workload/item_stream.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/trace.hpp"

namespace ridgeline::workload {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

/// Four requests, the third of which is bad, each on a line of its own.
struct BadThird {
  const TraceFormat* format;
  std::string before = {};  ///< Lines before the first request.
  std::string good;         ///< '#' stands for the number of the request.
  std::string bad;
  std::string between = "\n";
  std::string after = "\n";
  std::string problem = {};
};

void PrintTo(const BadThird& test, std::ostream* out) {
  *out << test.format->name;
}

std::string numbered(std::string text, int number) {
  for (std::size_t at = text.find('#'); at != std::string::npos; at = text.find('#')) {
    text.replace(at, 1, std::to_string(number));
  }
  return text;
}

std::string text_of(const BadThird& test) {
  return test.before + numbered(test.good, 0) + test.between + numbered(test.good, 1) +
         test.between + numbered(test.bad, 2) + test.between + numbered(test.good, 3) + test.after;
}

std::vector<BadThird> bad_thirds() {
  const std::string json = ",\n";
  return {
      {.format = &kRequestCsv,
       .before = "arrival_s,input_tokens,output_tokens\n",
       .good = "#.5,10,2",
       .bad = "#.5,-10,2",
       .problem = "input_tokens: found \"-10\""},
      {.format = &kAzureLlmCsv,
       .before = "TIMESTAMP,ContextTokens,GeneratedTokens\n",
       .good = "2023-11-16 18:15:4#.5,10,2",
       .bad = "2023-11-16 18:15:4#.5,10,",
       .problem = "GeneratedTokens: found an empty cell"},
      {.format = &kAzureLmmCsv,
       .before = "TIMESTAMP,NumImages,ContextTokens,GeneratedTokens\n",
       .good = "2024-10-07 18:15:4#.5,1,10,2",
       .bad = "2024-10-07 18:15:4#.5,x,10,2",
       .problem = "NumImages: found \"x\""},
      {.format = &kBurstGpt,
       .before = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n",
       .good = "#,ChatGPT,472,18,490,API log",
       .bad = "#,ChatGPT,472,many,490,API log",
       .problem = "Response tokens: found \"many\""},
      {.format = &kVidurCsv,
       .before = "arrived_at,num_prefill_tokens,num_decode_tokens\n",
       .good = "#.5,10,2",
       .bad = "#.5,10",
       .problem = "found 2 columns"},
      {.format = &kSplitwiseCsv,
       .before = "request_id,arrival_timestamp,prompt_size,token_size,application_id\n",
       .good = "#,#.5,10,2,a",
       .bad = "#,now,10,2,a",
       .problem = "arrival_timestamp: found \"now\""},
      {.format = &kMooncake,
       .good = R"({"timestamp": #, "input_length": 600, "output_length": 5, "hash_ids": [1, 2]})",
       .bad = R"({"timestamp": #, "input_length": 600, "output_length": 5, "hash_ids": [1, -2]})",
       .problem = "hash_ids: found \"-2\""},
      {.format = &kMooncakeSessions,
       .good = R"({"session_id": "a#", "timestamp": #, "input_length": 100, "output_length": 10})",
       .bad = R"({"session_id": "a#", "input_length": 100, "output_length": 10})",
       .problem = "neither a time nor anything to wait for"},
      {.format = &kMooncakeAgentic,
       .good = R"({"request_id": "r#", "wait_for": [], "timestamp": #, "input_length": 10, )"
               R"("output_length": 5})",
       .bad = R"({"request_id": "r#", "wait_for": ["zz"], "input_length": 5, "output_length": 5})",
       .problem = "a wait for a request that does not exist"},
      {.format = &kApexJsonl,
       .good = R"({"StartTimeOffset": #, "ContextTokens": 10, "GeneratedTokens": 2})",
       .bad = R"({"StartTimeOffset": #, "ContextTokens": 10})",
       .problem = "no 'GeneratedTokens'"},
      {.format = &kLlmServingSim,
       .good = R"({"input_toks": 3, "output_toks": 3, "arrival_time_ns": #})",
       .bad = R"({"input_toks": 3, "output_toks": 0, "arrival_time_ns": #})",
       .problem = "output_toks: found \"0\""},
      {.format = &kAppliedCompute,
       .good = R"({"num_turns": 1, "input_prompt_length": 10, "assistant_response_length": [], )"
               R"("tool_call_output_length": [], "tool_call_latency": [], )"
               R"("final_assistant_response_length": 7})",
       .bad = R"({"num_turns": 1, "input_prompt_length": -10, "assistant_response_length": [], )"
              R"("tool_call_output_length": [], "tool_call_latency": [], )"
              R"("final_assistant_response_length": 7})",
       .problem = "input_prompt_length: found \"-10\""},
      {.format = &kTraceV2,
       .before = "request_id,input_tokens,output_tokens,arrival_time_us\n",
       .good = "#,100,5,#",
       .bad = "#,100,5,soon",
       .problem = "arrival_time_us: found \"soon\""},
      {.format = &kRequestJsonl,
       .good = R"({"arrival_s": #, "input_tokens": 10, "output_tokens": 2})",
       .bad = R"({"arrival_s": #, "input_tokens": 10, "output_tokens": 2, "after": [-1, 0]})",
       .problem = "after: found \"-1\""},
      {.format = &kOtelSpans,
       .before = "{\"resourceSpans\": [{\"scopeSpans\": [{\"spans\": [",
       .good = R"({"traceId": "t#", "spanId": "s", "startTimeUnixNano": "100000000#", )"
               R"("endTimeUnixNano": "100000000#", "attributes": [)"
               R"({"key": "gen_ai.usage.input_tokens", "value": {"intValue": "5"}}, )"
               R"({"key": "gen_ai.usage.output_tokens", "value": {"intValue": 5}}]})",
       .bad = R"({"traceId": "t#", "spanId": "s", "startTimeUnixNano": "100000000#", )"
              R"("attributes": [)"
              R"({"key": "gen_ai.usage.input_tokens", "value": {"intValue": "5"}}, )"
              R"({"key": "gen_ai.usage.output_tokens", "value": {"intValue": 5}}]})",
       .between = json,
       .after = "]}]}]}\n",
       .problem = "end_time: found a span without it"},
      {.format = &kGuidellm,
       .before = "{\"metadata\": {\"version\": 2}, \"benchmarks\": [{\"requests\": "
                 "{\"successful\": [",
       .good = R"({"info": {"timings": {"request_start": 17163456#}}, )"
               R"("input_metrics": {"text_tokens": 10}, "output_metrics": {"text_tokens": 7}})",
       .bad = R"({"info": {"timings": {"request_start": 17163456#}}, )"
              R"("output_metrics": {"text_tokens": 7}})",
       .between = json,
       .after = "]}}]}\n",
       .problem = "found no token counts"},
      {.format = &kInferencePerfLifecycle,
       .before = "[",
       .good = R"({"start_time": 10.#, "end_time": 11, "info": {"input_tokens": 5, )"
               R"("output_tokens": 3}, "error": null})",
       .bad = R"({"end_time": 11, "start": 10.#, "info": {"input_tokens": 5, )"
              R"("output_tokens": 3}, "error": null})",
       .between = json,
       .after = "]\n",
       .problem = "a request without times or token counts"},
      {.format = &kAiperf,
       .good = R"({"metadata": {"request_start_ns": 100#, "benchmark_phase": "profiling"}, )"
               R"("metrics": {"input_sequence_length": {"value": 5}, )"
               R"("output_sequence_length": {"value": 3}}, "error": null})",
       .bad = R"({"metadata": {"request_start_ns": 100#, "benchmark_phase": "profiling"}, )"
              R"("metrics": {"input_sequence_length": {"value": 5}}, "error": null})",
       .problem = "a request without time or token counts"},
      {.format = &kShareGpt,
       .before = "[",
       .good = R"({"id": "a#", "conversations": [{"from": "human", "tokens": 10}, )"
               R"({"from": "gpt", "tokens": 4}]})",
       .bad = R"({"id": "a#", "conversations": [{"from": "human"}, )"
              R"({"from": "gpt", "tokens": 4}]})",
       .between = json,
       .after = "]\n",
       .problem = "a turn without its number of tokens"},
  };
}

class BadRows : public ::testing::TestWithParam<BadThird> {};

TEST_P(BadRows, AreReportedWithTheirLine) {
  const BadThird& test = GetParam();
  auto stream = open_items(input_of(text_of(test)), "t");
  core::Errors errors;
  if (!stream) {
    errors = stream.error();
  } else {
    Item item;
    while ((*stream)->next(item)) {
    }
    errors = (*stream)->errors();
  }
  ASSERT_EQ(errors.size(), 1U);
  // Three lines behind those before the first request, which may have none of their own.
  const bool has_header = test.before.ends_with('\n');
  const std::string line = "t:" + std::to_string(has_header ? 4 : 3) + ":";
  EXPECT_THAT(core::to_string(errors[0]), StartsWith(line));
  EXPECT_THAT(core::to_string(errors[0]), HasSubstr(test.problem));
}

TEST_P(BadRows, AreDroppedOneByOne) {
  const BadThird& test = GetParam();
  auto stream = open_items(input_of(text_of(test)), "t", {.skip_bad_rows = true});
  ASSERT_TRUE(stream.has_value()) << core::to_string(stream.error()[0]);
  std::size_t items = 0;
  Item item;
  while ((*stream)->next(item)) {
    ++items;
  }
  EXPECT_EQ(items, 3U);
  ASSERT_TRUE((*stream)->errors().empty()) << core::to_string((*stream)->errors()[0]);
  std::string warnings;
  for (const auto& warning : (*stream)->warnings()) {
    warnings += warning.message + "\n";
  }
  EXPECT_THAT(warnings, HasSubstr("1 bad row was dropped"));
  EXPECT_THAT(warnings, HasSubstr(test.problem));
}

INSTANTIATE_TEST_SUITE_P(EveryFormat,
                         BadRows,
                         ::testing::ValuesIn(bad_thirds()),
                         [](const auto& of) {
                           std::string name(of.param.format->name);
                           std::erase(name, '-');
                           return name;
                         });

// Found by the fuzzer: a group whose first request is bad goes with it, whatever the bad one was.
TEST(BadRowsInGroups, TakeTheRestOfTheirGroup) {
  const std::string head =
      "{\"ridgeline_workload\":1,\"groups\":true,\"waits\":true,\"stages\":[{}]}\n";
  const std::string second =
      "{\"input_tokens\":5,\"output_tokens\":1,\"group\":1,\"after\":[0],\"delay_s\":1}\n";
  const std::string other = "{\"arrival_s\":1,\"input_tokens\":9,\"output_tokens\":1}\n";
  for (const std::string bad : {"{\"arrival_s\":0,\"input_tokens\":0,\"output_tokens\":1}\n",
                                "{\"arrival_s\":0,\n",
                                "\xFF\n"}) {
    auto stream = open_items(input_of(head + bad + second + other), "t", {.skip_bad_rows = true});
    ASSERT_TRUE(stream.has_value()) << core::to_string(stream.error()[0]);
    const auto list = read_all(**stream);
    ASSERT_TRUE(list.has_value()) << core::to_string(list.error()[0]);
    ASSERT_EQ(list->items.size(), 1U);
    EXPECT_EQ(list->items[0].input_tokens.value(), 9);
    EXPECT_TRUE(keeps_group_rules(*list));
    EXPECT_THAT(list->warnings.at(0).message, HasSubstr("2 bad rows were dropped"));
  }
}

// Found by the fuzzer: a document that breaks off is refused, not a conversation dropped.
TEST(BrokenDocuments, AreNoBadRows) {
  const auto stream = open_items(
      input_of("[{\"id\": \"a\", \"conversations\": [{\"from\": \"human\", \"tokens\": 1}x]}]"),
      "t",
      {.skip_bad_rows = true});
  ASSERT_FALSE(stream.has_value());
  ASSERT_FALSE(stream.error().empty());
  EXPECT_THAT(core::to_string(stream.error()[0]), HasSubstr("expected ',' or ']'"));
}

// The lists of a result of vLLM's stand side by side: a bad length takes no other with it.
TEST(VllmBenchRows, PointAtTheirLengths) {
  const auto why = [](const std::string& lists) {
    const auto stream = open_items(
        input_of("{\"completed\": 2, \"request_throughput\": 1.0,\n" + lists + "}"), "t");
    return stream ? std::string("sound") : core::to_string(stream.error()[0]);
  };
  EXPECT_THAT(why("\"input_lens\": [\n10,\n-20\n],\n\"output_lens\": [1, 2]"),
              StartsWith("t:4:1: input_lens: found \"-20\""));
  EXPECT_THAT(why("\"input_lens\": [10],\n\"output_lens\": [1, 2]"),
              StartsWith("t:3:2: output_lens: found lists of 1, 2 and 0 requests"));
}

}  // namespace
}  // namespace ridgeline::workload
