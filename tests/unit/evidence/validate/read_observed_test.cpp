#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"
#include "evidence/validate/client_readers.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/result_document.hpp"

namespace ridgeline::evidence::validate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;

Evidence read(const std::vector<std::string>& texts) {
  std::vector<ResultLine> lines;
  for (const auto& text : texts) {
    lines.push_back({.number = static_cast<std::int64_t>(lines.size()) + 1,
                     .node = parse_result(text, "run.jsonl")});
  }
  return read_observed(lines);
}

const std::string kHead =
    R"({"ridgeline_observed":1,"target":"http://127.0.0.1:8000","started":"2026-11-26T19:00:00Z",
  "server":{"version":"0.15.1","models":["org/m"],"cache_config":{"num_gpu_blocks":"27876"}},
  "model":"org/m","deployment":{"gpu":"h100","engine.tensor_parallel_size":"2",
  "engine.max_num_seqs":"64"},"workload":{"workload.request_rate":"8"}})";
const std::string kEnd = R"({"ridgeline_observed_end":1,"partial":false,"unsound":[]})";

std::string row(int id, const std::string& send_s, const std::string& more = "") {
  return R"({"id":)" + std::to_string(id) + R"(,"send_s":)" + send_s +
         R"(,"input_tokens":100,"prompt_tokens":101,"output_tokens":11,"ttft_ms":20,
            "last_ms":120,"end_ms":125)" +
         more + "}";
}

TEST(ReadObserved, HoldsTheServerThatItsFlagsDescribed) {
  const auto evidence = read({kHead, row(0, "1.0"), row(1, "2.0"), R"({"scrape_s":1})", kEnd});
  ASSERT_EQ(evidence.problem, "");
  EXPECT_EQ(evidence.unsound, "");
  EXPECT_EQ(evidence.model, "org/m");
  EXPECT_EQ(evidence.gpu, "h100");
  EXPECT_EQ(evidence.tensor_parallel, 2);
  EXPECT_EQ(evidence.engine_version, "vllm@0.15");
  EXPECT_EQ(evidence.server.num_gpu_blocks, 27'876);
  EXPECT_EQ(evidence.date, "2026-11-26");
  EXPECT_THAT(evidence.stated,
              ElementsAre(Pair("gpu", "h100"),
                          Pair("engine.tensor_parallel_size", "2"),
                          Pair("engine.max_num_seqs", "64")));
}

TEST(ReadObserved, MeasuresFromTheSending) {
  const auto evidence = read({kHead, row(1, "2.0"), row(0, "1.0"), kEnd});
  EXPECT_EQ(evidence.measured.at(Figure::kTtft, Level::kMean), 20.0);
  EXPECT_EQ(evidence.measured.at(Figure::kE2e, Level::kMean), 125.0);
  EXPECT_EQ(evidence.measured.at(Figure::kTpot, Level::kMean), 10.0);
  EXPECT_NEAR(*evidence.measured.at(Figure::kOutputThroughput, Level::kMean), 22 / 1.125, 1e-9);
  ASSERT_EQ(evidence.stages.size(), 1U);
  const auto& rows = evidence.stages[0].rows;
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1].arrival_s, 1.0);
  EXPECT_EQ(rows[0].input_tokens, 101);  // As the server counts.
  EXPECT_EQ(rows[0].output_tokens, 11);
}

TEST(ReadObserved, LeavesOutWhatIsNoServedRequest) {
  const auto evidence = read({kHead,
                              row(0, "1.0"),
                              row(1, "2.0", R"(,"error":"HTTP 503: busy")"),
                              row(2, "3.0", R"(,"warmup":true)"),
                              R"({"id":3,"send_s":4,"input_tokens":100,"output_tokens":11})",
                              kEnd});
  EXPECT_EQ(evidence.stages[0].rows.size(), 1U);
  EXPECT_THAT(evidence.left_out,
              ElementsAre("1 request that failed", HasSubstr("line 5: ttft_ms is missing")));
}

TEST(ReadObserved, TheLastOfARequestThatWasSentTwiceCounts) {
  const auto evidence = read({kHead,
                              row(0, "1.0", R"(,"session":4,"turn":0)"),
                              row(1, "5.0", R"(,"session":4,"turn":1)"),
                              row(7, "9.0", R"(,"session":4,"turn":0)"),
                              kEnd});
  EXPECT_EQ(evidence.stages[0].rows.size(), 2U);
  EXPECT_EQ(evidence.stages[0].rows[1].arrival_s, 4.0);
}

