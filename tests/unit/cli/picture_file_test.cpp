#include "cli/picture_file.hpp"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>

namespace ridgeline::cli {
namespace {

TEST(PictureFile, ItsNameSaysSvg) {
  EXPECT_TRUE(check_picture_name("a.svg"));
  EXPECT_TRUE(check_picture_name("-"));
  for (const std::string name : {"a.pdf", "a.png", "a.svg.pdf", "a"}) {
    const std::string path = (std::filesystem::temp_directory_path() / name).string();
    EXPECT_FALSE(check_picture_name(path)) << name;
    EXPECT_FALSE(open_picture(path)) << name;
    EXPECT_FALSE(std::filesystem::exists(path)) << name;
  }
}

}  // namespace
}  // namespace ridgeline::cli
