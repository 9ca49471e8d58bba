#include "lab/records/experiment_records.hpp"

#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"
#include "lab/records/evidence_words.hpp"
#include "lab/records/record_identity.hpp"
#include "lab/records/request_log.hpp"
#include "lab/tests/unit/records/record_text.hpp"

namespace ridgeline::records {
namespace {

/// An open loop of two stages.
const std::string kOpenRecord = R"({
  "id": "a:summary", "family": "own", "exp_name": "a", "stage": "summary",
  "model": "meta-llama/Llama-2-7b-hf", "gpu": "H100", "tp": 2, "precision": "BF16",
  "engine": "vllm", "engine_version": "0.11.0 V1",
                  "measured_side" : "client, some tool",
                  "server" : {"max_num_seqs" : 8, "total_kv_blocks" : 500, "cudagraph" : false},
                  "workload" : {
                    "name" : "chat",
                    "loop" : "open",
                    "arrival" : "Poisson",
                    "stages" : [
                      {"rate_rps" : 2, "duration_s" : 10, "num_requests" : 20},
                      {"rate_rps" : 4, "duration_s" : 10}
                    ],
                    "input" : {
                      "kind" : "fixed-per-prompt",
                      "nominal_tokens" : 100,
                      "system_prompt_len" : 30,
                      "question_len" : 70
                    },
                    "output" : {"kind" : "fixed", "tokens" : 12},
                    "prefix" : {"distinct_prompts" : 10, "prompts_per_group" : 5}
                  },
                  "measured" : {
                    "e2e_ms" : {"mean" : 100, "p99" : 200},
                    "ttft_ms" : {"mean" : null},
                    "requests_per_s" : 3.0,
                    "output_tokens_per_s" : 36
                  },
                  "predictions" : {"other" : {"e2e_ms" : {"mean" : 150}}, "silent" : {}},
                  "flags" : ["f"]
})";

TEST(ExperimentRecords, ReadsServerWorkloadAndNumbers) {
  const Evidence evidence = read_record(kOpenRecord);
  ASSERT_EQ(evidence.problem, "");
  EXPECT_EQ(evidence.run, "a");
  EXPECT_EQ(evidence.tensor_parallel, 2);
  EXPECT_EQ(evidence.engine_version, "vllm@0.11.0");
  EXPECT_EQ(evidence.weight_quantisation, "bf16");
  EXPECT_EQ(evidence.server.num_gpu_blocks, 500);
  EXPECT_EQ(evidence.server.enforce_eager, true);
  EXPECT_FALSE(evidence.server_clock);
  ASSERT_EQ(evidence.stages.size(), 2U);
  EXPECT_EQ(evidence.stages[0].kind, StageLoad::Kind::kRandom);
  EXPECT_EQ(evidence.stages[1].name, "1");
  EXPECT_EQ(evidence.stages[1].requests, 40);  // 4 a second for 10 seconds
  // 60 requests in 20 seconds.
  EXPECT_DOUBLE_EQ(evidence.offered_per_s.value(), 3.0);
  EXPECT_EQ(evidence.measured.at(Figure::kE2e, Level::kP99), 200.0);
  EXPECT_FALSE(evidence.measured.at(Figure::kTtft, Level::kMean).has_value());
  EXPECT_EQ(evidence.measured.at(Figure::kOutputThroughput, Level::kMean), 36.0);
  ASSERT_EQ(evidence.peers.size(), 1U);
  EXPECT_EQ(evidence.peers[0].figures.at(Figure::kE2e, Level::kMean), 150.0);
  // Random text of 100 tokens is 104 when tokenised again, 2 % either way.
  EXPECT_EQ(evidence.input.law, TokenCounts::Law::kUniform);
  EXPECT_DOUBLE_EQ(evidence.input.mean, 104.0);
  EXPECT_DOUBLE_EQ(evidence.input.lowest, 104.0 * 0.98);
  EXPECT_DOUBLE_EQ(evidence.sharing.system_share, 0.3);
  EXPECT_EQ(evidence.assumed.size(), 1U);
  EXPECT_EQ(evidence.strategy, "poisson");
}

/// Without "ep" a note of the authors says that networks with experts are cut by whole experts.
TEST(ExperimentRecords, ExpertParallelismByNumberOrNote) {
  const auto ranks = [](const std::string& more) {
    return read_record(R"({"id": "e", "model": "m", "gpu": "g", "tp": 2, "dp": 3, )" + more + "}")
        .expert_parallel;
  };
  EXPECT_EQ(ranks(R"("ep": 4)"), 4);
  EXPECT_EQ(ranks(R"("ep": null, "ep_note": "authors: EP=TP*DP auto-enabled, says the README")"),
            6);
  EXPECT_EQ(ranks(R"("ep": 1, "ep_note": "EP=TP*DP auto-enabled")"), 1);
  EXPECT_EQ(ranks(R"("ep_note": "unknown")"), 1);
}

