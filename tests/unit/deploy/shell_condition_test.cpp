#include "deploy/shell_condition.hpp"

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "deploy/marks.hpp"

namespace ridgeline::deploy::shell {
namespace {

std::optional<bool> says(const std::vector<std::string>& words) {
  return condition(words);
}

TEST(ShellCondition, IsDecidedOnKnownValues) {
  EXPECT_EQ(says({"a", "=", "a"}), true);
  EXPECT_EQ(says({"abc", "==", "a*"}), true);
  EXPECT_EQ(says({"8", "-gt", "9"}), false);
  EXPECT_EQ(says({"!", "-z", "x"}), true);
  EXPECT_EQ(says({"1", "-eq", "2", "||", "a", "!=", "b"}), true);
  EXPECT_EQ(says({"-f", "/etc/x"}), std::nullopt);
}

TEST(ShellCondition, WhatHasNoValueLeavesItOpen) {
  const std::string open = unknown_mark("TP");
  EXPECT_EQ(says({open, "=", "8"}), std::nullopt);
  EXPECT_EQ(says({"-n", open}), std::nullopt);
  EXPECT_EQ(says({"-n", open + "x"}), true);
  EXPECT_EQ(says({open, "=", "8", "&&", "a", "=", "b"}), false);
}

}  // namespace
}  // namespace ridgeline::deploy::shell
