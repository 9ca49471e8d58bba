#include "scenario/engine_settings.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "scenario/options.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {
namespace {

core::Result<LoadedScenario> loaded(std::vector<Override> overrides) {
  overrides.push_back({.path = "model", .text = "llama-3.1-8b"});
  overrides.push_back({.path = "gpu", .text = "h100"});
  return load_scenario(std::nullopt, overrides, Purpose::kLook);
}

TEST(EngineSettings, OfVllmAreOptionsOfTheScenario) {
  const EngineSection vllm;
  EXPECT_FALSE(has_own_settings(vllm));
  for (const char* path : {"engine.max_num_seqs", "engine.tensor_parallel_size", "model"}) {
    EXPECT_TRUE(applies(*find_option(path), vllm)) << path;
  }
  for (const Option& option : engine_setting_options()) {
    EXPECT_FALSE(applies(option, vllm)) << option.path;
  }
  EXPECT_TRUE(loaded({{.path = "engine.max_num_seqs", .text = "8"}}));
}

TEST(EngineSettings, APlainWordIsTheVersion) {
  EXPECT_EQ(naming_key("engine"), "version");
  EXPECT_EQ(naming_key("latency"), "name");
  EXPECT_EQ(naming_key("workload"), "");
}

EngineSection sglang() {
  EngineSection section;
  section.version = "sglang@0.5.5";
  return section;
}

TEST(EngineSettings, BelongToTheEngineThatIsChosen) {
  EXPECT_TRUE(has_own_settings(sglang()));
  EXPECT_FALSE(applies(*find_option("engine.max_num_seqs"), sglang()));
  for (const char* path : {"engine.page_size", "engine.tensor_parallel_size", "seed"}) {
    EXPECT_TRUE(applies(*find_option(path), sglang())) << path;
  }
}

TEST(EngineSettings, OfAnotherEngineAreAnsweredWithTheChosenOnesWord) {
  const auto foreign = loaded(
      {{.path = "engine.version", .text = "sglang"}, {.path = "engine.max_num_seqs", .text = "8"}});
  ASSERT_FALSE(foreign);
  EXPECT_EQ(foreign.error().front().field, "engine.max_num_seqs");
  EXPECT_EQ(foreign.error().front().hint, "sglang's own: max_running_requests");
  const auto other = loaded({{.path = "engine.mem_fraction_static", .text = "0.8"}});
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().front().hint, "vllm's own: gpu_memory_utilization");
}

TEST(EngineSettings, AreAllInTheEffectiveConfiguration) {
  auto stated = loaded(
      {{.path = "engine.version", .text = "sglang"}, {.path = "engine.page_size", .text = "16"}});
  ASSERT_TRUE(stated);
  const auto resolved = resolve(std::move(*stated));
  ASSERT_TRUE(resolved);
  const Scenario scenario = resolved->scenario();
  const auto origin = [&](const char* path) {
    return provenance_of(resolved->provenance, path).origin;
  };
  EXPECT_EQ(value_text(*find_option("engine.page_size"), scenario), "16");
  EXPECT_EQ(origin("engine.page_size"), Provenance::Origin::kFlag);
  EXPECT_EQ(value_text(*find_option("engine.schedule_policy"), scenario), "fcfs");
  EXPECT_EQ(origin("engine.schedule_policy"), Provenance::Origin::kDefault);
  EXPECT_EQ(value_text(*find_option("engine.chunked_prefill_size"), scenario), "8192");
  EXPECT_EQ(origin("engine.chunked_prefill_size"), Provenance::Origin::kDerived);
  EXPECT_TRUE(is_standard(*find_option("engine.schedule_policy"), scenario));
  EXPECT_FALSE(is_standard(*find_option("engine.page_size"), scenario));
  // The document has none of vLLM's, and reads as the same scenario.
  const document::Node document = to_node(scenario);
  EXPECT_EQ(document.find("engine")->find("max_num_seqs"), nullptr);
  const auto again = read_scenario(document, {}, Purpose::kLook);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->scenario.deployment.engine.settings.size(),
            scenario.deployment.engine.settings.size());
}

}  // namespace
}  // namespace ridgeline::scenario
