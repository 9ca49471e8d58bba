#include "cli/measured_files.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "cli/arguments.hpp"

namespace ridgeline::cli {
namespace {

Arguments arguments_with(const std::string& file, std::vector<GivenFlag> flags) {
  Arguments arguments;
  if (!file.empty()) {
    arguments.positionals = {file};
  }
  arguments.flags = std::move(flags);
  return arguments;
}

std::string odd_records() {
  const auto path = std::filesystem::path(testing::TempDir()) / "odd.jsonl";
  std::ofstream(path) << "{\"id\": \"a\"}\n";
  return path.string();
}

TEST(MeasuredFiles, ReadsRecordsAndWhatIfs) {
  const auto job = read_measured(
      arguments_with(odd_records(),
                     {{.name = "histories", .value = "5", .typed = "--histories"},
                      {.name = "threads", .value = "1", .typed = "--threads"},
                      {.name = "async-scheduling", .value = "true", .typed = "--async-scheduling"},
                      {.name = "set", .value = "model.x=1", .typed = "--set"}}));
  ASSERT_TRUE(job.has_value());
  EXPECT_EQ(job->evidence.size(), 1U);
  EXPECT_EQ(job->options.histories, 5);
  EXPECT_EQ(job->options.threads, 1);
  ASSERT_EQ(job->options.overrides.size(), 2U);
  EXPECT_EQ(job->options.overrides[0].path, "engine.async_scheduling");
  EXPECT_EQ(job->options.overrides[1].path, "set");
}

TEST(MeasuredFiles, NotesEveryProblem) {
  const auto job =
      read_measured(arguments_with("no/such/file",
                                   {{.name = "histories", .value = "0", .typed = "--histories"},
                                    {.name = "threads", .value = "many", .typed = "--threads"}}));
  ASSERT_FALSE(job.has_value());
  EXPECT_EQ(job.error().size(), 3U);
  EXPECT_FALSE(read_measured(arguments_with("", {})).has_value());
}

}  // namespace
}  // namespace ridgeline::cli
