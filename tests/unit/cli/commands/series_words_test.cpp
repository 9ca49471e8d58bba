#include "cli/commands/series_words.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/arguments.hpp"

namespace ridgeline::cli {
namespace {

core::Result<std::optional<std::size_t>> windows(const std::vector<std::string>& words) {
  const auto arguments = parse_arguments(words, series_flags());
  EXPECT_TRUE(arguments.has_value());
  return series_windows(*arguments);
}

TEST(SeriesWords, AskForAsManyWindowsAsTheySay) {
  EXPECT_EQ(*windows({}), std::nullopt);
  EXPECT_EQ(*windows({"--series"}), 1024U);
  EXPECT_EQ(*windows({"--series-buckets", "64"}), 64U);
  EXPECT_EQ(*windows({"--series", "--series-buckets", "4096"}), 4096U);
}

TEST(SeriesWords, RefuseTooFewAndTooMany) {
  for (const char* const number : {"63", "4097", "0", "x"}) {
    EXPECT_FALSE(windows({"--series-buckets", number}).has_value()) << number;
  }
}

}  // namespace
}  // namespace ridgeline::cli