/// A record is of the whole system; what one rank or instance gets of it is decided where it is
/// deployed.
TEST(ExperimentRecords, ARecordKeepsTheWholeSystemsLoad) {
  const Evidence evidence = read_record(R"({"id": "d", "model": "m", "gpu": "g", "dp": 4,
      "workload": {"loop": "closed", "concurrency": 30, "num_requests": 100,
                   "input": {"kind": "fixed", "nominal_tokens": 8},
                   "output": {"kind": "fixed", "nominal_tokens": 8}},
      "measured": {"tpot_ms": {"mean": 5.0}, "output_tokens_per_s": 1000}})");
  ASSERT_EQ(evidence.problem, "");
  EXPECT_EQ(evidence.data_parallel, 4);
  EXPECT_EQ(evidence.stages.front().concurrency, 30);
  EXPECT_EQ(evidence.stages.front().requests, 100);
  EXPECT_EQ(evidence.measured.at(Figure::kOutputThroughput, Level::kMean), 1000.0);
}

/// MLPerf's logs: no lengths, no number of requests, the data set known by the benchmark's name.
/// Batches measured phase by phase.
TEST(ExperimentRecords, PhasesOfABatchAreTimes) {
  const Evidence evidence = read_record(R"({"id": "b", "model": "m", "gpu": "g",
      "workload": {"loop": "static batch", "concurrency": 2,
                   "input": {"tokens": 8}, "output": {"tokens": 8}},
      "measured": {"prompt_ms": {"mean": 60.0}, "token_ms": {"mean": 40.0}}})");
  ASSERT_EQ(evidence.problem, "");
  EXPECT_EQ(evidence.measured.at(Figure::kTtft, Level::kMean), 60.0);
  EXPECT_EQ(evidence.measured.at(Figure::kTpot, Level::kMean), 40.0);
}

/// Power alone is enough to be compared.
TEST(ExperimentRecords, APowerIsAFigure) {
  const Evidence evidence = read_record(R"({"id": "p", "model": "m", "gpu": "g", "num_gpus": 4,
      "tp": 4, "workload": {"loop": "closed", "concurrency": 2, "num_requests": 4,
                   "input": {"tokens": 8}, "output": {"tokens": 8}},
      "measured": {"power": {"mean_w_total": 1600}}})");
  ASSERT_EQ(evidence.problem, "");
  EXPECT_EQ(evidence.measured.at(Figure::kPower, Level::kMean), 400.0);
  EXPECT_FALSE(evidence.steady_state);
}

Evidence measuring(const std::string& measured, const std::string& concurrency = "2") {
  return read_record(R"({"id": "z", "model": "m", "gpu": "g", "workload": {"loop": "closed",
      "concurrency": )" +
                     concurrency +
                     R"(, "input": {"tokens": 8}, "output": {"tokens": 8}}, "measured": )" +
                     measured + "}");
}

TEST(ExperimentRecords, WhatIsMeasuredIsAboveZeroOrNamed) {
  const Evidence evidence = measuring(R"({"ttft_ms": {"mean": 5, "p50": 0, "p99": null},
      "tpot_ms": {"mean": -3}, "itl_ms": 7, "e2e_ms": {"mean": "long"}, "kv_transfer_ms": 0,
      "output_tokens_per_s": "many", "requests_per_s": 0,
      "power": {"mean_w_per_gpu": -1, "joules_per_output_token": 0}})");
  EXPECT_EQ(evidence.problem, "");
  EXPECT_EQ(evidence.measured.at(Figure::kTtft, Level::kMean), 5.0);
  Figures only;
  only.at(Figure::kTtft, Level::kMean) = 5.0;
  EXPECT_EQ(evidence.measured, only);
  EXPECT_EQ(evidence.completed_per_s, std::nullopt);
  EXPECT_THAT(
      evidence.doubts,
      testing::UnorderedElementsAre(
          "z: measured.ttft_ms.p50 is 0, expected a number above 0: left out",
          "z: measured.tpot_ms.mean is -3, expected a number above 0: left out",
          "z: measured.itl_ms is 7, expected a map: left out",
          "z: measured.e2e_ms.mean is \"long\", expected a number above 0: left out",
          "z: measured.kv_transfer_ms is 0, expected a number above 0: left out",
          "z: measured.output_tokens_per_s is \"many\", expected a number above 0: left out",
          "z: measured.requests_per_s is 0, expected a number above 0: left out",
          "z: measured.power.mean_w_per_gpu is -1, expected a number above 0: left out",
          "z: measured.power.joules_per_output_token is 0, expected a number above 0: left out"));
  // A record with nothing else says nothing.
  EXPECT_EQ(measuring(R"({"tpot_ms": {"mean": 0}})").problem,
            "measured.tpot_ms.mean is 0, expected a number above 0");
}

TEST(ExperimentRecords, AConcurrencyThatIsNoneIsNamedAsItWasFound) {
  const auto problem = [](const char* concurrency) {
    return measuring(R"({"tpot_ms": {"mean": 5}})", concurrency).problem;
  };
  EXPECT_EQ(problem("3"), "");
  EXPECT_EQ(problem("0"), "workload.concurrency is 0, expected a whole number from 1 to 200000");
  EXPECT_EQ(problem("-4"), "workload.concurrency is -4, expected a whole number from 1 to 200000");
  EXPECT_EQ(problem("\"4\""),
            "workload.concurrency is \"4\", expected a whole number from 1 to 200000");
  EXPECT_THAT(problem("null"), testing::HasSubstr("workload.concurrency is missing"));
}

