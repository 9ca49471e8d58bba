#include "cli/commands/serve_flags.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/arguments.hpp"
#include "core/result.hpp"

namespace ridgeline::cli {
namespace {

using testing::HasSubstr;

/// The flags of `serve` on the command line and in a file with that section.
core::Result<Arguments> arguments_of(const std::string& section, Arguments arguments = {}) {
  const auto path = std::filesystem::path(testing::TempDir()) / "serve_flags_test.yaml";
  std::ofstream(path) << "serve: " << section << "\n";
  arguments.positionals = {path.string()};
  if (const auto added = add_serve_section(arguments); !added) {
    return core::fail(added.error());
  }
  return arguments;
}

TEST(ServeFlags, TheSectionTakesTheFlagsByTheirNames) {
  const auto arguments = arguments_of("{port: 8123, max_logprobs: 5, faults: [{kind: error}]}");
  ASSERT_TRUE(arguments.has_value());
  EXPECT_EQ(arguments->value("port"), "8123");
  EXPECT_EQ(arguments->value("max-logprobs"), "5");
  EXPECT_EQ(arguments->value("request-fault"), "kind=error");
}

TEST(ServeFlags, TheCommandLineComesFirst) {
  Arguments stated;
  stated.flags.push_back({.name = "port", .value = "9000", .typed = "--port"});
  EXPECT_EQ(arguments_of("{port: 8123}", stated)->value("port"), "9000");
}

TEST(ServeFlags, WhatTheSectionCannotMeanIsRefused) {
  const auto message = [](const std::string& section) {
    return arguments_of(section).error().front().message;
  };
  EXPECT_THAT(message("7"), HasSubstr("expected a map"));
  EXPECT_THAT(message("{ports: 1}"), HasSubstr("unknown key"));
  EXPECT_THAT(message("{port: [1, 2]}"), HasSubstr("expected one value"));
  EXPECT_THAT(message("{port: {a: 1}}"), HasSubstr("expected a value"));
}

TEST(ServeFlags, RequestsComeFromOutside) {
  const auto flags = all_serve_flags();
  EXPECT_NE(std::ranges::find(flags, "model", &FlagSpec::name), flags.end());
  EXPECT_EQ(std::ranges::find(flags, "request-rate", &FlagSpec::name), flags.end());
  EXPECT_EQ(std::ranges::count(flags, "stream-interval", &FlagSpec::name), 1);
}

}  // namespace
}  // namespace ridgeline::cli
