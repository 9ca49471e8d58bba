#include "cli/output_file.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ridgeline::cli {
namespace {

namespace fs = std::filesystem;

class OutputFileTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              ("output_file_" + std::to_string(::testing::UnitTest::GetInstance()->random_seed()) +
               testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directory(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string path(const char* name) const { return (folder_ / name).string(); }
  static std::string content(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  [[nodiscard]] auto num_files() const {
    return std::distance(fs::directory_iterator(folder_), {});
  }

 private:
  fs::path folder_;
};

TEST_F(OutputFileTest, AppearsWhenCommitted) {
  auto file = OutputFile::open(path("a.json"));
  ASSERT_TRUE(file);
  file->stream() << "whole";
  EXPECT_FALSE(fs::exists(path("a.json")));
  EXPECT_TRUE(file->commit());
  EXPECT_EQ(content(path("a.json")), "whole");
  EXPECT_EQ(num_files(), 1);
}

TEST_F(OutputFileTest, LeavesNothingWhenDropped) {
  {
    std::ofstream(path("a.json")) << "old";
    auto file = OutputFile::open(path("a.json"));
    ASSERT_TRUE(file);
    const OutputFile moved = std::move(*file);
    EXPECT_EQ(moved.path(), path("a.json"));
  }
  EXPECT_EQ(content(path("a.json")), "old");
  EXPECT_EQ(num_files(), 1);
}

TEST_F(OutputFileTest, FollowsALink) {
  std::ofstream(path("real.json")) << "old";
  fs::create_symlink(path("real.json"), path("link.json"));
  auto file = OutputFile::open(path("link.json"));
  ASSERT_TRUE(file);
  file->stream() << "new";
  EXPECT_TRUE(file->commit());
  EXPECT_TRUE(fs::is_symlink(path("link.json")));
  EXPECT_EQ(content(path("real.json")), "new");
}

TEST_F(OutputFileTest, RefusesAtOnceWhatCannotBeWritten) {
  const auto missing = OutputFile::open(path("no/a.json"));
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().front().message, testing::HasSubstr("No such file or directory"));
  const auto folder = OutputFile::open(path("."));
  ASSERT_FALSE(folder);
  EXPECT_THAT(folder.error().front().message, testing::HasSubstr("it is a folder"));
  EXPECT_EQ(num_files(), 0);
}

TEST_F(OutputFileTest, AFullDeviceIsReported) {
  auto file = OutputFile::open("/dev/full");
  ASSERT_TRUE(file);
  file->stream() << "text";
  const auto done = file->commit();
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().front().message, testing::HasSubstr("/dev/full"));
}

}  // namespace
}  // namespace ridgeline::cli
