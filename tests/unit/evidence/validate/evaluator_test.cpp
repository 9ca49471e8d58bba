#include "evidence/validate/evaluator.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/strict_map.hpp"
#include "unit/evidence/validate/result_text.hpp"

namespace ridgeline::evidence::validate {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<Evidence> read(const std::string& server,
                           const std::string& load,
                           const std::string& points) {
  return read_result(R"({"experiments": [{"experiment_name": "chat", "model": "org/net",
      "vllm_config": {)" +
                         server + R"(}, "workload_config": {)" + load +
                         R"(}, "total_kv_blocks": 900, "qps_sweeps": [)" + points + "]}]}",
                     ResultKind::kEvaluator);
}

constexpr const char* kServer =
    R"("tensor_parallelism": 2, "max_model_len": 4096, "max_num_batched_tokens": 2048,
       "max_num_seqs": 64, "app": "chatbot")";
constexpr const char* kLoad =
    R"("rate_type": "sweep", "max_requests": 40, "rate": 5, "data": {"prefix_tokens": 100,
       "prompt_tokens": 200, "prompt_tokens_stdev": 50, "prompt_tokens_min": 20,
       "prompt_tokens_max": 400, "output_tokens": 32})";
constexpr const char* kPoint =
    R"({"qps": 2, "ttft_mean_ms": 20, "ttft_p90_ms": 30, "itl_mean_ms": 9, "e2e_mean_ms": 300,
        "e2e_p90_ms": 400})";

TEST(Evaluator, ReadsAnExperiment) {
  const auto all = read(kServer, kLoad, std::string(kPoint) + R"(, {"qps": 4, "e2e_mean_ms": 5})");
  ASSERT_EQ(all.size(), 2U);
  const Evidence& first = all.front();
  ASSERT_EQ(first.problem, "");
  EXPECT_THAT(first.doubts, IsEmpty());
  EXPECT_EQ(first.model, "org/net");
  EXPECT_EQ(first.workload, "chatbot");
  EXPECT_EQ(first.tensor_parallel, 2);
  EXPECT_EQ(first.server.max_num_seqs, 64);
  EXPECT_EQ(first.server.num_gpu_blocks, 900);
  EXPECT_EQ(first.gpu, "");
  EXPECT_EQ(first.usual_gpu, "H100");
  EXPECT_TRUE(first.server_clock);
  EXPECT_TRUE(first.itl_of_server);
  EXPECT_EQ(first.measured.at(Figure::kE2e, Level::kP90), 400.0);
  EXPECT_EQ(first.measured.at(Figure::kItl, Level::kMean), 9.0);
  EXPECT_EQ(first.stages[0].kind, StageLoad::Kind::kEven);
  EXPECT_DOUBLE_EQ(first.stages[0].duration_s, 20.0);
  EXPECT_EQ(all[1].offered_per_s, 4.0);
}

TEST(Evaluator, PromptsAreThePrefixAndAClampedNormalLaw) {
  const Evidence read_one = read(kServer, kLoad, kPoint).front();
  EXPECT_EQ(read_one.sharing.shared_prefix, 100);
  EXPECT_EQ(read_one.input,
            (TokenCounts{.law = TokenCounts::Law::kNormal,
                         .mean = 300.0,
                         .std = 50.0,
                         .lowest = 120.0,
                         .highest = 500.0}));
  EXPECT_EQ(read_one.output.law, TokenCounts::Law::kFixed);
}

TEST(Evaluator, BoundsWithoutADeviationAreAUniformLaw) {
  const auto node = document::parse_json(
      R"({"prompt_tokens": 10, "prompt_tokens_min": 4, "prompt_tokens_max": 8, "output_tokens": 5,
          "output_tokens_stdev": 2})",
      "d.json");
  StrictMap data(&*node, "data");
  Evidence evidence;
  read_synthetic_data(data, evidence);
  EXPECT_EQ(evidence.problem, "");
  EXPECT_EQ(evidence.input.law, TokenCounts::Law::kUniform);
  EXPECT_EQ(evidence.input.mean, 6.0);
  EXPECT_EQ(evidence.output.lowest, 0.0);
  EXPECT_EQ(evidence.output.highest, 15.0);
}

TEST(Evaluator, ArrivalsByTheKindOfRate) {
  const auto kind = [](const std::string& type) {
    return read(kServer,
                R"("rate_type": ")" + type + R"(", "rate": 8, "max_requests": 4, "data":
                   {"prompt_tokens": 8, "output_tokens": 8})",
                kPoint)
        .front();
  };
  EXPECT_EQ(kind("poisson").stages[0].kind, StageLoad::Kind::kRandom);
  EXPECT_EQ(kind("constant").stages[0].kind, StageLoad::Kind::kEven);
  EXPECT_EQ(kind("concurrent").stages[0].concurrency, 8);
  EXPECT_EQ(kind("synchronous").stages[0].concurrency, 1);
  EXPECT_EQ(kind("throughput").stages[0].kind, StageLoad::Kind::kAtOnce);
  EXPECT_THAT(kind("often").problem, HasSubstr("rate_type: found \"often\", expected sweep"));
}

TEST(Evaluator, UnknownKeysAreNamed) {
  const Evidence one = read(std::string(kServer) + R"(, "seeds": 3, "block_size": 32)",
                            R"("rate_type": "constant", "max_requests": 4, "speed": 1, "data":
                               {"prompt_tokens": 8, "output_tokens": 8, "turns": 2})",
                            R"({"qps": 1, "e2e_mean_ms": 5, "ttft_p95_ms": 6})")
                           .front();
  EXPECT_EQ(one.problem, "");
  for (const char* key :
       {"vllm_config.seeds", "workload_config.speed", "data.turns", "ttft_p95_ms"}) {
    EXPECT_THAT(one.doubts, Contains(HasSubstr(std::string(key) + " is not read")));
  }
  EXPECT_THAT(one.stated, Contains(std::pair<std::string, std::string>("engine.block_size", "32")));
}

TEST(Evaluator, WhatIsMissingIsSaid) {
  EXPECT_THAT(read("", kLoad, kPoint).front().assumed,
              Contains(HasSubstr("tensor parallelism 1: the file states no tensor_parallelism")));
  EXPECT_THAT(read(kServer, R"("rate_type": "sweep")", kPoint).front().problem,
              HasSubstr("workload_config.data.prompt_tokens: found nothing"));
  EXPECT_THAT(read(kServer, kLoad, R"({"e2e_mean_ms": 5})").front().problem,
              HasSubstr("qps_sweeps[0].qps: found nothing, expected a number above 0"));
  EXPECT_THAT(read(kServer, kLoad, "").front().problem, HasSubstr("qps_sweeps: found"));
  EXPECT_THAT(read(R"("tensor_parallelism": "two")", kLoad, kPoint).front().problem,
              HasSubstr("vllm_config.tensor_parallelism: found \"two\", expected a whole number"));
  // An invented name for it is no tensor parallelism.
  const Evidence other = read(R"("tensor_parallel": 4)", kLoad, kPoint).front();
  EXPECT_EQ(other.tensor_parallel, 1);
  EXPECT_THAT(other.doubts, Contains(HasSubstr("vllm_config.tensor_parallel is not read")));
}

}  // namespace
}  // namespace ridgeline::evidence::validate
