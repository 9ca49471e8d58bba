// Every published file beside the checkout: read, and equal to the catalogue where that has it.
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/model_spec.hpp"
#include "support/paths.hpp"

namespace ridgeline::model {
namespace {

std::filesystem::path published_folder() {
  return test::shared_dir() / "models";
}

/// "org--name_config.json" of the published files, and the name in the catalogue.
const std::vector<std::pair<std::string, std::string>>& published_pairs() {
  static const std::vector<std::pair<std::string, std::string>> kPairs = {
      {"deepseek-ai--DeepSeek-V3", "deepseek-v3"},
      {"deepseek-ai--DeepSeek-V3.2", "deepseek-v3.2"},
      {"deepseek-ai--DeepSeek-V4-Flash", "deepseek-v4-flash"},
      {"deepseek-ai--DeepSeek-V4-Pro", "deepseek-v4-pro"},
      {"nvidia--DeepSeek-V3.1-NVFP4", "deepseek-v3.1-nvfp4"},
      {"moonshotai--Kimi-K2-Instruct", "kimi-k2"},
      {"moonshotai--Kimi-K2.5", "kimi-k2.5"},
      {"zai-org--GLM-5", "glm-5"},
      {"zai-org--GLM-5.2-FP8", "glm-5.2-fp8"},
      {"MiniMaxAI--MiniMax-M2.5", "minimax-m2.5"},
      {"nvidia--MiniMax-M2.5-NVFP4", "minimax-m2.5-nvfp4"},
      {"MiniMaxAI--MiniMax-M3", "minimax-m3"},
      {"Qwen--Qwen3.5-27B", "qwen3.5-27b"},
      {"Qwen--Qwen3.5-397B-A17B", "qwen3.5-397b-a17b"},
      {"Qwen--Qwen3-VL-30B-A3B-Instruct", "qwen3-vl-30b-a3b"},
      {"nvidia--Qwen3-235B-A22B-NVFP4", "qwen3-235b-a22b-nvfp4"},
      {"XiaomiMiMo--MiMo-V2-Flash", "mimo-v2-flash"},
      {"google--gemma-4-26B-A4B", "gemma-4-26b-a4b"},
      {"nvidia--NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16", "nemotron-3-ultra-550b-a55b"},
      {"nvidia--NVIDIA-Nemotron-3-Super-120B-A12B-FP8", "nemotron-3-super-120b-a12b-fp8"},
      {"openai--gpt-oss-120b", "gpt-oss-120b"},
      {"stepfun-ai--Step-3.7-Flash-FP8", "step-3.7-flash-fp8"},
  };
  return kPairs;
}

TEST(PublishedFiles, EqualTheCatalogue) {
  if (!std::filesystem::exists(published_folder())) {
    GTEST_SKIP() << "no published files beside the checkout";
  }
  for (const auto& [file, name] : published_pairs()) {
    SCOPED_TRACE(file);
    const auto read = read_hf_config((published_folder() / (file + "_config.json")).string());
    const auto known = find_model(name);
    ASSERT_TRUE(read.has_value()) << core::to_string(read.error().front());
    ASSERT_TRUE(known.has_value()) << core::to_string(known.error().front());
    EXPECT_EQ(total_parameters(*read), total_parameters(*known));
    EXPECT_EQ(active_parameters(*read), active_parameters(*known));
    EXPECT_EQ(weight_bytes_per_rank(*read, {}).value(), weight_bytes_per_rank(*known, {}).value());
    EXPECT_EQ(kv_bytes_per_token_per_rank(*read, {}).value(),
              kv_bytes_per_token_per_rank(*known, {}).value());
    EXPECT_EQ(state_bytes_per_rank(*read, {}).value(), state_bytes_per_rank(*known, {}).value());
    EXPECT_EQ(read->num_layers(), known->num_layers());
    EXPECT_EQ(read->draft_layers.size(), known->draft_layers.size());
  }
}

}  // namespace
}  // namespace ridgeline::model
