#include "cli/commands/compare_runs.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/arguments.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"

namespace ridgeline::cli {
namespace {

ExitCode compared(std::vector<std::string> more) {
  std::vector<std::string> words = {"--model",
                                    "llama-3.1-8b",
                                    "--gpu",
                                    "h100",
                                    "--input-len",
                                    "64",
                                    "--output-len",
                                    "4",
                                    "--num-prompts",
                                    "3",
                                    "--request-rate",
                                    "1"};
  words.insert(words.end(), more.begin(), more.end());
  std::vector<FlagSpec> flags = scenario_flags(ScenarioPart::kWhole);
  flags.push_back({.name = "compare", .value = "A,B"});
  flags.push_back({.name = "steps-out", .value = "FILE"});
  flags.push_back(output_flag());
  const auto arguments = parse_arguments(words, flags);
  EXPECT_TRUE(arguments);
  Manners manners = default_manners();
  manners.format = kQuiet;
  return compare_runs({.usage = "run", .about = ""}, *arguments, manners);
}

TEST(CompareRuns, WritesARowPerModelOfTheSameRequests) {
  const std::string path = testing::TempDir() + "compared.csv";
  ASSERT_EQ(compared({"--compare", "kernel,v1", "--output", path}), ExitCode::kOk);
  std::ifstream file(path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(std::ranges::count(text, '\n'), 3);
  EXPECT_THAT(text, testing::HasSubstr(",v1,"));
  std::filesystem::remove(path);
}

TEST(CompareRuns, RefusesWhatIsOfOneRun) {
  EXPECT_EQ(compared({"--compare", "kernel,v1", "--steps-out", "s.jsonl"}), ExitCode::kUsage);
  EXPECT_EQ(compared({"--compare", "kernel,v1", "--latency", "v1"}), ExitCode::kUsage);
  EXPECT_EQ(compared({"--compare", "kernel,v7"}), ExitCode::kUsage);
  EXPECT_FALSE(std::filesystem::exists("s.jsonl"));
}

}  // namespace
}  // namespace ridgeline::cli
