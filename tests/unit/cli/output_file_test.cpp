#include "cli/output_file.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "document/document.hpp"
#include "document/temporary.hpp"

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
  auto file = OutputFile::open("--output", path("a.json"));
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
    auto file = OutputFile::open("--output", path("a.json"));
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
  auto file = OutputFile::open("--output", path("link.json"));
  ASSERT_TRUE(file);
  file->stream() << "new";
  EXPECT_TRUE(file->commit());
  EXPECT_TRUE(fs::is_symlink(path("link.json")));
  EXPECT_EQ(content(path("real.json")), "new");
}

TEST_F(OutputFileTest, RefusesAtOnceWhatCannotBeWritten) {
  const auto missing = OutputFile::open("--output", path("no/a.json"));
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().front().message, testing::HasSubstr("No such file or directory"));
  const auto folder = OutputFile::open("--output", path("."));
  ASSERT_FALSE(folder);
  EXPECT_THAT(folder.error().front().message, testing::HasSubstr("it is a folder"));
  EXPECT_EQ(num_files(), 0);
}

TEST_F(OutputFileTest, RefusesAFileThatWasRead) {
  std::ofstream(path("in.csv")) << "rows";
  fs::create_hard_link(path("in.csv"), path("hard.csv"));
  fs::create_symlink(path("in.csv"), path("soft.csv"));
  ASSERT_TRUE(document::read_file(path("in.csv")));
  for (const char* name : {"in.csv", "hard.csv", "soft.csv"}) {
    const auto file = OutputFile::open("--svg", path(name));
    ASSERT_FALSE(file) << name;
    EXPECT_EQ(file.error().front().field, "--svg");
    EXPECT_THAT(file.error().front().message, testing::HasSubstr("is read by this command"));
  }
  EXPECT_EQ(num_files(), 3);
}

TEST_F(OutputFileTest, RefusesAFileThatIsReadWhileItIsWritten) {
  std::ofstream(path("late.csv")) << "rows";
  auto file = OutputFile::open("--output", path("late.csv"));
  ASSERT_TRUE(file);
  file->stream() << "other";
  ASSERT_TRUE(document::read_file(path("late.csv")));
  EXPECT_FALSE(file->commit());
  EXPECT_EQ(content(path("late.csv")), "rows");
  EXPECT_EQ(num_files(), 1);
}

TEST_F(OutputFileTest, RefusesTwoOutputsThatAreOneFile) {
  const auto first = OutputFile::open("--output", path("a.json"));
  ASSERT_TRUE(first);
  const auto second = OutputFile::open(
      "--steps-out",
      path("../") + fs::path(path("")).parent_path().filename().string() + "/a.json");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().front().field, "--steps-out");
  EXPECT_THAT(second.error().front().message, testing::HasSubstr("is also another output"));
  // A place is free again when its output has been completed or dropped.
  EXPECT_TRUE(OutputFile::open("--output", path("b.json")));
  EXPECT_TRUE(OutputFile::open("--output", path("b.json")));
}

TEST_F(OutputFileTest, RefusesAnEmptyName) {
  const auto file = OutputFile::open("--output", "");
  ASSERT_FALSE(file);
  EXPECT_THAT(file.error().front().message, testing::HasSubstr("is empty"));
}

TEST_F(OutputFileTest, AnEarlyEndRemovesWhatIsNotComplete) {
  auto whole = OutputFile::open("--output", path("whole.json"));
  ASSERT_TRUE(whole && whole->commit());
  const auto half = OutputFile::open("--requests-out", path("half.csv"));
  ASSERT_TRUE(half);
  EXPECT_EQ(num_files(), 2);
  document::remove_temporaries();
  EXPECT_EQ(num_files(), 1);
}

TEST_F(OutputFileTest, AFullDeviceIsReported) {
  auto file = OutputFile::open("--output", "/dev/full");
  ASSERT_TRUE(file);
  file->stream() << "text";
  const auto done = file->commit();
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().front().message, testing::HasSubstr("/dev/full"));
}

}  // namespace
}  // namespace ridgeline::cli
