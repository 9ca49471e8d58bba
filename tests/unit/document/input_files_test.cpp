#include "document/input_files.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace ridgeline::document {
namespace {

namespace fs = std::filesystem;

TEST(InputFiles, AreKnownByEveryName) {
  const fs::path folder = fs::path(testing::TempDir()) / "input_files";
  fs::remove_all(folder);
  fs::create_directory(folder);
  const auto path = [&](const char* name) { return (folder / name).string(); };
  std::ofstream(path("in")) << "rows";
  std::ofstream(path("other")) << "rows";
  fs::create_symlink(path("in"), path("soft"));
  fs::create_hard_link(path("in"), path("hard"));
  EXPECT_FALSE(is_input(path("in")));
  ASSERT_TRUE(open_file(path("soft")));
  for (const char* name : {"in", "soft", "hard", "./in", "../input_files/in"}) {
    EXPECT_TRUE(is_input(path(name))) << name;
  }
  EXPECT_FALSE(is_input(path("other")));
  EXPECT_FALSE(is_input(path("absent")));
  EXPECT_FALSE(open_file(path("absent")));
  EXPECT_FALSE(open_file(folder.string()));
  EXPECT_FALSE(open_file(""));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace ridgeline::document
