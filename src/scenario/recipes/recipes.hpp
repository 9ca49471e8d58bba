#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "document/embedded_file.hpp"
#include "document/parameter.hpp"
#include "scenario/scenario.hpp"

/// Recipes: the settings with which a publisher of benchmarks starts its servers, as rules
/// (data/recipes).
namespace ridgeline::scenario {

/// data/recipes/*, compiled in.
std::span<const document::EmbeddedFile> recipe_files();

/// One rule: settings of an engine, and where they hold. Later rules win over earlier ones.
struct RecipeRule {
  std::string name;
  std::string source;
  std::vector<std::string> gpus;      ///< Architectures; empty: all.
  std::vector<std::string> networks;  ///< Catalogue names, or beginnings with "*"; empty: all.
  std::vector<std::string> formats;   ///< Formats of the weights: "fp8"; empty: all.
  std::vector<std::string> versions;  ///< Engine versions, as published; empty: all.
  std::string from;                   ///< First day, "2026-04-20"; empty: always.
  std::string until;                  ///< Last day; empty: still.
  /// By the scenario's names below `engine`; a text that begins with "=" is a formula.
  std::vector<document::NamedValue> settings;
};

/// The rules of one recipe for one engine.
struct Recipe {
  std::string name;    ///< "inferencex"
  std::string engine;  ///< As the registry of schedulers names it.
  std::string summary;
  std::vector<RecipeRule> rules;
};

/// Reads such a file; `file` names it in errors.
[[nodiscard]] core::Result<Recipe> read_recipe(std::string_view text, const std::string& file);
/// Those compiled in.
[[nodiscard]] const std::vector<Recipe>& recipes();
/// Their names, each once, in order.
[[nodiscard]] std::vector<std::string> recipe_names();

/// What a recipe's rules depend on.
struct RecipeFacts {
  std::string engine;        ///< As the registry of schedulers names it.
  std::string architecture;  ///< The GPU's: "hopper".
  std::string network;       ///< The catalogue's name.
  std::string format;        ///< Weights' format; empty: only rules for all formats hold.
  std::string version;       ///< The engine's, "1.2.0rc6.post2"; empty: not known, as above.
  std::int64_t tensor_parallel_size = 1;
  std::optional<std::int64_t> clients;
  std::optional<std::int64_t> prompt_tokens;
  std::string date;  ///< Date of the server, "2026-03-25"; empty: the newest rules hold.
};

/// What a recipe says of one deployment.
struct AppliedRecipe {
  std::vector<std::string> rules;    ///< Names, in order.
  std::vector<Override> settings;    ///< "engine.max_num_tokens" and its text.
  std::vector<std::string> unknown;  ///< Settings whose formula names what is not known.

  /// "inferencex: tensorrt-llm, deepseek; max_num_tokens 9280, ..."
  [[nodiscard]] std::string text(std::string_view name) const;
};
/// Fails where the recipe is not known, or has no rules for the engine.
[[nodiscard]] core::Result<AppliedRecipe> apply_recipe(std::string_view name,
                                                       const RecipeFacts& facts);

/// The facts that a scenario states, for its key `recipe`.
[[nodiscard]] RecipeFacts recipe_facts(const Scenario& scenario);

}  // namespace ridgeline::scenario
