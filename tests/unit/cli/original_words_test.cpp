#include "cli/original_words.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/arguments.hpp"
#include "cli/common.hpp"
#include "cli/foreign_flags.hpp"
#include "core/result.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::cli {
namespace {

using testing::HasSubstr;

core::Result<scenario::LoadedScenario> loaded(const std::vector<std::string>& words,
                                              scenario::Purpose purpose = scenario::Purpose::kRun) {
  return parse_arguments(words, scenario_flags(ScenarioPart::kWhole), foreign_flags)
      .and_then([&](const Arguments& arguments) { return load(arguments, purpose); });
}

std::vector<std::string> original(std::vector<std::string> more) {
  std::vector<std::string> words = {
      "--model", "llama-3.1-8b", "--hardware", "h100", "--tp", "1", "--workload", "chatbot"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

TEST(OriginalWords, RooflineIsV1WithoutTablesAndV2WithThem) {
  const auto v1 = loaded(original({"--roofline"}));
  ASSERT_TRUE(v1) << core::to_string(v1.error().front());
  EXPECT_EQ(v1->scenario.deployment.latency.name, "v1");
  const auto v2 = loaded(original({"--roofline", "--bench-data-path", "d"}));
  ASSERT_TRUE(v2);
  EXPECT_EQ(v2->scenario.deployment.latency.name, "v2-final");
  EXPECT_EQ(v2->scenario.deployment.latency.bench_data, "d");
  const auto named = loaded(original({"--roofline-version", "v2-mfu"}));
  ASSERT_TRUE(named);
  EXPECT_EQ(named->scenario.deployment.latency.name, "v2-final");
  const auto neither = loaded(original({}));
  ASSERT_TRUE(neither);
  EXPECT_EQ(neither->scenario.deployment.latency.name, "kernel");
}

TEST(OriginalWords, AWorkloadsNameSetsWhatIsLeftOpen) {
  const auto named = loaded(original({"--request-rate", "4"}));
  ASSERT_TRUE(named);
  const auto& workload = named->scenario.workload;
  EXPECT_EQ(workload.num_prompts, 100);
  EXPECT_EQ(workload.request_rate, 4.0);
  EXPECT_EQ(workload.arrivals, "constant");
  ASSERT_TRUE(workload.input_len.has_value());
}

TEST(OriginalWords, EveryPresetOfTheDocumentsIsTakenInAnyCase) {
  for (const char* name : {"chatbot", "Summarization", "contentgen", "multidoc", "DISTRIBUTION"}) {
    const auto done = loaded({"--model", "a", "--gpu", "h100", "--workload", name});
    ASSERT_TRUE(done) << name;
    EXPECT_EQ(done->scenario.workload.num_prompts, 100);
  }
  const auto ours = loaded({"--model", "a", "--gpu", "h100", "--workload", "rag"});
  ASSERT_FALSE(ours);
  EXPECT_THAT(ours.error().front().hint, HasSubstr("preset: rag"));
}

TEST(OriginalWords, RefuseWhatTheyCannotMean) {
  for (const auto& [more, text] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--roofline", "--latency", "kernel"}, "--latency: would be ignored"},
           {{"--roofline-version", "v3"}, "expected one of: v1, v2-mfu"}}) {
    const auto result = loaded(original(more));
    ASSERT_FALSE(result);
    EXPECT_THAT(core::to_string(result.error().front()), HasSubstr(text));
  }
  const auto result = loaded({"--model", "a", "--gpu", "h100", "--workload", "chatbots"});
  ASSERT_FALSE(result);
  EXPECT_THAT(core::to_string(result.error().front()), HasSubstr("did you mean chatbot"));
}

TEST(OriginalWords, AModelsFolderIsTheFolderOrTheOneOfItsNameInIt) {
  const std::filesystem::path root = std::filesystem::path(testing::TempDir()) / "model_configs";
  std::filesystem::create_directories(root / "llama-3.1-8b");
  std::ofstream(root / "llama-3.1-8b" / "config.json") << "{}";
  const auto below = loaded(original({"--model-config-folder", root.string()}));
  ASSERT_TRUE(below) << core::to_string(below.error().front());
  EXPECT_EQ(below->scenario.deployment.model, (root / "llama-3.1-8b").string());
  const auto itself = loaded(original({"--model-config-folder", (root / "llama-3.1-8b").string()}));
  ASSERT_TRUE(itself);
  EXPECT_EQ(itself->scenario.deployment.model, (root / "llama-3.1-8b").string());
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace ridgeline::cli
