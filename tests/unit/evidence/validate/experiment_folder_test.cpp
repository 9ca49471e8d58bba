#include "evidence/validate/experiment_folder.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "evidence/validate/evidence.hpp"

namespace ridgeline::evidence::validate {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr const char* kReport =
    R"({"args": {"data": ["{'prompt_tokens': 200, 'output_tokens': 8}"]},
  "benchmarks": [{"config": {"strategy": {"type_": "constant", "rate": 2.0}},
    "start_time": 10.0, "end_time": 20.0,
    "metrics": {"request_totals": {"successful": 2},
      "requests_per_second": {"successful": {"mean": 2.0}},
      "prompt_token_count": {"successful": {"mean": 300.0}},
      "output_token_count": {"successful": {"mean": 8.0}},
      "request_latency": {"successful": {"mean": 0.5}}},
    "requests": {"successful": [
      {"response_id": "cmpl-a", "request_start_time": 10.0, "prompt_tokens": 290, "output_tokens": 7},
      {"response_id": "cmpl-b", "request_start_time": 10.5, "prompt_tokens": 310,
       "output_tokens": 9}]}}]})";

class ExperimentFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ / "runs" / "one");
    write("exp-config.yaml",
          "model: org/net\ntensor_parallelism: 2\nmax_num_seqs: 16\napp: chat\n");
    write("guidellm-results.json", kReport);
  }
  void write(const char* file, const std::string& text) const {
    std::ofstream(folder_ / "runs" / "one" / file) << text;
  }
  static std::string span(const std::string& id) {
    return R"({"resourceSpans":[{"scopeSpans":[{"spans":[{"startTimeUnixNano":"11000000000",
      "attributes":[{"key":"gen_ai.request.id","value":{"stringValue":")" +
           id + R"("}},{"key":"gen_ai.latency.e2e","value":{"doubleValue":0.4}}]}]}]}]})";
  }
  [[nodiscard]] Evidence only() const {
    const auto all = read_experiments(folder_.string());
    EXPECT_TRUE(all.has_value());
    return all->front();
  }

  std::filesystem::path folder_;
};

TEST_F(ExperimentFolder, JoinsTheFilesOfAnExperiment) {
  write(
      "profile.yaml",
      "data:\n  prefix_tokens: 100\n  prompt_tokens: 200\n  output_tokens: 8\nrate-type: sweep\n");
  write("vllm.log",
        "INFO vLLM API server version 0.11.0\nINFO num_gpu_blocks is: 500\n"
        "INFO non-default args: {'max_num_seqs': 24, 'block_size': 32}\n");
  write("traces.json", span("cmpl-a-0"));
  const Evidence run = only();
  ASSERT_EQ(run.problem, "");
  EXPECT_EQ(run.family, "evaluator");
  EXPECT_EQ(run.id, "one: benchmark 0 constant 2/s");
  EXPECT_EQ(run.model, "org/net");
  EXPECT_EQ(run.tensor_parallel, 2);
  EXPECT_EQ(run.engine_version, "vllm@0.11.0");
  EXPECT_EQ(run.server.num_gpu_blocks, 500);
  EXPECT_EQ(run.sharing.shared_prefix, 100);
  EXPECT_EQ(run.stages.front().rows.size(), 2U);
  EXPECT_EQ(run.measured.at(Figure::kServerE2e, Level::kMean), 400.0);
  EXPECT_EQ(run.measured.at(Figure::kE2e, Level::kMean), 500.0);
  EXPECT_THAT(run.sources, Contains("traces.json: the server's times of 1 requests"));
  EXPECT_THAT(run.doubts, Contains(HasSubstr("traces.json holds 1 of its 2 requests")));
  EXPECT_THAT(run.doubts,
              Contains(HasSubstr("started with max_num_seqs 24, exp-config.yaml has 16")));
  EXPECT_THAT(run.stated, Contains(std::pair<std::string, std::string>("engine.block_size", "32")));
}

TEST_F(ExperimentFolder, SpansOfOtherIdsCountByTheirTime) {
  write("traces.json", span("other-0"));
  EXPECT_EQ(only().measured.at(Figure::kServerE2e, Level::kMean), 400.0);
}

TEST_F(ExperimentFolder, SaysWhichFilesAreMissing) {
  const Evidence run = only();
  EXPECT_THAT(run.assumed, Contains(HasSubstr("no vllm.log of a start")));
  EXPECT_THAT(run.assumed, Contains(HasSubstr("no traces.json")));
  EXPECT_THAT(run.assumed, Contains(HasSubstr("no profile.yaml")));
  std::filesystem::remove(folder_ / "runs" / "one" / "exp-config.yaml");
  EXPECT_THAT(read_experiments(folder_.string()).error().front().message,
              HasSubstr("is missing, expected the experiment's model"));
  std::filesystem::remove(folder_ / "runs" / "one" / "guidellm-results.json");
  EXPECT_THAT(read_experiments(folder_.string()).error().front().message,
              HasSubstr("holds no guidellm-results.json"));
}

TEST_F(ExperimentFolder, RefusesAServerThatCannotBeRead) {
  write("exp-config.yaml", "model: org/net\ntensor_parallelism: two\n");
  EXPECT_THAT(read_experiments(folder_.string()).error().front().message,
              HasSubstr("exp-config.yaml.tensor_parallelism: found \"two\""));
}

}  // namespace
}  // namespace ridgeline::evidence::validate
