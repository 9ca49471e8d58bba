#include "lab/records/record_workload.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"
#include "lab/records/evidence_words.hpp"
#include "lab/records/experiment_records.hpp"
#include "lab/records/record_identity.hpp"
#include "lab/records/request_log.hpp"
#include "lab/tests/unit/records/record_text.hpp"

namespace ridgeline::records {
namespace {

TEST(RecordWorkload, ClosedLoopsFillWhatIsOpen) {
  const Evidence evidence = read_record(R"({"id": "c", "stage": "point", "model": "m", "gpu": "g",
    "workload": {"loop": "closed", "arrival": "closed loop, max_concurrency=4",
      "input": {"kind": "random length, uniform 0.8x-1x of isl", "nominal_tokens": 1000},
      "output": {"kind": "as input", "nominal_tokens": 10}},
    "measured": {"tpot_ms": {"mean": 9.5}}, "measured_side": "server: spans"})");
  ASSERT_EQ(evidence.problem, "");
  EXPECT_TRUE(evidence.closed_loop);
  EXPECT_TRUE(evidence.server_clock);
  ASSERT_EQ(evidence.stages.size(), 1U);
  EXPECT_EQ(evidence.stages[0].concurrency, 4);
  EXPECT_EQ(evidence.stages[0].requests, 40);  // ten a client
  EXPECT_DOUBLE_EQ(evidence.input.lowest, 800.0);
  EXPECT_DOUBLE_EQ(evidence.output.lowest, 8.0);
  EXPECT_DOUBLE_EQ(evidence.output.highest, 10.0);
}

TEST(RecordWorkload, ClientsOfOneLengthFallOutOfStep) {
  const auto answers = [](const std::string& clients) {
    return read_record(R"({"id": "f", "model": "m", "gpu": "g", "workload": {"loop": "closed",
      "concurrency": )" +
                       clients + R"(, "input": {"kind": "fixed", "nominal_tokens": 8},
      "output": {"kind": "fixed", "nominal_tokens": 100}}, "measured": {"tpot_ms": {"mean": 5}}})");
  };
  const Evidence several = answers("2");
  EXPECT_EQ(several.output.law, TokenCounts::Law::kUniform);
  EXPECT_DOUBLE_EQ(several.output.lowest, 98.0);
  EXPECT_DOUBLE_EQ(several.output.highest, 102.0);
  EXPECT_THAT(several.assumed, testing::Contains(testing::HasSubstr("out of step")));
  // One client alone has no other to keep step with.
  const Evidence one = answers("1");
  EXPECT_EQ(one.output.law, TokenCounts::Law::kFixed);
  EXPECT_THAT(one.assumed, testing::Not(testing::Contains(testing::HasSubstr("out of step"))));
}

TEST(RecordWorkload, MlperfSystemsHaveTheirDataSetsLengths) {
  const std::string head = R"({"id": "m", "model": "m", "gpu": "g", "num_gpus": 8, "tp": null,
      "measured": {"output_tokens_per_s": 9000}, "workload": {"name": "llama3.1-8b/Server",
      "generator": "MLPerf LoadGen", "input": {"kind": "own lengths"},
      "output": {"observed_mean": 128.0}, "dataset_samples": 1000, "min_duration_s": 600.0, )";
  const Evidence server = read_record(head + R"("loop": "open", "rate_rps": 40.0}})");
  ASSERT_EQ(server.problem, "");
  EXPECT_EQ(server.input.mean, 778.0);
  EXPECT_EQ(server.output.mean, 128.0);
  EXPECT_EQ(server.stages.front().duration_s, 200.0);
  EXPECT_EQ(server.stages.front().requests, 8000);
  const Evidence offline = read_record(head + R"("loop": "offline"}})");
  ASSERT_EQ(offline.problem, "");
  EXPECT_EQ(offline.stages.front().kind, StageLoad::Kind::kAtOnce);
  EXPECT_EQ(offline.stages.front().requests, 8000);
}

TEST(RecordWorkload, ASteadyStateHasEnoughRequests) {
  const Evidence evidence = read_record(R"({"id": "s", "model": "m", "gpu": "g",
      "measured_side": "client, steady state only",
      "workload": {"loop": "closed", "concurrency": 6, "num_requests": 7,
                   "input": {"tokens": 8}, "output": {"tokens": 8}},
      "measured": {"output_tokens_per_s": 100}})");
  ASSERT_EQ(evidence.problem, "");
  EXPECT_TRUE(evidence.steady_state);
  EXPECT_EQ(evidence.stages.front().requests, 60);
  EXPECT_THAT(evidence.assumed, testing::Contains(testing::HasSubstr("steady state")));
}

TEST(RecordWorkload, AStaticBatchComesAtOnceToTheOldestEngine) {
  const Evidence evidence = read_record(R"json({"id": "b", "model": "m", "gpu": "g",
      "engine": "vllm (2023, eager)", "engine_version": "0.1 to 0.2, from memory",
      "workload": {"loop": "static batch", "concurrency": 3,
                   "input": {"tokens": 8}, "output": {"tokens": 8}},
      "measured": {"power": {"mean_share_of_tdp": 0.5, "tdp_w": 400}}})json");
  ASSERT_EQ(evidence.problem, "");
  EXPECT_EQ(evidence.stages.front().kind, StageLoad::Kind::kAtOnce);
  EXPECT_EQ(evidence.stages.front().requests, 3);
  EXPECT_EQ(evidence.engine_version, "vllm@0.8");
  EXPECT_THAT(evidence.assumed, testing::Contains(testing::HasSubstr("vllm@0.1 as vllm@0.8")));
}

}  // namespace
}  // namespace ridgeline::records
