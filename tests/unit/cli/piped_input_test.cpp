#include "cli/piped_input.hpp"

#include <array>
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>

#include "cli/arguments.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "document/piped_files.hpp"

namespace ridgeline::cli {
namespace {

TEST(PipedInput, CanBeReadTwice) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  ASSERT_EQ(write(ends[1], "a: 1\n", 5), 5);
  close(ends[1]);
  // As the shell names <(...).
  const std::string path = "/dev/fd/" + std::to_string(ends[0]);
  const auto copied = copy_pipes({.positionals = {path}, .flags = {}});
  ASSERT_TRUE(copied) << core::to_string(copied.error().front());
  EXPECT_NE(document::path_to_open(path), path);
  for (int reading = 0; reading < 2; ++reading) {
    const auto text = document::read_file(path);
    ASSERT_TRUE(text);
    EXPECT_EQ(*text, "a: 1\n");
  }
  close(ends[0]);
}

TEST(PipedInput, LeavesFilesAlone) {
  const std::string path = "no/such/file";
  EXPECT_TRUE(copy_pipes({.positionals = {path}, .flags = {}}));
  EXPECT_EQ(document::path_to_open(path), path);
  EXPECT_EQ(document::path_to_open("-"), "/dev/stdin");
}

}  // namespace
}  // namespace ridgeline::cli
