// Every published file beside the checkout: read, and equal to the catalogue where that has it.
#include <cstdint>
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

/// "org--name_config.json" of the published files, and the name in the catalogue. (The copy of
/// Step-3.7-Flash's file lacks what its layers with a window have of their own.)
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
    auto known = find_model(name);
    ASSERT_TRUE(read.has_value()) << core::to_string(read.error().front());
    ASSERT_TRUE(known.has_value()) << core::to_string(known.error().front());
    if (!read->vision) {
      known->vision.reset();  // The copy of MiniMax-M3's file leaves its tower out.
    }
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

/// What a config.json states, transcribed: its repository on huggingface.co, the name in the
/// catalogue, num_hidden_layers, hidden_size and vocab_size.
struct PublishedShape {
  const char* repository;
  const char* name;
  std::int64_t layers;
  std::int64_t hidden;
  std::int64_t vocabulary;
};
constexpr PublishedShape kPublishedShapes[] = {
    {"meta-llama/Meta-Llama-3.1-8B", "llama-3.1-8b", 32, 4096, 128256},
    {"meta-llama/Meta-Llama-3.1-70B", "llama-3.1-70b", 80, 8192, 128256},
    {"nvidia/Llama-3.1-70B-Instruct-FP8", "llama-3.1-70b-fp8", 80, 8192, 128256},
    {"meta-llama/Meta-Llama-3.1-405B", "llama-3.1-405b", 126, 16384, 128256},
    {"mistralai/Mixtral-8x7B-v0.1", "mixtral-8x7b", 32, 4096, 32000},
    {"mistralai/Mixtral-8x22B-v0.1", "mixtral-8x22b", 56, 6144, 32000},
    {"Qwen/Qwen3-0.6B", "qwen3-0.6b", 28, 1024, 151936},
    {"Qwen/Qwen3-8B", "qwen3-8b", 36, 4096, 151936},
    {"Qwen/Qwen3-32B", "qwen3-32b", 64, 5120, 151936},
    {"Qwen/Qwen3-32B-FP8", "qwen3-32b-fp8", 64, 5120, 151936},
    {"Qwen/Qwen3-30B-A3B", "qwen3-30b-a3b", 48, 2048, 151936},
    {"Qwen/Qwen3-30B-A3B-FP8", "qwen3-30b-a3b-fp8", 48, 2048, 151936},
    {"Qwen/Qwen3-235B-A22B", "qwen3-235b-a22b", 94, 4096, 151936},
    {"Qwen/Qwen3-235B-A22B-FP8", "qwen3-235b-a22b-fp8", 94, 4096, 151936},
    {"Qwen/Qwen3-Coder-480B-A35B-Instruct", "qwen3-coder-480b-a35b", 62, 6144, 151936},
    {"meta-llama/Llama-4-Scout-17B-16E-Instruct", "llama-4-scout", 48, 5120, 202048},
    {"meta-llama/Llama-4-Maverick-17B-128E-Instruct", "llama-4-maverick", 48, 5120, 202048},
    {"deepseek-ai/DeepSeek-V3", "deepseek-v3", 61, 7168, 129280},
    {"deepseek-ai/DeepSeek-V3.2", "deepseek-v3.2", 61, 7168, 129280},
    {"deepseek-ai/DeepSeek-V4-Flash", "deepseek-v4-flash", 43, 4096, 129280},
    {"deepseek-ai/DeepSeek-V4-Pro", "deepseek-v4-pro", 61, 7168, 129280},
    {"nvidia/DeepSeek-V3.1-NVFP4", "deepseek-v3.1-nvfp4", 61, 7168, 129280},
    {"moonshotai/Kimi-K2-Instruct", "kimi-k2", 61, 7168, 163840},
    {"moonshotai/Kimi-K2.5", "kimi-k2.5", 61, 7168, 163840},
    {"zai-org/GLM-5", "glm-5", 78, 6144, 154880},
    {"zai-org/GLM-5.2-FP8", "glm-5.2-fp8", 78, 6144, 154880},
    {"MiniMaxAI/MiniMax-M2.5", "minimax-m2.5", 62, 3072, 200064},
    {"nvidia/MiniMax-M2.5-NVFP4", "minimax-m2.5-nvfp4", 62, 3072, 200064},
    {"MiniMaxAI/MiniMax-M3", "minimax-m3", 60, 6144, 200064},
    {"Qwen/Qwen3.5-27B", "qwen3.5-27b", 64, 5120, 248320},
    {"Qwen/Qwen3.5-397B-A17B", "qwen3.5-397b-a17b", 60, 4096, 248320},
    {"Qwen/Qwen3-VL-30B-A3B-Instruct", "qwen3-vl-30b-a3b", 48, 2048, 151936},
    {"nvidia/Qwen3-235B-A22B-NVFP4", "qwen3-235b-a22b-nvfp4", 94, 4096, 151936},
    {"XiaomiMiMo/MiMo-V2-Flash", "mimo-v2-flash", 48, 4096, 152576},
    {"google/gemma-4-26B-A4B", "gemma-4-26b-a4b", 30, 2816, 262144},
    {"openai/gpt-oss-120b", "gpt-oss-120b", 36, 2880, 201088},
    {"stepfun-ai/Step-3.7-Flash-FP8", "step-3.7-flash-fp8", 45, 4096, 128896},
};

TEST(PublishedShapes, AreTheCatalogues) {
  for (const PublishedShape& published : kPublishedShapes) {
    SCOPED_TRACE(published.repository);
    const auto known = find_model(published.name);
    ASSERT_TRUE(known.has_value()) << core::to_string(known.error().front());
    EXPECT_EQ(known->num_layers(), published.layers);
    EXPECT_EQ(known->hidden_size, published.hidden);
    EXPECT_EQ(known->vocab_size, published.vocabulary);
  }
}

}  // namespace
}  // namespace ridgeline::model
