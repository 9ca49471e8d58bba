#include "document/save.hpp"

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "document/input_files.hpp"
#include "document/temporary.hpp"

namespace ridgeline::document {
namespace {

namespace fs = std::filesystem;

class SaveFiles : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  static std::string text_of(const fs::path& path) {
    std::ifstream stream(path);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  /// Names in the folder, hidden ones too.
  [[nodiscard]] std::size_t entries(const fs::path& path) const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path), {}));
  }

  fs::path folder_;
  const std::vector<NewFile> files_ = {{.name = "a.sh", .text = "x\n", .is_script = true},
                                       {.name = "b.yaml", .text = "y\n"}};
};

TEST_F(SaveFiles, MakesTheFolderAndScriptsThatRun) {
  const fs::path target = folder_ / "new" / "top1";
  ASSERT_TRUE(save_files("--save-dir", target.string() + "/", files_));
  EXPECT_EQ(text_of(target / "a.sh"), "x\n");
  EXPECT_NE(fs::status(target / "a.sh").permissions() & fs::perms::owner_exec, fs::perms::none);
  EXPECT_EQ(fs::status(target / "b.yaml").permissions() & fs::perms::owner_exec, fs::perms::none);
  EXPECT_EQ(entries(folder_ / "new"), 1U);
}

TEST_F(SaveFiles, SaysBeforeWhetherItCan) {
  EXPECT_TRUE(can_save("--save-dir", folder_.string()));
  EXPECT_TRUE(can_save("--save-dir", (folder_ / "new" / "top1").string() + "/"));
  EXPECT_TRUE(can_save("--save-dir", "new"));
  EXPECT_EQ(entries(folder_), 0U);
  std::ofstream(folder_ / "file") << "x";
  for (const fs::path& path : {folder_ / "file", folder_ / "file" / "new"}) {
    const auto can = can_save("--save-dir", path.string());
    ASSERT_FALSE(can) << path;
    EXPECT_EQ(can.error().front().field, "--save-dir");
    EXPECT_NE(can.error().front().message.find("is no folder"), std::string::npos);
  }
  if (::geteuid() != 0) {  // Root may write everywhere.
    fs::permissions(folder_, fs::perms::owner_read | fs::perms::owner_exec);
    EXPECT_FALSE(can_save("--save-dir", (folder_ / "new").string()));
    fs::permissions(folder_, fs::perms::owner_all);
  }
}

TEST_F(SaveFiles, ReplacesItsFilesAndLeavesOthers) {
  std::ofstream(folder_ / "a.sh") << "old";
  std::ofstream(folder_ / "mine") << "mine";
  ASSERT_TRUE(save_files("--save-dir", folder_.string(), files_));
  EXPECT_EQ(text_of(folder_ / "a.sh"), "x\n");
  EXPECT_EQ(text_of(folder_ / "mine"), "mine");
  EXPECT_EQ(entries(folder_), 3U);
}

TEST_F(SaveFiles, WritesNothingWhereOneCannotBeWritten) {
  const std::vector<NewFile> files = {files_[0], {.name = std::string(300, 'x'), .text = "z"}};
  const auto saved = save_files("--save-dir", (folder_ / "out").string(), files);
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().front().field, "--save-dir");
  EXPECT_EQ(entries(folder_), 0U);
}

TEST_F(SaveFiles, ReplacesNoFileThatWasRead) {
  std::ofstream(folder_ / "b.yaml") << "mine";
  note_input((folder_ / "b.yaml").string());
  EXPECT_FALSE(save_files("--save-dir", folder_.string(), files_));
  EXPECT_EQ(text_of(folder_ / "b.yaml"), "mine");
  EXPECT_FALSE(fs::exists(folder_ / "a.sh"));
}

TEST_F(SaveFiles, RemovesNothingThatItDidNotMake) {
  for (const char* name : {"out.part", ".ridgeline-part", "out.partial"}) {
    fs::create_directories(folder_ / name);
    std::ofstream(folder_ / name / "mine") << "mine";
  }
  ASSERT_TRUE(save_files("--save-dir", (folder_ / "out").string(), files_));
  ASSERT_TRUE(save_files("--save-dir", folder_.string(), files_));
  for (const char* name : {"out.part", ".ridgeline-part", "out.partial"}) {
    EXPECT_EQ(text_of(folder_ / name / "mine"), "mine");
  }
  EXPECT_EQ(entries(folder_), 6U);
}

TEST_F(SaveFiles, AFolderInTheWayIsFoundBeforeAnythingIsReplaced) {
  std::ofstream(folder_ / "a.sh") << "old";
  fs::create_directories(folder_ / "b.yaml");
  std::ofstream(folder_ / "b.yaml" / "mine") << "mine";
  const auto saved = save_files("--save-dir", folder_.string(), files_);
  ASSERT_FALSE(saved);
  EXPECT_NE(saved.error().front().message.find("b.yaml': it is a folder"), std::string::npos);
  EXPECT_EQ(text_of(folder_ / "a.sh"), "old");
  EXPECT_EQ(text_of(folder_ / "b.yaml" / "mine"), "mine");
  EXPECT_EQ(entries(folder_), 2U);
}

