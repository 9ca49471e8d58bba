#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/check.hpp"
#include "ridgeline/ridgeline.hpp"
#include "support/paths.hpp"
#include "unit/api/scenarios.hpp"

namespace ridgeline {
namespace {

using testing::HasSubstr;

TEST(Library, LoadsResolvesAndRuns) {
  const auto scenario = Scenario::from_json(api::small_scenario(50));
  ASSERT_TRUE(scenario);
  const auto resolved = scenario->resolve();
  ASSERT_TRUE(resolved);
  EXPECT_EQ((*resolved->explanation())["deployment"].text(), "llama-3.1-8b on h100");
  const auto result = resolved->run();
  ASSERT_TRUE(result);
  EXPECT_FALSE(result->partial());
  EXPECT_TRUE(result->answered());
  EXPECT_EQ(result->tree()["summary"]["completed"].integer(), 50);
  EXPECT_EQ(result->tree()["run_info"]["version"].text(), version());

  // What it ran on is a scenario that gives the same run.
  const auto again = Scenario::from_json(resolved->config()->json());
  ASSERT_TRUE(again);
  EXPECT_EQ((*again->resolve()->run()).tree()["digest"].text(), result->tree()["digest"].text());
}

TEST(Library, ASettingThatDoesNotExistIsTheUsersMistake) {
  const auto scenario = Scenario::from_json(api::small_scenario(50), {{"engine.block_sise", "32"}});
  ASSERT_FALSE(scenario);
  EXPECT_EQ(scenario.errors().front().code, ErrorCode::kUsage);
  EXPECT_THAT(scenario.errors().front().hint, HasSubstr("engine.block_size"));
}

TEST(Library, SettingsWinOverTheDocument) {
  const auto scenario = Scenario::from_json(api::small_scenario(50), {{"engine.block_size", "32"}});
  ASSERT_TRUE(scenario);
  EXPECT_EQ((*scenario->resolve()->config())["engine"]["block_size"].integer(), 32);
}

TEST(Library, FilesAreRead) {
  const auto path = (test::source_dir() / "scenarios" / "nothing.yaml").string();
  const auto scenario = Scenario::from_file(path);
  ASSERT_FALSE(scenario);
  EXPECT_THAT(scenario.errors().front().message + scenario.errors().front().file,
              HasSubstr("nothing.yaml"));
}

TEST(Library, EveryErrorHasItsPlace) {
  const auto scenario = Scenario::from_json("{\"model\": \"llama-3.1-8b\",\n \"gpuu\": 1}");
  ASSERT_FALSE(scenario);
  EXPECT_EQ(scenario.errors().front().code, ErrorCode::kUsage);
  EXPECT_EQ(scenario.errors().front().line, 2);
  const auto large =
      Scenario::from_json(R"({"model": "llama-3.1-405b", "gpu": "l40s"})", {}, Purpose::kLook);
  ASSERT_TRUE(large);
  EXPECT_EQ(large->resolve().errors().front().code, ErrorCode::kInfeasible);
}

TEST(Library, HooksSeeEveryRequestAndTheProgress) {
  std::vector<RequestEnd> ends;
  int reports = 0;
  Hooks hooks;
  hooks.request = [&](const RequestEnd& end) { ends.push_back(end); };
  hooks.progress = [&](const Progress& progress) {
    ++reports;
    EXPECT_EQ(progress.total, 500);
  };
  const auto result = Scenario::from_json(api::small_scenario(500))->resolve()->run(hooks);
  ASSERT_TRUE(result);
  ASSERT_EQ(ends.size(), 500U);
  EXPECT_EQ(ends.front().outcome, "finished");
  EXPECT_EQ(ends.front().output_tokens, 32);
  EXPECT_GT(ends.front().ttft_ms, 0.0);
  EXPECT_GT(reports, 0);
}

TEST(Library, AnInterruptLeavesAPartialResult) {
  int requests = 0;
  Hooks hooks;
  hooks.request = [&](const RequestEnd& end) { requests += end.outcome == "finished" ? 1 : 0; };
  hooks.interrupted = [&] { return requests >= 100; };
  const auto result = Scenario::from_json(api::small_scenario(1'000'000))->resolve()->run(hooks);
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->partial());
  EXPECT_EQ(result->tree()["partial"].boolean(), true);
  EXPECT_LT(result->tree()["summary"]["completed"].integer(), 1'000'000);
}

TEST(Library, AFailedCheckInARunIsAnErrorOfThatRun) {
  const auto resolved = Scenario::from_json(api::small_scenario(50))->resolve();
  Hooks hooks;
  hooks.request = [](const RequestEnd& end) { RIDGELINE_CHECK(end.id < 10, "a broken invariant"); };
  const auto broken = resolved->run(hooks);
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.errors().front().code, ErrorCode::kInternal);
  EXPECT_THAT(broken.errors().front().message, HasSubstr("a broken invariant"));
  hooks.request = [](const RequestEnd&) { throw std::runtime_error("the host's own"); };
  EXPECT_THAT(resolved->run(hooks).errors().front().message, HasSubstr("the host's own"));
  EXPECT_EQ(resolved->run()->tree()["summary"]["completed"].integer(), 50);
}

TEST(Library, AnEmptyObjectIsAnError) {
  const Scenario scenario(nullptr);
  ASSERT_FALSE(scenario.resolve());
  EXPECT_THAT(scenario.step({.decode = "1", .prefill = ""}).errors()[0].message,
              HasSubstr("is empty"));
  const ResolvedScenario resolved(nullptr);
  EXPECT_FALSE(resolved.config());
  EXPECT_FALSE(resolved.explanation());
  EXPECT_FALSE(resolved.run());
}

TEST(Library, ARunWithoutAWorkloadNamesTheWorkload) {
  const auto scenario =
      Scenario::from_json(R"({"model": "llama-3.1-8b", "gpu": "h100"})", {}, Purpose::kLook);
  ASSERT_TRUE(scenario);
  const auto result = scenario->resolve()->run();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.errors()[0].field, "workload");
}

TEST(Library, StepsListsAndSchemas) {
  const auto scenario =
      Scenario::from_json(R"({"model": "llama-3.1-8b", "gpu": "h100"})", {}, Purpose::kLook);
  ASSERT_TRUE(scenario);
  const auto step = scenario->step({.decode = "700x32", .prefill = "0+2048"});
  ASSERT_TRUE(step);
  EXPECT_GT((*step)["step_us"].number(), 0.0);
  const auto both = scenario->step({.decode = "700", .prefill = "", .compare = {"kernel", "v0"}});
  ASSERT_TRUE(both);
  EXPECT_EQ((*both)["models"].size(), 2U);
  EXPECT_FALSE(scenario->step({.decode = "x", .prefill = ""}));
  EXPECT_GT(list("gpus")->size(), 10U);
  EXPECT_FALSE(list("gpu"));
  EXPECT_THAT(*schema("result"), HasSubstr("schema_version"));
  EXPECT_FALSE(schema("nothing"));
}

}  // namespace
}  // namespace ridgeline
