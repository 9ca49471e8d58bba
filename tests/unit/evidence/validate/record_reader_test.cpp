#include "evidence/validate/record_reader.hpp"

#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"
#include "evidence/validate/evidence.hpp"

namespace ridgeline::evidence::validate {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

Evidence read(std::string_view json) {
  return read_measured_record(document::parse_json(json, "measured.jsonl").value());
}

TEST(MeasuredRecord, HasADeploymentALoadAndFigures) {
  const Evidence evidence = read(R"({"id": "a",
      "deployment": {"model": "llama-3.1-8b", "gpu": "h100", "engine": {
          "version": "vllm@0.11", "tensor_parallel_size": 2, "enforce_eager": true}},
      "load": {"request_rate": 8, "num_prompts": 80, "input_len": 512, "output_len": 256},
      "figures": {"ttft_ms": {"mean": 31.5, "p99": 80}, "output_tokens_per_s": 2000}})");
  EXPECT_EQ(evidence.problem, "");
  EXPECT_EQ(evidence.model, "llama-3.1-8b");
  EXPECT_EQ(evidence.gpu, "h100");
  EXPECT_EQ(evidence.engine_version, "vllm@0.11");
  EXPECT_EQ(evidence.tensor_parallel, 2);
  EXPECT_THAT(
      evidence.stated,
      ElementsAre(Pair("engine.tensor_parallel_size", "2"), Pair("engine.enforce_eager", "true")));
  ASSERT_EQ(evidence.stages.size(), 1U);
  EXPECT_EQ(evidence.stages[0].kind, StageLoad::Kind::kRandom);
  EXPECT_EQ(evidence.stages[0].requests, 80);
  EXPECT_DOUBLE_EQ(evidence.stages[0].duration_s, 10.0);
  EXPECT_DOUBLE_EQ(*evidence.measured.at(Figure::kTtft, Level::kP99), 80.0);
}

TEST(MeasuredRecord, ClientsThatWaitAreAClosedLoop) {
  const Evidence evidence = read(R"({"id": "a", "deployment": {"model": "m", "gpu": "g"},
      "load": {"max_concurrency": 4, "num_prompts": 8, "input_len": 5, "output_len": 6},
      "figures": {"tpot_ms": {"mean": 9}}})");
  EXPECT_EQ(evidence.problem, "");
  EXPECT_TRUE(evidence.closed_loop);
  EXPECT_EQ(evidence.stages[0].concurrency, 4);
}

TEST(MeasuredRecord, SaysWhatItLacks) {
  EXPECT_THAT(read(R"({"deployment": {}})").problem, HasSubstr("id is missing"));
  EXPECT_THAT(read(R"({"id": "a"})").problem, HasSubstr("deployment is missing"));
  EXPECT_THAT(read(R"({"id": "a", "deployment": 3})").problem,
              HasSubstr("deployment: found 3, expected a map"));
  EXPECT_THAT(read(R"({"id": "a", "deployment": {"engine": {"x": []}}, "load": {"num_prompts": 1,
                       "input_len": 1, "output_len": 1}, "figures": {"tpot_ms": {"mean": 9}}})")
                  .problem,
              HasSubstr("deployment.engine.x"));
  EXPECT_EQ(read(R"({"id": "a", "workload": {}, "measured": {}})").problem, kNeedsLaboratory);
}

std::string problem_of(std::string_view load) {
  return read(fmt::format(R"({{"id": "a", "deployment": {{}}, "load": {{{}}}, "figures": {{}}}})",
                          load))
      .problem;
}

TEST(MeasuredRecord, ALoadThatIsNotReadWholeIsRefused) {
  const std::string whole = R"("num_prompts": 1, "input_len": 1, "output_len": 1)";
  EXPECT_THAT(problem_of(whole), HasSubstr("no latency"));
  EXPECT_THAT(problem_of(whole + R"(, "request_rat": 8)"), HasSubstr("load.request_rat: no such"));
  EXPECT_THAT(problem_of(whole + R"(, "request_rate": "8")"),
              HasSubstr("load.request_rate: found"));
  EXPECT_THAT(problem_of(whole + R"(, "request_rate": -8)"), HasSubstr("a number above 0"));
  EXPECT_THAT(problem_of(whole + R"(, "arrivals": "gamma")"), HasSubstr("load.arrivals: found"));
  EXPECT_THAT(problem_of(R"("num_prompts": 1)"), HasSubstr("load.input_len is missing"));
  EXPECT_THAT(problem_of(whole + R"(, "request_rate": 8, "max_concurrency": 2)"),
              HasSubstr("expected one of them"));
}

}  // namespace
}  // namespace ridgeline::evidence::validate
