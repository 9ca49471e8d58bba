#pragma once

#include <string>
#include <string_view>
#include <variant>

#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "model/model_spec.hpp"

namespace ridgeline::model {

/// The network that a config.json of this text describes.
inline core::Result<ModelSpec> read_text(std::string_view text) {
  const core::Result<document::Node> document = document::parse_json(text, "config.json");
  if (!document) {
    return core::fail(document.error());
  }
  return model_from_node(*document, "test");
}

/// All problems of a config.json, one a line; "accepted" when there are none. A message that breaks
/// its line fails the test.
inline std::string problems(std::string_view text) {
  const core::Result<ModelSpec> spec = read_text(text);
  if (spec) {
    return "accepted";
  }
  std::string all;
  for (const core::Error& error : spec.error()) {
    const std::string line = core::to_string(error);
    EXPECT_EQ(line.find('\n'), std::string::npos) << line;
    EXPECT_EQ(error.code, core::ErrorCode::kUsage);
    all += line + "\n";
  }
  return all;
}

/// The network, which must be accepted.
inline ModelSpec accepted(std::string_view text) {
  const core::Result<ModelSpec> spec = read_text(text);
  EXPECT_TRUE(spec.has_value()) << problems(text);
  return spec.value_or(ModelSpec{});
}

/// Attention of its first layers.
inline AttentionSpec attention(std::string_view text) {
  const ModelSpec spec = accepted(text);
  return spec.layers.empty() ? AttentionSpec{} : spec.layers.front().attention;
}

/// `text`, a JSON object, with `member` ("\"key\": value") put first.
inline std::string with(std::string_view member, std::string_view text) {
  return "{" + std::string(member) + "," + std::string(text.substr(1));
}

/// What every family states, without model_type: 4 layers, 8 query heads of 16 over 2 KV heads.
inline const std::string kBody =
    R"({"hidden_size": 128, "num_hidden_layers": 4, "num_attention_heads": 8,
        "num_key_value_heads": 2, "intermediate_size": 96, "vocab_size": 1000,
        "max_position_embeddings": 2048})";

/// That, of a family.
inline std::string of_type(const std::string& type) {
  return with("\"model_type\": \"" + type + "\"", kBody);
}

/// The order of a network's layers: "d2 m1" is two dense ones, then one mixture of experts.
inline std::string order(const ModelSpec& spec) {
  std::string text;
  for (const LayerGroup& group : spec.layers) {
    text += (text.empty() ? "" : " ") +
            std::string(std::holds_alternative<MoeFfn>(group.ffn) ? "m" : "d") +
            std::to_string(group.count);
  }
  return text;
}

}  // namespace ridgeline::model
