#include "scenario/recipes/recipes.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "engine/schedulers.hpp"
#include "scenario/engine_settings.hpp"
#include "scenario/options.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kOwn = R"yaml(
recipe: own
engine: tensorrt-llm
summary: a test's
rules:
  - {name: all, source: a test, settings: {max_num_tokens: "= max(8192, clients)", max_batch_size: 64}}
  - {name: later, source: a test, gpus: [hopper], networks: [gpt-oss-*], from: "2026-01-01",
     settings: {max_batch_size: "= clients"}}
)yaml";

std::string problem_of(std::string_view from, std::string_view to) {
  std::string text(kOwn);
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  const auto read = read_recipe(text, "own.yaml");
  return read ? std::string("none") : core::to_string(read.error().front());
}

std::string text_of(const AppliedRecipe& applied, std::string_view path) {
  const auto found = std::ranges::find(applied.settings, path, &Override::path);
  return found == applied.settings.end() ? std::string() : found->text;
}

TEST(Recipes, EveryRuleHasASourceAndSetsWhatItsEngineHas) {
  for (const Recipe& recipe : recipes()) {
    EngineSection engine;
    engine.version = named_version(recipe.engine);
    for (const RecipeRule& rule : recipe.rules) {
      EXPECT_FALSE(rule.source.empty()) << rule.name;
      for (const auto& setting : rule.settings) {
        const Option* option = find_option("engine." + setting.name);
        ASSERT_NE(option, nullptr) << recipe.engine << ": " << setting.name;
        EXPECT_TRUE(applies(*option, engine)) << recipe.engine << ": " << setting.name;
      }
    }
  }
}

TEST(Recipes, LaterRulesWinWhereTheyHold) {
  RecipeFacts facts{.engine = "tensorrt-llm",
                    .architecture = "blackwell",
                    .network = "gpt-oss-120b",
                    .format = {},
                    .version = {},
                    .tensor_parallel_size = 1,
                    .clients = 32,
                    .prompt_tokens = 8192,
                    .date = "2026-02-05"};
  const auto blackwell = apply_recipe("inferencex", facts);
  ASSERT_TRUE(blackwell.has_value());
  EXPECT_THAT(blackwell->rules, ElementsAre("all servers", "gpt-oss on Blackwell"));
  EXPECT_EQ(text_of(*blackwell, "engine.max_num_tokens"), "20000");
  EXPECT_EQ(text_of(*blackwell, "engine.kv_cache_dtype"), "fp8");
  EXPECT_EQ(text_of(*blackwell, "engine.cuda_graph_max_batch_size"), "32");
  facts.architecture = "hopper";
  const auto hopper = apply_recipe("inferencex", facts);
  ASSERT_TRUE(hopper.has_value());
  EXPECT_EQ(text_of(*hopper, "engine.kv_cache_dtype"), "auto");
  facts.network = "llama-3.1-70b";
  const auto other = apply_recipe("inferencex", facts);
  ASSERT_TRUE(other.has_value());
  EXPECT_EQ(text_of(*other, "engine.max_num_tokens"), "8320");
  EXPECT_EQ(text_of(*other, "engine.free_gpu_memory_fraction"), "0.75");
}

TEST(Recipes, ASettingWhoseFormulaIsNotKnownIsLeftOpen) {
  const auto applied = apply_recipe("inferencex",
                                    {.engine = "tensorrt-llm",
                                     .architecture = "hopper",
                                     .network = "llama-3.1-8b",
                                     .format = {},
                                     .version = {},
                                     .tensor_parallel_size = 1,
                                     .clients = {},
                                     .prompt_tokens = {},
                                     .date = {}});
  ASSERT_TRUE(applied.has_value());
  EXPECT_THAT(applied->unknown, testing::Contains("max_num_tokens"));
  EXPECT_EQ(text_of(*applied, "engine.max_num_tokens"), "");
}

TEST(Recipes, VersionsAndDaysAreThoseStated) {
  RecipeFacts facts{.engine = "tensorrt-llm",
                    .architecture = "hopper",
                    .network = "deepseek-r1",
                    .format = {},
                    .version = "1.1.0rc2.post2",
                    .tensor_parallel_size = 8,
                    .clients = 8,
                    .prompt_tokens = 1024,
                    .date = "2025-12-15"};
  EXPECT_EQ(text_of(*apply_recipe("inferencex", facts), "engine.speculative_config"), "");
  facts.date = "2026-01-14";
  EXPECT_THAT(text_of(*apply_recipe("inferencex", facts), "engine.speculative_config"),
              HasSubstr("mtp"));
  facts.version.clear();
  EXPECT_EQ(text_of(*apply_recipe("inferencex", facts), "engine.speculative_config"), "");
}

