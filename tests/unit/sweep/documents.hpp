#pragma once

#include <string_view>

#include <gtest/gtest.h>

#include "document/document.hpp"

namespace ridgeline::sweep {

/// YAML as a sweep file would hold it.
inline document::Node yaml(std::string_view text) {
  const auto node = document::parse_yaml(text, "sweep.yaml");
  EXPECT_TRUE(node) << text;
  return node ? *node : document::Node{};
}

}  // namespace ridgeline::sweep
