#include <filesystem>
#include <fstream>
#include <ios>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "unit/document/document_text.hpp"

namespace ridgeline::document {
namespace {

class File : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* const info = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path(::testing::TempDir()) /
              (std::string("ridgeline_file_test_") + info->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string write(const std::string& name, std::string_view text) const {
    const std::string path = (folder_ / name).string();
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  [[nodiscard]] std::string folder() const { return folder_.string(); }

 private:
  std::filesystem::path folder_;
};

std::string problem(const core::Result<std::string>& result) {
  return result ? "no problem" : core::to_string(result.error().front());
}

TEST_F(File, KeepsEveryByte) {
  std::string bytes;
  for (int i = 0; i < 200'000; ++i) {
    bytes += static_cast<char>(i * 7 % 256);
  }
  EXPECT_EQ(read_file(write("bytes", bytes)).value_or("unreadable"), bytes);
  EXPECT_EQ(read_file(write("empty", "")).value_or("unreadable"), "");
}

TEST_F(File, SaysWhyNot) {
  EXPECT_EQ(problem(read_file(folder() + "/none.yaml")), folder() + "/none.yaml: no such file");
  EXPECT_EQ(problem(read_file(folder())), folder() + ": is a folder, expected a file");
  EXPECT_EQ(problem(read_file("")), "the name of a file is empty");
  const std::string file = write("file", "x");
  EXPECT_EQ(problem(read_file(file + "/below")), file + "/below: no such file");
}

TEST_F(File, SaysWhyNotForAFileThatCannotBeRead) {
  // Its first page is never mapped, so that reading it fails for every user, root too.
  if (!std::filesystem::exists("/proc/self/mem")) {
    GTEST_SKIP() << "no /proc on this system";
  }
  EXPECT_EQ(problem(read_file("/proc/self/mem")),
            "/proc/self/mem: cannot be read: Input/output error");
}

TEST_F(File, LimitsSize) {
  const std::string ten = write("ten", "0123456789");
  EXPECT_EQ(read_file(ten, 10).value_or("unreadable"), "0123456789");
  EXPECT_EQ(problem(read_file(ten, 9)), ten + ": is larger than the limit of 9 bytes");
  EXPECT_EQ(read_file(ten, static_cast<std::size_t>(-1)).value_or("unreadable"), "0123456789");
  EXPECT_EQ(problem(read_file(ten, 0)), ten + ": is larger than the limit of 0 bytes");
  EXPECT_EQ(read_file(write("empty", ""), 0).value_or("unreadable"), "");
}

TEST_F(File, ReadsDocumentsByTheirNames) {
  EXPECT_EQ(outline(read_document(write("a.json", "{\"a\": 1}"))), "{a@1:2=1@1:7 }@1:1");
  EXPECT_EQ(outline(read_document(write("a.yaml", "a: 1"))), "{a@1:1=1@1:4 }@1:1");
  // Without quotes it is YAML, but the name says JSON.
  const std::string wrong = write("b.json", "{a: 1}");
  EXPECT_EQ(outline(read_document(wrong)),
            wrong + ":1:2: expected a key in quotes, ':', ',' or '}', found \"a\"");
  const std::string empty = write("empty.yaml", "");
  EXPECT_EQ(outline(read_document(empty)), empty + ":1:1: is empty, expected a YAML document");
  EXPECT_EQ(outline(read_document(folder() + "/none.json")), folder() + "/none.json: no such file");
}

}  // namespace
}  // namespace ridgeline::document