/// A refusal is no mistake of the record: it was read.
TEST(ExperimentRecords, AFleetOfUnknownGpusIsRefused) {
  const Evidence evidence = read_record(R"({"id": "f", "model": "m", "gpu": null,
      "cluster": {"instances": 3, "policy": "random"},
      "workload": {}, "measured": {"ttft_ms": {"mean": 5}}})");
  EXPECT_EQ(evidence.problem, "");
  EXPECT_EQ(evidence.refusal, "gpu is missing");
  EXPECT_EQ(evidence.measured.at(Figure::kTtft, Level::kMean), 5.0);
}

TEST(ExperimentRecords, AServerThatIsNoObjectIsAsIfAbsent) {
  const Evidence evidence = read_record(R"({"id": "s", "model": "m", "gpu": "g", "server": 4096,
      "workload": {"loop": "closed", "concurrency": 2, "input": {"tokens": 8}, "output": {"tokens": 8}},
      "measured": {"ttft_ms": {"mean": 5}}})");
  EXPECT_EQ(evidence.problem, "");
  EXPECT_TRUE(evidence.server.settings.empty());
}

TEST(ExperimentRecords, SaysWhatItCannotUse) {
  const auto problem = [](const std::string& text) { return read_record(text).problem; };
  EXPECT_THAT(problem("{}"), testing::HasSubstr("id is missing"));
  EXPECT_THAT(problem("[1, 2]"), testing::HasSubstr("id is missing"));
  EXPECT_THAT(problem(R"({"id": "x"})"), testing::HasSubstr("model and gpu are missing"));
  EXPECT_EQ(problem(R"({"id": "x", "gpu": "g"})"), "model is missing");
  EXPECT_THAT(problem(R"({"id": "x", "model": "m", "gpu": "g"})"),
              testing::HasSubstr("measured is missing"));
  const std::string head = R"({"id": "x", "model": "m", "gpu": "g", "measured": )";
  EXPECT_THAT(problem(head + R"({}, "workload": {}})"), testing::HasSubstr("no latency"));
  EXPECT_THAT(problem(head + R"({"load_s": 3}, "workload": {}})"),
              testing::HasSubstr("power, but load_s"));
  EXPECT_THAT(problem(head + R"({"e2e_ms": {"mean": 1}}, "workload": 7})"),
              testing::HasSubstr("no length"));
  EXPECT_THAT(problem(head + R"({"e2e_ms": {"mean": 1}}, "workload": {"loop": "closed",
      "input": {"tokens": 5}, "output": {"tokens": 5}}})"),
              testing::HasSubstr("concurrency is missing"));
  EXPECT_THAT(problem(head + R"({"e2e_ms": {"mean": 1}}, "workload": {"loop": "open",
      "input": {"tokens": 5}, "output": {"tokens": 5}}})"),
              testing::HasSubstr("rate, duration"));
  EXPECT_THAT(problem(head + R"({"e2e_ms": {"mean": 1}}, "workload": {"loop": "open",
      "rate_rps": 1e9, "duration_s": 1e6, "input": {"tokens": 5}, "output": {"tokens": 5}}})"),
              testing::HasSubstr("expected 0 to 200000"));
  EXPECT_THAT(problem(head + R"({"e2e_ms": {"mean": 1}},
      "workload": {"replay_file": "missing.csv"}})"),
              testing::HasSubstr("no such file"));
}

TEST(ExperimentRecords, VersionsComeFromTheTextElseTheDate) {
  EXPECT_EQ(version_option("vllm", "0.15.1 (per authors)", ""), "vllm@0.15.1");
  EXPECT_EQ(version_option("vllm", "a fork, ~0.15 (Mar 2026)", ""), "");
  EXPECT_EQ(version_option("vllm", "", "2025-10-29"), "vllm@0.11");  // 0.11.0 came out on 2 October
  EXPECT_EQ(version_option("vllm", "", "2025-10-29T00:00:00Z"), "vllm@0.11");
  EXPECT_EQ(version_option("vllm", "0.11.0", "2026-10-29"), "vllm@0.11.0");
  EXPECT_EQ(version_option("vllm", "", "2020-01-01"), "");
  EXPECT_EQ(version_option("vllm", "7", ""), "");
  EXPECT_EQ(version_option("", "0.11.0", ""), "vllm@0.11.0");
  EXPECT_EQ(version_option("SGLang", "0.5.9", ""), "sglang@0.5.9");
  EXPECT_EQ(version_option("sglang", "nightly-dev-20260216", "2026-02-16"), "sglang");
  EXPECT_EQ(version_option("trtllm", "1.2.0rc6.post2", ""), "trtllm@1.2.0");
}

}  // namespace
}  // namespace ridgeline::records
