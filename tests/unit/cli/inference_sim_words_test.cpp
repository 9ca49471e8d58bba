#include "cli/inference_sim_words.hpp"

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/arguments.hpp"
#include "cli/common.hpp"
#include "cli/foreign_flags.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "scenario/scenario.hpp"
#include "workload/options.hpp"

namespace ridgeline::cli {
namespace {

using ::testing::HasSubstr;

core::Result<scenario::LoadedScenario> blis_loaded(std::vector<std::string> more) {
  std::vector<std::string> words = {"--model", "llama-3.1-8b", "--gpu", "h100"};
  words.insert(words.end(), more.begin(), more.end());
  return parse_arguments(words, scenario_flags(ScenarioPart::kWhole), foreign_flags)
      .and_then(
          [](const Arguments& arguments) { return load(arguments, scenario::Purpose::kRun); });
}

std::string blis_problem(std::vector<std::string> more) {
  const auto result = blis_loaded(std::move(more));
  return result ? "no problem" : core::to_string(result.error().front());
}

TEST(InferenceSimWords, AHorizonIsInMicroseconds) {
  const auto found = blis_loaded({"--rate", "2", "--horizon", "5000000"});
  ASSERT_TRUE(found) << core::to_string(found.error().front());
  EXPECT_EQ(found->scenario.workload.duration, core::Duration::seconds(5));
  ASSERT_FALSE(found->warnings.empty());
  EXPECT_THAT(found->warnings[0].message, HasSubstr("--horizon 5000000: taken as --duration"));
  const auto none = blis_loaded({"--rate", "2", "--horizon", "9223372036854775807"});
  ASSERT_TRUE(none);
  EXPECT_FALSE(none->scenario.workload.duration.has_value());
  EXPECT_THAT(blis_problem({"--rate", "2", "--horizon", "5s"}), HasSubstr("microseconds"));
}

// Lengths decide a result: those that no flag states are said.
TEST(InferenceSimWords, LengthsThatAreNotGivenAreSaid) {
  const auto assumed = [](std::vector<std::string> words) {
    const auto found = blis_loaded(std::move(words));
    std::vector<std::string> said;
    for (const core::Warning& warning : found ? found->warnings : core::Warnings()) {
      if (warning.code == "W-assumed-lengths") {
        said.push_back(warning.message.substr(0, warning.message.find(':')));
      }
    }
    return said;
  };
  using ::testing::ElementsAre;
  using ::testing::IsEmpty;
  EXPECT_THAT(assumed({"--concurrency", "8"}), ElementsAre("--input-len, --output-len"));
  EXPECT_THAT(assumed({"--concurrency", "8", "--input-len", "9"}), ElementsAre("--output-len"));
  EXPECT_THAT(assumed({"--concurrency", "8", "--input-len", "9", "--output-len", "9"}), IsEmpty());
  EXPECT_THAT(assumed({"--rate", "2", "--prompt-tokens-stdev", "9", "--output-tokens", "9"}),
              ElementsAre("--input-len"));
  EXPECT_THAT(assumed({"--dataset-name", "random"}), ElementsAre("--input-len", "--output-len"));
  EXPECT_THAT(assumed({"--dataset-name", "sonnet", "--sonnet-input-len", "600"}),
              ElementsAre("--prefix-len", "--output-len"));
}

TEST(InferenceSimWords, LengthsAreNormal) {
  const auto plain = blis_loaded({"--rate", "2"});
  ASSERT_TRUE(plain);
  const auto& lengths = plain->scenario.workload;
  EXPECT_EQ(lengths.num_prompts, 100);

  const auto input = std::get<workload::NormalLength>(*lengths.input_len);
  EXPECT_EQ(input.mean, 512.0);
  EXPECT_EQ(input.std, 256.0);
  const auto spread = blis_loaded({"--rate",
                                   "2",
                                   "--prompt-tokens",
                                   "100",
                                   "--prompt-tokens-stdev",
                                   "20",
                                   "--prompt-tokens-max",
                                   "150",
                                   "--output-tokens",
                                   "7"});
  ASSERT_TRUE(spread) << core::to_string(spread.error().front());
  const auto normal = std::get<workload::NormalLength>(*spread->scenario.workload.input_len);
  EXPECT_EQ(normal.mean, 100.0);
  EXPECT_EQ(normal.std, 20.0);
  EXPECT_EQ(std::get<workload::FixedLength>(*spread->scenario.workload.output_len).value,
            core::Tokens(7));
}

TEST(InferenceSimWords, FittedModelsAreNotHere) {
  const auto found = blis_loaded({"--rate", "2", "--latency-model", "trained-physics"});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->scenario.deployment.latency.name, "kernel");
  EXPECT_THAT(found->warnings,
              testing::Contains(testing::Field(&core::Warning::message,
                                               HasSubstr("trained-physics: fitted to"))));
}

TEST(InferenceSimWords, AHeaderBelongsToItsData) {
  const auto load_trace = [](std::vector<std::string> words) {
    words.insert(words.begin(), {"--model", "llama-3.1-8b", "--gpu", "h100"});
    return parse_arguments(words, scenario_flags(ScenarioPart::kWhole), foreign_flags)
        .and_then([](const Arguments& all) { return load(all, scenario::Purpose::kReplay); });
  };
  const auto both = load_trace({"--trace-header",
                                "d/trace_header.yaml",
                                "--trace-data",
                                "d/trace_data.csv",
                                "--session-mode",
                                "closed-loop"});
  ASSERT_TRUE(both) << core::to_string(both.error().front());
  EXPECT_EQ(both->scenario.workload.trace, "d/trace_data.csv");
  EXPECT_EQ(both->scenario.workload.trace_sessions, "answered");
  EXPECT_FALSE(load_trace({"--trace-header", "e/a.yaml", "--trace-data", "d/a.csv"}));
  EXPECT_FALSE(load_trace({"--trace-header", "d/b.yaml", "--trace-data", "d/a.csv"}));
}

TEST(InferenceSimWords, RooflineIsAFlagHere) {
  const auto roofline = blis_loaded({"--latency-model",
                                     "roofline",
                                     "--request-rate",
                                     "1",
                                     "--prompt-tokens",
                                     "5",
                                     "--output-tokens",
                                     "2"});
  ASSERT_TRUE(roofline);
  EXPECT_EQ(roofline->scenario.deployment.latency.name, "v1");
}

}  // namespace
}  // namespace ridgeline::cli
