#include "lab/records/published_recipe.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"
#include "lab/records/evidence_words.hpp"

namespace ridgeline::records {
namespace {

std::vector<std::pair<std::string, std::string>> settings_of(const std::string& recipe) {
  ServerFacts facts;
  read_recipe(document::parse_json(recipe, "record").value(), facts);
  return facts.settings;
}

TEST(PublishedRecipe, KernelsByTheirWords) {
  EXPECT_THAT(settings_of(R"({"env": ["VLLM_MXFP4_USE_MARLIN=1"], "all_reduce": "FlashInfer"})"),
              testing::ElementsAre(testing::Pair("moe_backend", "marlin"),
                                   testing::Pair("fuse_allreduce_rms", "true")));
}

TEST(PublishedRecipe, DeepGemmByItsVariable) {
  EXPECT_THAT(settings_of(R"({"env": ["VLLM_USE_DEEP_GEMM=0", "VLLM_MOE_USE_DEEP_GEMM=0"]})"),
              testing::ElementsAre(testing::Pair("use_deep_gemm", "false")));
  EXPECT_THAT(settings_of(R"({"env": ["VLLM_MOE_USE_DEEP_GEMM=0"]})"), testing::IsEmpty());
  EXPECT_THAT(settings_of(R"({"env": ["SGLANG_ENABLE_JIT_DEEPGEMM=1"]})"),
              testing::ElementsAre(testing::Pair("use_deep_gemm", "true")));
}

TEST(PublishedRecipe, AScriptMakesItsPublishersRecipeHold) {
  ServerFacts facts;
  read_recipe(document::parse_json(R"({"script": "a/b.sh"})", "record").value(), facts);
  EXPECT_TRUE(facts.names_script);
  read_recipe(document::parse_json(R"({"moe": "Triton"})", "record").value(), facts);
  EXPECT_FALSE(facts.names_script);
}

TEST(PublishedRecipe, DraftsWithTheAcceptanceThatWasMeasured) {
  EXPECT_THAT(
      settings_of(R"({"speculative": {"method": "EAGLE3", "model": "a/b",
        "num_speculative_tokens": 2, "acceptance_given_previous": [0.5, 0.25]}})"),
      testing::ElementsAre(testing::Pair("speculative_config",
                                         "{method: eagle3, num_speculative_tokens: 2, model: a/b, "
                                         "acceptance: [0.5, 0.25]}")));
  EXPECT_THAT(
      settings_of(R"({"speculative": {"method": "mtp", "num_speculative_tokens": 1,
        "acceptance_given_previous": [0.5]}})"),
      testing::ElementsAre(testing::Pair(
          "speculative_config", "{method: mtp, num_speculative_tokens: 1, acceptance: [0.5]}")));
}

TEST(PublishedRecipe, DraftsWithAMeanAcceptanceOrNone) {
  EXPECT_THAT(settings_of(R"({"speculative": {"method": "mtp", "num_speculative_tokens": 3,
        "mean_acceptance_length": 3.5}})"),
              testing::ElementsAre(testing::Pair(
                  "speculative_config",
                  "{method: mtp, num_speculative_tokens: 3, acceptance_length: 3.5}")));
  EXPECT_THAT(settings_of(R"({"speculative": {"method": "mtp", "num_speculative_tokens": 1}})"),
              testing::ElementsAre(
                  testing::Pair("speculative_config", "{method: mtp, num_speculative_tokens: 1}")));
}

}  // namespace
}  // namespace ridgeline::records