TEST(ReadObserved, ClientsThatWaitForAnswersAreAClosedLoop) {
  std::string head = kHead;
  const std::string rate = R"("workload.request_rate":"8")";
  head.replace(head.find(rate), rate.size(), R"("workload.max_concurrency":"16")");
  const auto evidence = read({head, row(0, "1.0"), row(1, "2.0"), kEnd});
  EXPECT_TRUE(evidence.closed_loop);
  EXPECT_EQ(evidence.stages[0].kind, StageLoad::Kind::kClosed);
  EXPECT_EQ(evidence.stages[0].concurrency, 16);
}

TEST(ReadObserved, SaysWhyItsTimesAreNotToBeTrusted) {
  EXPECT_THAT(read({kHead, row(0, "1.0")}).unsound, HasSubstr("cut off"));
  const auto late =
      read({kHead, row(0, "1.0"), R"({"ridgeline_observed_end":1,"unsound":["late"]})"});
  EXPECT_EQ(late.unsound, "late");
  EXPECT_THAT(late.doubts, ElementsAre("the measurement is unsound: late"));
  // In a record of two parts the last end counts.
  EXPECT_EQ(
      read({kHead, R"({"ridgeline_observed_end":1,"unsound":["x"]})", row(0, "1"), kEnd}).unsound,
      "");
  EXPECT_THAT(read({kHead, row(0, "1.0", R"(,"cached_tokens":50)"), kEnd}).doubts,
              ElementsAre(HasSubstr("50 % of the prompts' tokens")));
}

TEST(ReadObserved, ARecordWithoutRequestsSaysSo) {
  EXPECT_NE(read({kHead, kEnd}).problem, "");
  EXPECT_NE(read({R"({"ridgeline_observed":1})"}).problem, "");
  EXPECT_NE(read({R"({"ridgeline_observed":1,"server":[],"deployment":7,"workload":"x"})",
                  R"({"id":"x","send_s":null})",
                  R"({"ridgeline_observed_end":[],"unsound":3})"})
                .problem,
            "");
}

TEST(ReadObserved, LeavesOutTheNetworkAndAnEmulatorsLateness) {
  const auto with = [](const std::string& client_before,
                       const std::string& client_after,
                       const std::string& after) {
    const std::string head =
        R"({"ridgeline_observed":1,"target":"t","started":"2026-11-26T19:00:00Z",
        "server":{"models":["m"],"cache_config":{},"metrics_before":{"late_s":1,"late_steps":100}},
        "model":"m","deployment":{},"workload":{},"client":{)" +
        client_before + "}}";
    const std::string tail = R"({"ridgeline_observed_end":1,"unsound":[],"client":{)" +
                             client_after + R"(},"metrics_after":{)" + after + "}}";
    return read({head, row(0, "1.0"), row(1, "2.0"), tail});
  };
  const auto mean = [](const Evidence& evidence, Figure figure) {
    return evidence.measured.at(figure, Level::kMean).value();
  };
  const auto all =
      with(R"("round_trip_ms":3)", R"("round_trip_ms":2)", R"("late_s":1.5,"late_steps":600)");
  EXPECT_NEAR(mean(all, Figure::kTtft), 20 - 2 - 1, 1e-9);
  EXPECT_NEAR(mean(all, Figure::kE2e), 125 - 2 - 1, 1e-9);
  EXPECT_NEAR(mean(all, Figure::kTpot), 10, 1e-9);
  EXPECT_THAT(all.assumed,
              ElementsAre("the model's part of TTFT and E2E is what was measured less 2.000 ms of "
                          "network and 1.000 ms of the emulator's lateness"));
  const auto here =
      with(R"("round_trip_ms":2,"loopback":true)", "", R"("late_s":1.5,"late_steps":600)");
  EXPECT_NEAR(mean(here, Figure::kTtft), 20 - 1 - 1, 1e-9);
  EXPECT_NEAR(mean(with(R"("round_trip_ms":3,"loopback":true)", "", ""), Figure::kTtft), 17, 1e-9);
  EXPECT_NEAR(
      mean(with(R"("round_trip_ms":-3)", R"("round_trip_ms":"x")", ""), Figure::kTtft), 20, 1e-9);
  EXPECT_NEAR(mean(with(R"("round_trip_ms":300)", "", ""), Figure::kTtft), 0, 1e-9);
  EXPECT_THAT(with("", "", R"("late_s":0,"late_steps":0)").assumed, IsEmpty());
}

}  // namespace
}  // namespace ridgeline::evidence::validate
