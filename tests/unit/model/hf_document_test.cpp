#include "model/hf_document.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/model_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::model {
namespace {

const std::string kConfig =
    R"({"model_type": "llama", "hidden_size": 128, "num_hidden_layers": 3,
        "num_attention_heads": 8, "intermediate_size": 96, "vocab_size": 1000,
        "max_position_embeddings": 2048})";

class HfDocument : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) {
    const std::string path = (folder_ / name).string();
    std::ofstream(path) << text;
    return path;
  }

  std::filesystem::path folder_;
};

TEST_F(HfDocument, AFolderMeansItsConfigJson) {
  const std::string path = write("config.json", kConfig);
  for (const std::string& name : {path, folder_.string()}) {
    const auto spec = find_model(name);
    ASSERT_TRUE(spec.has_value());
    EXPECT_EQ(spec->name, name);
    EXPECT_EQ(spec->hf_id, "");
    EXPECT_EQ(spec->num_layers(), 3);
  }
  EXPECT_TRUE(read_hf_config(folder_.string()).has_value());
}

TEST_F(HfDocument, FilesBesideItAreReadToo) {
  write("config.json", kConfig);
  write("generation_config.json", R"({"top_p": 0.7, "temperature": 0.6})");
  write("hf_quant_config.json",
        R"({"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}})");
  const auto spec = find_model(folder_.string());
  ASSERT_TRUE(spec.has_value());
  EXPECT_EQ(spec->sampling, (SamplingDefaults{.top_p = 0.7}));
  EXPECT_EQ(spec->precision.ffn, DType::kFp8);
  EXPECT_EQ(spec->precision.kv, DType::kFp8);
}

TEST_F(HfDocument, AFileOfAnotherNameHasThemWhereNoConfigJsonDoes) {
  const std::string path = write("mine.json", kConfig);
  write("hf_quant_config.json", R"({"quantization": {"quant_algo": "FP8"}})");
  EXPECT_EQ(find_model(path)->precision.ffn, DType::kFp8);
  write("config.json", kConfig);
  EXPECT_EQ(find_model(path)->precision.ffn, DType::kBf16);
}

TEST_F(HfDocument, TheConfigsOwnQuantisationComesFirst) {
  write("config.json",
        "{\"quantization_config\": {\"quant_method\": \"fp8\"}," + kConfig.substr(1));
  write("hf_quant_config.json", R"({"quantization": {"quant_algo": "NVFP4"}})");
  EXPECT_TRUE(find_model(folder_.string()).has_value());
}

TEST_F(HfDocument, PythonsInfinityIsNoObstacle) {
  const std::string path =
      write("config.json", "{\"time_step_limit\": [0.0, Infinity]," + kConfig.substr(1));
  EXPECT_TRUE(find_model(path).has_value());
}

TEST_F(HfDocument, BrokenFilesBesideItAreProblems) {
  write("config.json", kConfig);
  write("generation_config.json", "{");
  const auto spec = find_model(folder_.string());
  ASSERT_FALSE(spec.has_value());
  EXPECT_THAT(spec.error().front().where.file, testing::EndsWith("generation_config.json"));
}

TEST_F(HfDocument, MissingAndBrokenConfigsAreProblems) {
  EXPECT_FALSE(find_model(folder_.string()).has_value());  // an empty folder
  const std::string path = write("config.json", "{\"model_type\": ");
  const auto spec = find_model(path);
  ASSERT_FALSE(spec.has_value());
  EXPECT_EQ(spec.error().front().where.file, path);
}

}  // namespace
}  // namespace ridgeline::model
