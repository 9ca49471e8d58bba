#pragma once

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "core/document.hpp"
#include "core/result.hpp"
#include "model/model_spec.hpp"

namespace ridgeline::model {

/// The network that a config.json of this text describes.
inline core::Result<ModelSpec> read_text(std::string_view text) {
  const core::Result<core::Node> document = core::parse_json(text, "config.json");
  if (!document) {
    return core::fail(document.error());
  }
  return model_from_node(*document, "test");
}

/// All problems of a config.json, one a line; "accepted" when there are none.
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

/// `text`, a JSON object, with `member` ("\"key\": value") put first.
inline std::string with(std::string_view member, std::string_view text) {
  return "{" + std::string(member) + "," + std::string(text.substr(1));
}

}  // namespace ridgeline::model