TEST(Recipes, VllmsFlagsChangeWithTheDay) {
  RecipeFacts facts{.engine = "vllm",
                    .architecture = "blackwell",
                    .network = "minimax-m2.5-nvfp4",
                    .format = "fp4",
                    .version = {},
                    .tensor_parallel_size = 4,
                    .clients = 8,
                    .prompt_tokens = 1024,
                    .date = "2026-04-08"};
  const auto on = [&](const std::string& date, std::string_view setting) {
    facts.date = date;
    return text_of(*apply_recipe("inferencex", facts), setting);
  };
  EXPECT_EQ(on("2026-04-08", "engine.float32_matmul_precision"), "");
  EXPECT_EQ(on("2026-04-22", "engine.float32_matmul_precision"), "high");
  EXPECT_EQ(on("2026-04-22", "engine.max_num_batched_tokens"), "2048");
  EXPECT_EQ(on("2026-03-11", "engine.moe_backend"), "triton");
  facts.network = "gpt-oss-120b";
  EXPECT_EQ(on("2025-11-02", "engine.kv_cache_dtype"), "");
  EXPECT_EQ(on("2026-02-25", "engine.kv_cache_dtype"), "fp8");
  facts.architecture = "hopper";
  EXPECT_EQ(on("2025-11-02", "engine.moe_backend"), "");
  EXPECT_EQ(on("2026-03-27", "engine.moe_backend"), "marlin");
}

TEST(Recipes, FillWhatAScenarioLeavesOpen) {
  const std::vector<Override> flags = {{.path = "model", .text = "llama-3.1-70b-fp8"},
                                       {.path = "gpu", .text = "h200"},
                                       {.path = "engine.version", .text = "tensorrt-llm"},
                                       {.path = "engine.max_batch_size", .text = "7"},
                                       {.path = "workload.max_concurrency", .text = "16"},
                                       {.path = "workload.input_len", .text = "9000"},
                                       {.path = "workload.output_len", .text = "10"},
                                       {.path = "workload.num_prompts", .text = "1"},
                                       {.path = "recipe", .text = "inferencex"}};
  const auto loaded = load_scenario(std::nullopt, flags, Purpose::kRun);
  ASSERT_TRUE(loaded.has_value()) << core::to_string(loaded.error().front());
  const auto value = [&](std::string_view path) {
    return value_text(*find_option(path), loaded->scenario);
  };
  EXPECT_EQ(value("engine.max_num_tokens"), "9088");
  EXPECT_EQ(value("engine.max_batch_size"), "7");  // As stated.
  ASSERT_FALSE(loaded->warnings.empty());
  EXPECT_EQ(loaded->warnings.front().code, "W-recipe");
  EXPECT_THAT(loaded->warnings.front().message, HasSubstr("max_num_tokens 9088"));
}

TEST(Recipes, RefusesWhatIsNoRecipe) {
  const auto unknown = apply_recipe("inference-x", {});
  ASSERT_FALSE(unknown.has_value());
  EXPECT_EQ(unknown.error().front().message, "\"inference-x\" is no recipe, expected inferencex");
  EXPECT_EQ(unknown.error().front().hint, "did you mean 'inferencex'?");
  RecipeFacts facts;
  facts.engine = "another";
  EXPECT_EQ(apply_recipe("inferencex", facts).error().front().message,
            "inferencex has no rules for another");
}

TEST(Recipes, AFileIsReadStrictly) {
  EXPECT_EQ(problem_of("a test's", "a test"), "none");
  EXPECT_THAT(problem_of("engine: tensorrt-llm", "engine: other"),
              HasSubstr("\"other\" is no engine"));
  EXPECT_THAT(problem_of("clients)", "users)"), HasSubstr("\"users\" is no name of a formula"));
  EXPECT_THAT(problem_of("gpus: [hopper]", "gpus: hopper"), HasSubstr("expected a list of words"));
  EXPECT_THAT(problem_of("max_batch_size: 64", "max_batch_size: []"),
              HasSubstr("expected a number, a word or a formula"));
  EXPECT_THAT(problem_of("summary: a test's", "sumary: a"), HasSubstr("summary"));
}

}  // namespace
}  // namespace ridgeline::scenario
