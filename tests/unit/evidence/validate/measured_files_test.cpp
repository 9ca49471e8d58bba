#include "evidence/validate/measured_files.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ridgeline::evidence::validate {
namespace {

using ::testing::HasSubstr;

std::string file_with(const std::string& name, const std::string& text) {
  const auto path = std::filesystem::path(testing::TempDir()) / name;
  std::ofstream(path) << text;
  return path.string();
}

TEST(ReadFiles, RecordsStandInTheOrderOfTheFiles) {
  const auto records = read_files(
      {file_with("b.jsonl", "{\"id\": \"b\"}\n"), file_with("a.jsonl", "{\"id\": \"a\"}\n")}, {});
  ASSERT_TRUE(records);
  ASSERT_EQ(records->size(), 2U);
  EXPECT_THAT((*records)[0].file, HasSubstr("b.jsonl"));
  EXPECT_THAT((*records)[1].file, HasSubstr("a.jsonl"));
}

TEST(ReadFiles, EveryProblemIsNoted) {
  EXPECT_THAT(read_files({}, {}).error().front().message, HasSubstr("found no file"));
  const std::string one = file_with("one.jsonl", "{\"id\": \"a\"}\n");
  const std::string copy = file_with("copy.jsonl", "{\"id\": \"a\"}\n");
  const auto twice = read_files({one, copy, "no/such/file"}, {});
  ASSERT_FALSE(twice);
  ASSERT_EQ(twice.error().size(), 2U);
  EXPECT_THAT(twice.error()[0].message, HasSubstr("expected each file once"));
}

}  // namespace
}  // namespace ridgeline::evidence::validate
