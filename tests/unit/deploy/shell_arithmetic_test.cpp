#include "deploy/shell_arithmetic.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include <gtest/gtest.h>

namespace ridgeline::deploy::shell {
namespace {

std::optional<std::int64_t> value(const std::string& text) {
  std::map<std::string, std::int64_t> values = {{"TP", 4}, {"i", 1}};
  const auto result = arithmetic(
      text,
      [&](const std::string& name) {
        const auto found = values.find(name);
        return found == values.end() ? std::nullopt : std::optional(found->second);
      },
      [&](const std::string& name, std::int64_t number) { values[name] = number; });
  return text.starts_with("i") ? std::optional(values["i"]) : result;
}

TEST(ShellArithmetic, ComputesAsAShellDoes) {
  EXPECT_EQ(value("TP * 2 + 1"), 9);
  EXPECT_EQ(value("1 + 2 * (3 - 5) % 3"), 0);
  EXPECT_EQ(value("TP > 3 && TP <= 4 ? 10 : 20"), 10);
  EXPECT_EQ(value("i++"), 2);
  EXPECT_EQ(value("i += TP"), 5);
}

TEST(ShellArithmetic, WhatItCannotComputeHasNoValue) {
  EXPECT_EQ(value("TP + CONC"), std::nullopt);
  EXPECT_EQ(value("1 / 0"), std::nullopt);
  EXPECT_EQ(value("9223372036854775807 + 1"), std::nullopt);
  EXPECT_EQ(value("2 ** 3"), std::nullopt);
  EXPECT_EQ(value(std::string(1000, '(')), std::nullopt);
}

}  // namespace
}  // namespace ridgeline::deploy::shell
