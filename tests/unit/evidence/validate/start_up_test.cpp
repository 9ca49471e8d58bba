#include "evidence/validate/start_up.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/measured_run.hpp"
#include "evidence/validate/prediction.hpp"

namespace ridgeline::evidence::validate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

double mean_of(const Figures& figures, Figure figure) {
  return figures.at(figure, Level::kMean).value_or(-1.0);
}

Evidence start_of(const char* model, const char* measured) {
  Evidence evidence;
  evidence.id = "one";
  evidence.model = model;
  evidence.gpu = "h200";
  evidence.engine_version = "vllm@0.20";
  evidence.is_start = true;
  std::vector<std::string> others;
  evidence.measured = read_start(*document::parse_json(measured, "test"), others);
  return evidence;
}

TEST(StartUp, ReadsWhatIsPredictedAndNamesTheRest) {
  std::vector<std::string> others;
  const auto node = document::parse_json(
      R"({"load_weights_s": 80, "log_start_to_ready_s": 200, "kv_cache_tokens": 1000,
          "download_s": 815, "ttft": 3, "graph_gib": 0})",
      "test");
  const Figures figures = read_start(*node, others);
  EXPECT_EQ(mean_of(figures, Figure::kLoadWeights), 80.0);
  EXPECT_EQ(mean_of(figures, Figure::kReady), 200.0);
  EXPECT_EQ(mean_of(figures, Figure::kReadyButWeights), 120.0);
  EXPECT_EQ(mean_of(figures, Figure::kKvTokens), 1000.0);
  EXPECT_FALSE(figures.at(Figure::kTtft, Level::kMean).has_value()) << "no part of a start";
  EXPECT_FALSE(figures.at(Figure::kGraphMemory, Level::kMean).has_value());
  EXPECT_THAT(others,
              ElementsAre("download_s", "ttft", "graph_gib is 0, expected a number above 0"));
}

TEST(StartUp, NothingOfAStartIsNothing) {
  std::vector<std::string> others;
  EXPECT_TRUE(read_start(*document::parse_json(R"({"power": 3})", "test"), others).empty());
  EXPECT_THAT(others, testing::IsEmpty());
  EXPECT_TRUE(read_start(*document::parse_json("[1]", "test"), others).empty());
}

TEST(StartUp, PartsAddUp) {
  Evidence evidence = start_of("llama-3.1-8b", R"({"load_weights_s": 8})");
  const auto result = predict_start(evidence, {});
  ASSERT_TRUE(result.prediction.has_value()) << result.problem;
  const Figures& figures = result.prediction->figures;
  // 8.03 G parameters of two bytes at 2 GB/s.
  EXPECT_NEAR(mean_of(figures, Figure::kLoadWeights), 8.03, 0.02);
  EXPECT_GT(mean_of(figures, Figure::kModelLoad), mean_of(figures, Figure::kLoadWeights));
  EXPECT_GT(mean_of(figures, Figure::kInitEngine),
            mean_of(figures, Figure::kProfileRun) + mean_of(figures, Figure::kTorchCompile) +
                mean_of(figures, Figure::kGraphCapture));
  EXPECT_NEAR(mean_of(figures, Figure::kReady) - mean_of(figures, Figure::kLoadWeights),
              mean_of(figures, Figure::kReadyButWeights),
              1e-9);
  EXPECT_NEAR(mean_of(figures, Figure::kModelMemory), 2 * 8.03e9 / (1 << 30), 0.1);
  EXPECT_THAT(evidence.assumed, testing::Contains(HasSubstr("weights come at 2 GB/s")));
}

TEST(StartUp, SlowHostsAndWhatIfsCount) {
  Evidence evidence = start_of("llama-3.1-8b", R"({"torch_compile_s": 14})");
  const auto common = predict_start(evidence, {});
  const auto slow = predict_start(evidence, {{.path = "serving.host_class", .text = "8"}});
  const auto eager = predict_start(evidence, {{.path = "engine.enforce_eager", .text = "true"}});
  ASSERT_TRUE(common.prediction && slow.prediction && eager.prediction);
  EXPECT_GT(mean_of(slow.prediction->figures, Figure::kTorchCompile),
            mean_of(common.prediction->figures, Figure::kTorchCompile));
  EXPECT_EQ(mean_of(slow.prediction->figures, Figure::kLoadWeights),
            mean_of(common.prediction->figures, Figure::kLoadWeights));
  EXPECT_EQ(mean_of(eager.prediction->figures, Figure::kTorchCompile), 0.0);
}

/// Where windows give blocks up, a request of max_model_len holds less than all its tokens: the
/// log's number is of it.
TEST(StartUp, TokensOfMixedCachesNeedTheLongestRequest) {
  Evidence unknown = start_of("gpt-oss-120b", R"({"kv_cache_tokens": 880000})");
  EXPECT_TRUE(predict_start(unknown, {}).prediction->figures.at(Figure::kKvTokens, Level::kMean));
  unknown.engine_version = "vllm@0.21";  // From then on the log's number is of max_model_len.
  const auto without = predict_start(unknown, {});
  ASSERT_TRUE(without.prediction.has_value()) << without.problem;
  EXPECT_FALSE(without.prediction->figures.at(Figure::kKvTokens, Level::kMean).has_value());
  EXPECT_THAT(unknown.assumed, testing::Contains(HasSubstr("max_model_len, which is not stated")));
  Evidence known = unknown;
  known.server.max_model_len = 8192;
  const auto with = predict_start(known, {});
  ASSERT_TRUE(with.prediction.has_value()) << with.problem;
  EXPECT_GT(mean_of(with.prediction->figures, Figure::kKvTokens), 0.0);
  Evidence uniform = start_of("llama-3.1-8b", R"({"kv_cache_tokens": 880000})");
  EXPECT_TRUE(predict_start(uniform, {}).prediction->figures.at(Figure::kKvTokens, Level::kMean));
}

TEST(StartUp, IsInNoRunAndPredictedAllTheSame) {
  std::vector<Evidence> evidence = {start_of("llama-3.1-8b", R"({"torch_compile_s": 14})"),
                                    start_of("no-such-network", R"({"torch_compile_s": 14})")};
  const auto runs = group_runs(evidence);
  EXPECT_TRUE(runs.empty());
  const auto results = predict(evidence, runs, {});
  EXPECT_TRUE(results[0].prediction.has_value());
  EXPECT_FALSE(results[1].prediction.has_value());
  EXPECT_THAT(results[1].problem, HasSubstr("no-such-network"));
}

}  // namespace
}  // namespace ridgeline::evidence::validate
