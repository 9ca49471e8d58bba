#include "model/module_pattern.hpp"

#include <optional>
#include <string>

#include <gtest/gtest.h>

namespace ridgeline::model {
namespace {

constexpr const char* kModule = "model.layers.12.self_attn.q_proj";

TEST(ModulePattern, ANameMeansTheModuleAndAllInside) {
  EXPECT_EQ(matches_module("model.layers.12.self_attn", kModule), true);
  EXPECT_EQ(matches_module("self_attn", kModule), true);
  EXPECT_EQ(matches_module("q_proj", kModule), true);
  EXPECT_EQ(matches_module("model.layers.1", kModule), false);
  EXPECT_EQ(matches_module("attn", kModule), false);
}

TEST(ModulePattern, Wildcards) {
  EXPECT_EQ(matches_module("model.layers.12*", kModule), true);
  EXPECT_EQ(matches_module("*self_attn*", kModule), true);
  EXPECT_EQ(matches_module("model.layers.*.self_attn", kModule), true);  // and all inside
  EXPECT_EQ(matches_module("*.mlp.*", kModule), false);
  EXPECT_EQ(matches_module("*k_proj", kModule), false);
}

TEST(ModulePattern, RegularExpressions) {
  EXPECT_EQ(matches_module("re:.*self_attn.*", kModule), true);
  EXPECT_EQ(matches_module("re:.*\\.(q|k)_proj$", kModule), true);
  EXPECT_EQ(matches_module("re:.*\\.(k|v)_proj$", kModule), false);
  EXPECT_EQ(matches_module("re:model\\.layers\\.(1|12)\\.self", kModule), true);
  EXPECT_EQ(matches_module("re:model\\.layers\\.[0-9]+\\.self_attn\\.(?:q|k)_proj", kModule), true);
  EXPECT_EQ(matches_module("re:model\\.layers\\.\\d+\\.mlp", kModule), false);
  EXPECT_EQ(matches_module("re:^model\\.layers?\\.[^a-z]*\\.self", kModule), true);
  EXPECT_EQ(matches_module("re:layers", kModule), false);  // from the beginning, as re.match
}

TEST(ModulePattern, WhatCannotBeUnderstoodOrTakesTooLongIsNothing) {
  EXPECT_EQ(matches_module("re:(a", kModule), std::nullopt);
  EXPECT_EQ(matches_module("re:[a", kModule), std::nullopt);
  EXPECT_EQ(matches_module("re:a\\", kModule), std::nullopt);
  EXPECT_EQ(matches_module("re:" + std::string(600, 'a'), kModule), std::nullopt);
  EXPECT_EQ(matches_module("re:" + std::string(40, '(') + std::string(40, ')'), kModule),
            std::nullopt);
  EXPECT_EQ(matches_module("re:(.*.*)*(.*.*)*(.*.*)*x", kModule), std::nullopt);
}

}  // namespace
}  // namespace ridgeline::model
