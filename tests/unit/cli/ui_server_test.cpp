#include "cli/ui_server.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "document/document.hpp"

namespace ridgeline::cli {
namespace {

/// A folder with a file, and a link that leads out of it.
class UiFiles : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_ / "root/sub");
    std::ofstream(folder_ / "root/sub/mine.yaml") << "x";
    std::ofstream(folder_ / "secret.yaml") << "x";
    std::filesystem::create_symlink(folder_ / "secret.yaml", folder_ / "root/link.yaml");
    root_ = std::filesystem::canonical(folder_ / "root");
  }
  [[nodiscard]] bool stays(const std::string& json) const {
    return stays_below(*document::parse_json(json, ""), root_);
  }

  std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) / "ridgeline-ui-files";
  std::filesystem::path root_;
};

TEST_F(UiFiles, NamesBelowTheRootAndOtherTextsStay) {
  EXPECT_TRUE(stays(R"({"base": "sub/mine.yaml", "n": 3, "x": [1, {"y": "h100"}]})"));
  EXPECT_TRUE(stays(R"({"slo": "mlperf/llama2-70b-interactive", "model": "meta-llama/Llama-3"})"));
  EXPECT_TRUE(stays(R"({"base": "not/there.yaml"})"));
}

TEST_F(UiFiles, WhatLeadsOutDoesNot) {
  for (const char* text : {"../secret.yaml",
                           "/etc/hostname",
                           "link.yaml",
                           "-",
                           "sub/../../secret.yaml",
                           "azure:/etc/hostname",
                           "a,/etc/hostname",
                           "//etc/hostname",
                           "file:///etc"}) {
    EXPECT_FALSE(stays(std::string(R"({"x": [{"y": ")") + text + R"("}]})")) << text;
  }
}

}  // namespace
}  // namespace ridgeline::cli