TEST_F(SaveFiles, FoldersBelowAreOneWithTheRest) {
  const std::vector<NewFile> files = {{.name = "top1/a.sh", .text = "x"},
                                      {.name = "top2/deep/a.sh", .text = "y"},
                                      {.name = "c.sh", .text = "z"}};
  const fs::path out = folder_ / "out";
  ASSERT_TRUE(save_files("--save-dir", out.string(), files));
  ASSERT_TRUE(save_files("--save-dir", out.string(), files));
  EXPECT_EQ(text_of(out / "top2" / "deep" / "a.sh"), "y");
  EXPECT_EQ(entries(out), 3U);
  fs::remove(out / "c.sh");
  fs::create_directory(out / "c.sh");
  fs::remove_all(out / "top2");
  ASSERT_FALSE(save_files("--save-dir", out.string(), files));
  EXPECT_FALSE(fs::exists(out / "top2"));
  EXPECT_EQ(entries(out), 2U);
  EXPECT_FALSE(
      save_files("--save-dir", out.string(), std::vector<NewFile>{{.name = "../x", .text = "x"}}));
  EXPECT_FALSE(
      save_files("--save-dir", out.string(), std::vector<NewFile>{{.name = "/x", .text = "x"}}));
}

TEST_F(SaveFiles, ReplacesALinkAndNotWhatItPointsTo) {
  std::ofstream(folder_ / "mine") << "mine";
  fs::create_directory(folder_ / "out");
  fs::create_symlink(folder_ / "mine", folder_ / "out" / "a.sh");
  ASSERT_TRUE(save_files("--save-dir", (folder_ / "out").string(), files_));
  EXPECT_EQ(text_of(folder_ / "mine"), "mine");
  EXPECT_FALSE(fs::is_symlink(folder_ / "out" / "a.sh"));
}

// All end well, and what is there is one writer's: files of two would be of two texts.
TEST_F(SaveFiles, ManyAtOnceLeaveTheFilesOfOne) {
  constexpr int kWriters = 20;
  for (const bool is_new : {true, false}) {
    const std::string out = (folder_ / "out").string();
    std::vector<int> done(kWriters);
    std::vector<std::thread> writers;
    for (int i = 0; i < kWriters; ++i) {
      writers.emplace_back([&, i] {
        std::vector<NewFile> files;
        for (int j = 0; j < 30; ++j) {
          files.push_back({.name = fmt::format("{}", j), .text = fmt::format("{}", i)});
        }
        done[static_cast<std::size_t>(i)] = save_files("--save-dir", out, files) ? 1 : 0;
      });
    }
    for (std::thread& writer : writers) {
      writer.join();
    }
    EXPECT_EQ(done, std::vector<int>(kWriters, 1)) << is_new;
    for (int j = 1; j < 30; ++j) {
      EXPECT_EQ(text_of(fs::path(out) / fmt::format("{}", j)), text_of(fs::path(out) / "0"));
    }
    EXPECT_EQ(entries(out), 30U);
    EXPECT_EQ(entries(folder_), 1U);
  }
}

TEST_F(SaveFiles, AnEarlierProcessOfThisNumberIsNotInTheWay) {
  const std::string target = (folder_ / "a.json").string();
  std::ofstream(fmt::format("{}.partial-{}", target, ::getpid())) << "left by a kill";
  EXPECT_TRUE(save_file("--store", target, "x"));
  EXPECT_EQ(text_of(target), "x");
  EXPECT_EQ(entries(folder_), 2U);
}

TEST_F(SaveFiles, WhatIsNotKeptGoesWithAllThatIsInIt) {
  auto folder = Temporary::folder_in(folder_.string());
  ASSERT_TRUE(folder);
  const std::string inner = folder->path() + "/new";
  fs::create_directory(inner);
  const Temporary below(inner, Temporary::Kind::kFolder);
  const auto file = Temporary::file_beside(inner + "/a");
  ASSERT_TRUE(file);
  ::close(file->descriptor);
  EXPECT_TRUE(is_awaited(inner + "/a"));
  remove_temporaries();
  EXPECT_EQ(entries(folder_), 0U);
}

TEST_F(SaveFiles, RefusesAFileInTheFoldersPlace) {
  std::ofstream(folder_ / "file") << "mine";
  EXPECT_FALSE(save_files("--save-dir", (folder_ / "file").string(), files_));
  EXPECT_FALSE(save_files("--save-dir", (folder_ / "file" / "below").string(), files_));
  EXPECT_EQ(text_of(folder_ / "file"), "mine");
}

}  // namespace
}  // namespace ridgeline::document
