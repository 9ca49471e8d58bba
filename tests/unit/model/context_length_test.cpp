#include "model/context_length.hpp"

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "core/units.hpp"
#include "document/document.hpp"

namespace ridgeline::model {
namespace {

std::int64_t length(const std::string& members, LengthRule rule) {
  const auto config = document::parse_json("{" + members + "}", "config.json");
  return context_length(*config, core::Tokens(4096), rule).value();
}

std::int64_t scaled(const std::string& rope, LengthRule rule) {
  return length(R"("rope_scaling": {)" + rope + "}", rule);
}

TEST(ContextLength, FollowsTheKindOfRotaryPositions) {
  const std::string yarn =
      R"("rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 2048)";
  for (const LengthRule rule : {LengthRule::kVllmOlder, LengthRule::kVllm, LengthRule::kSglang}) {
    EXPECT_EQ(length("", rule), 4096);
    EXPECT_EQ(scaled(R"("type": "linear", "factor": 8.0)", rule), 32'768);
    EXPECT_EQ(scaled(R"("rope_type": "llama3", "factor": 8.0)", rule), 4096);
    EXPECT_EQ(scaled(R"("rope_type": "dynamic", "factor": null)", rule), 4096);
    EXPECT_EQ(length(R"("rope_parameters": {"rope_type": "linear", "factor": 2})", rule), 8192);
    EXPECT_EQ(
        length(R"("model_type": "gemma3", "rope_scaling": {"rope_type": "linear", "factor": 8})",
               rule),
        4096);
  }
  EXPECT_EQ(scaled(yarn, LengthRule::kVllmOlder), 8192);
  EXPECT_EQ(scaled(yarn, LengthRule::kVllm), 4096);
  EXPECT_EQ(scaled(yarn, LengthRule::kSglang), 4096);
  EXPECT_EQ(scaled(R"("rope_type": "yarn", "factor": 4)", LengthRule::kSglang), 16'384);
  EXPECT_EQ(scaled(yarn, LengthRule::kStated), 4096);
}

TEST(ContextLength, EachLayerTypeMayHaveItsOwn) {
  const std::string nested = R"("rope_parameters": {"full_attention": {"rope_type": "linear",
      "factor": 4}, "sliding_attention": {"rope_type": "linear", "factor": 4}})";
  EXPECT_EQ(length(nested, LengthRule::kVllm), 16'384);
}

TEST(ContextLength, BeginsWithTheKeysThatTheEngineReads) {
  EXPECT_EQ(length(R"("seq_length": 1024, "n_positions": 2048)", LengthRule::kVllm), 1024);
  EXPECT_EQ(length(R"("seq_length": 8192)", LengthRule::kVllm), 4096);
  EXPECT_EQ(length(R"("seq_length": 8192)", LengthRule::kSglang), 8192);
}

}  // namespace
}  // namespace ridgeline::model
