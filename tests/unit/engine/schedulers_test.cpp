#include "engine/schedulers.hpp"

#include <array>
#include <memory>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "engine/loop/step_scheduler.hpp"
#include "engine/options.hpp"
#include "support/probe_run.hpp"
#include "support/seats/scheduler.hpp"

namespace ridgeline::engine {
namespace {

TEST(Schedulers, AreFoundByName) {
  const SchedulerEntry* const vllm = find_scheduler(schedulers(), "vllm");
  ASSERT_NE(vllm, nullptr);
  EXPECT_EQ(EngineOptions().scheduler, vllm->name);
  EXPECT_EQ(find_scheduler(schedulers(), "seats"), nullptr);
}

TEST(Schedulers, AnotherIsOneLineOfATable) {
  constexpr std::array<SchedulerEntry, 1> kTable = {{
      {.name = "seats",
       .summary = "first come first served on seats alone",
       .make = [](const EngineOptions& options) -> std::unique_ptr<StepScheduler> {
         return std::make_unique<test::seats::Scheduler>(options);
       }},
  }};
  const SchedulerEntry* const seats = find_scheduler(kTable, "seats");
  ASSERT_NE(seats, nullptr);
  const auto scheduler = seats->make(test::tiny_options("0.15"));
  EXPECT_EQ(scheduler->counts().running, 0);
}

TEST(FindEngine, AVersionWithoutAnEngineIsVllms) {
  for (const char* version : {"vllm@0.15", "0.15", "0.15.3"}) {
    const auto found = find_engine(version);
    ASSERT_TRUE(found) << version;
    EXPECT_EQ(found->engine->name, "vllm");
    EXPECT_EQ(found->profile, "vllm@0.15");
    EXPECT_EQ(found->match, EngineChoice::Match::kOwn);
  }
}

TEST(FindEngine, SaysHowTheProfileStandsToTheVersionNamed) {
  using Match = EngineChoice::Match;
  const std::vector<std::tuple<const char*, const char*, Match>> cases = {
      {"vllm@0.16", "vllm@0.15", Match::kOlder},
      {"0.10.2", "vllm@0.9", Match::kOlder},
      {"0.8.5.post1", "vllm@0.8", Match::kOwn},
      {"vllm@9.9", "vllm@0.33", Match::kBeyond},
      {"sglang", "sglang@0.5.23", Match::kOwn},
      {"sglang@main", "sglang@main", Match::kOwn},
      {"sglang@0.5.15.post2", "sglang@0.5.15", Match::kOwn},
      {"sglang@0.5.5.post1", "sglang@0.5.5", Match::kOwn},
      {"sglang@0.5.9", "sglang@0.5.5", Match::kOlder},
      {"sglang@0.6", "sglang@0.5.23", Match::kBeyond},
      {"tensorrt-llm@1.2.3", "tensorrt-llm@1.2", Match::kOwn},
      {"tensorrt-llm@1.2rc3", "tensorrt-llm@1.2", Match::kOwn},
      {"tensorrt-llm@1.0", "tensorrt-llm@1.2", Match::kOlder},
      {"tensorrt-llm@9.9", "tensorrt-llm@1.2", Match::kBeyond},
  };
  for (const auto& [version, profile, match] : cases) {
    const auto found = find_engine(version);
    ASSERT_TRUE(found) << version;
    EXPECT_EQ(found->profile, profile) << version;
    EXPECT_EQ(found->match, match) << version;
  }
}

TEST(FindEngine, NamesTheNearestOfAnUnknownOne) {
  const auto found = find_engine("vlm@0.15");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().front().field, "engine.version");
  EXPECT_EQ(found.error().front().hint, "did you mean 'vllm@0.15'?");
}

TEST(FindEngine, TakesTheVersionBelowTheOneNamed) {
  EXPECT_EQ(find_engine("sglang")->version, "0.5.23");
  EXPECT_EQ(find_engine("sglang@0.5.5")->version, "0.5.5");
  EXPECT_EQ(find_engine("sglang@0.5.9")->version, "0.5.5");
  EXPECT_EQ(find_engine("sglang@0.6")->version, "0.5.23");
  EXPECT_FALSE(find_engine("sglang@0.4"));
  EXPECT_FALSE(find_engine("sglang@newest"));
}

TEST(EngineNames, AreThoseThatAreFound) {
  for (const EngineName& engine : engine_names()) {
    EXPECT_TRUE(find_engine(engine.name)) << engine.name;
    EXPECT_FALSE(engine.summary.empty()) << engine.name;
  }
}

}  // namespace
}  // namespace ridgeline::engine
