#include "deploy/save.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "deploy/targets.hpp"
#include "document/input_files.hpp"

namespace ridgeline::deploy {
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
  const std::vector<File> files_ = {{.name = "a.sh", .text = "x\n", .is_script = true},
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
  const std::vector<File> files = {files_[0], {.name = "no/such/folder.yaml", .text = "z"}};
  const auto saved = save_files("--save-dir", (folder_ / "out").string(), files);
  ASSERT_FALSE(saved);
  EXPECT_EQ(saved.error().front().field, "--save-dir");
  EXPECT_EQ(entries(folder_), 0U);
}

TEST_F(SaveFiles, ReplacesNoFileThatWasRead) {
  std::ofstream(folder_ / "b.yaml") << "mine";
  document::note_input((folder_ / "b.yaml").string());
  EXPECT_FALSE(save_files("--save-dir", folder_.string(), files_));
  EXPECT_EQ(text_of(folder_ / "b.yaml"), "mine");
  EXPECT_FALSE(fs::exists(folder_ / "a.sh"));
}

TEST_F(SaveFiles, RefusesAFileInTheFoldersPlace) {
  std::ofstream(folder_ / "file") << "mine";
  EXPECT_FALSE(save_files("--save-dir", (folder_ / "file").string(), files_));
  EXPECT_FALSE(save_files("--save-dir", (folder_ / "file" / "below").string(), files_));
  EXPECT_EQ(text_of(folder_ / "file"), "mine");
}

}  // namespace
}  // namespace ridgeline::deploy
