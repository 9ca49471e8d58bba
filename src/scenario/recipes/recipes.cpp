#include "scenario/recipes/recipes.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/check.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "document/embedded_file.hpp"
#include "document/parameter.hpp"
#include "document/reader.hpp"
#include "engine/schedulers.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"
#include "scenario/engine_settings.hpp"
#include "scenario/recipes/formula.hpp"
#include "workload/options.hpp"

namespace ridgeline::scenario {
namespace {

constexpr char kFormulaMark = '=';

std::vector<std::string> words(document::ObjectReader& reader, std::string_view key) {
  std::vector<std::string> found;
  const document::Node* node = reader.node(key);
  if (node == nullptr) {
    return found;
  }
  if (!node->is_list()) {
    reader.problem(key, fmt::format("found {}, expected a list of words", node->describe()));
    return found;
  }
  for (const document::Node& item : node->items()) {
    if (item.is_string()) {
      found.push_back(item.as_string());
    } else {
      reader.problem(key, fmt::format("found {}, expected a word", item.describe()));
    }
  }
  return found;
}

std::string number_text(double value) {
  return value == std::floor(value) ? fmt::format("{:.0f}", value) : fmt::format("{}", value);
}

/// A setting's value as it would stand after a flag, without the mark of a formula.
std::string plain_text(const document::Node& node) {
  if (node.kind() == document::Node::Kind::kBool) {
    return node.as_bool() ? "true" : "false";
  }
  if (node.is_string()) {
    return node.as_string();
  }
  return node.is_number() ? number_text(node.as_real()) : std::string();
}

bool is_formula(const document::Node& node) {
  return node.is_string() && node.as_string().starts_with(kFormulaMark);
}

RecipeRule read_rule(const document::Node& node, const std::string& path, core::Errors& errors) {
  document::ObjectReader reader(node, path, errors);
  RecipeRule rule;
  rule.name = reader.required_string("name");
  rule.source = reader.required_string("source");
  rule.gpus = words(reader, "gpus");
  rule.networks = words(reader, "networks");
  rule.formats = words(reader, "formats");
  rule.versions = words(reader, "versions");
  rule.from = reader.string("from").value_or("");
  rule.until = reader.string("until").value_or("");
  const document::Node* settings = reader.node("settings");
  if (settings == nullptr || !settings->is_map()) {
    reader.problem("settings", "missing, expected a map of settings");
  } else {
    for (const auto& member : settings->members()) {
      if (is_formula(member.value)) {
        if (auto value = evaluate(std::string_view(member.value.as_string()).substr(1), {});
            !value) {
          reader.problem("settings",
                         fmt::format("{}: {}", member.key, value.error().front().message));
        }
      } else if (plain_text(member.value).empty()) {
        reader.problem("settings",
                       fmt::format("{}: found {}, expected a number, a word or a formula",
                                   member.key,
                                   member.value.describe()));
      }
      rule.settings.push_back({.name = member.key, .value = member.value});
    }
  }
  reader.finish();
  return rule;
}

bool matches(const std::vector<std::string>& patterns, std::string_view name) {
  return patterns.empty() || std::ranges::any_of(patterns, [&](const std::string& pattern) {
           return pattern.ends_with('*')
                      ? name.starts_with(std::string_view(pattern).substr(0, pattern.size() - 1))
                      : name == pattern;
         });
}

bool holds(const RecipeRule& rule, const RecipeFacts& facts) {
  const bool in_time = facts.date.empty() ? rule.until.empty()
                                          : (rule.from.empty() || facts.date >= rule.from) &&
                                                (rule.until.empty() || facts.date <= rule.until);
  return in_time && matches(rule.gpus, facts.architecture) &&
         matches(rule.networks, facts.network) && matches(rule.formats, facts.format) &&
         matches(rule.versions, facts.version);
}

/// The longest prompts that a distribution draws, where it has a longest.
std::optional<std::int64_t> longest(const workload::Length& length) {
  if (const auto* fixed = std::get_if<workload::FixedLength>(&length)) {
    return fixed->value.value();
  }
  if (const auto* uniform = std::get_if<workload::UniformLength>(&length)) {
    return uniform->highest.value();
  }
  return std::nullopt;
}

core::Error unknown_recipe(std::string_view name) {
  const auto near = document::nearest(name, recipe_names());
  return {.field = "recipe",
          .message = fmt::format(
              "\"{}\" is no recipe, expected {}", name, fmt::join(recipe_names(), ", ")),
          .hint = near ? fmt::format("did you mean '{}'?", *near) : std::string()};
}

}  // namespace

core::Result<Recipe> read_recipe(std::string_view text, const std::string& file) {
  const auto document = document::parse_yaml(text, file);
  if (!document) {
    return core::fail(document.error());
  }
  core::Errors errors;
  document::ObjectReader reader(*document, "", errors);
  Recipe recipe;
  recipe.name = reader.required_string("recipe");
  recipe.engine = reader.required_string("engine");
  recipe.summary = reader.required_string("summary");
  const document::Node* rules = reader.node("rules");
  if (rules == nullptr || !rules->is_list()) {
    reader.problem("rules", "missing, expected a list of rules");
  } else {
    for (const document::Node& rule : rules->items()) {
      recipe.rules.push_back(
          read_rule(rule, fmt::format("rules[{}]", recipe.rules.size()), errors));
    }
  }
  reader.finish();
  if (engine::find_scheduler(engine::schedulers(), recipe.engine) == nullptr) {
    reader.problem("engine", fmt::format("\"{}\" is no engine", recipe.engine));
  }
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return recipe;
}

const std::vector<Recipe>& recipes() {
  static const std::vector<Recipe> kRecipes = [] {
    std::vector<Recipe> all;
    for (const document::EmbeddedFile& file : recipe_files()) {
      auto read = read_recipe(file.text, std::string(file.name));
      RIDGELINE_CHECK(read.has_value(), file.name);
      all.push_back(std::move(*read));
    }
    return all;
  }();
  return kRecipes;
}

std::vector<std::string> recipe_names() {
  std::vector<std::string> names;
  for (const Recipe& recipe : recipes()) {
    if (std::ranges::find(names, recipe.name) == names.end()) {
      names.push_back(recipe.name);
    }
  }
  return names;
}

std::string AppliedRecipe::text(std::string_view name) const {
  std::vector<std::string> values;
  for (const Override& setting : settings) {
    values.push_back(
        fmt::format("{} {}", setting.path.substr(setting.path.find('.') + 1), setting.text));
  }
  return fmt::format("recipe {} ({}): {}",
                     name,
                     fmt::join(rules, "; "),
                     values.empty() ? "nothing" : fmt::format("{}", fmt::join(values, ", ")));
}

core::Result<AppliedRecipe> apply_recipe(std::string_view name, const RecipeFacts& facts) {
  const auto has_name = [&](const Recipe& recipe) { return recipe.name == name; };
  if (std::ranges::none_of(recipes(), has_name)) {
    return core::fail(unknown_recipe(name));
  }
  const auto found = std::ranges::find_if(recipes(), [&](const Recipe& recipe) {
    return has_name(recipe) && recipe.engine == facts.engine;
  });
  if (found == recipes().end()) {
    return core::fail(core::Error{
        .field = "recipe", .message = fmt::format("{} has no rules for {}", name, facts.engine)});
  }
  FormulaInputs inputs{.clients = {},
                       .prompt_tokens = {},
                       .tensor_parallel_size = static_cast<double>(facts.tensor_parallel_size)};
  if (facts.clients) {
    inputs.clients = static_cast<double>(*facts.clients);
  }
  if (facts.prompt_tokens) {
    inputs.prompt_tokens = static_cast<double>(*facts.prompt_tokens);
  }
  AppliedRecipe applied;
  for (const RecipeRule& rule : found->rules) {
    if (!holds(rule, facts)) {
      continue;
    }
    applied.rules.push_back(rule.name);
    for (const document::NamedValue& setting : rule.settings) {
      const std::string path = fmt::format("engine.{}", setting.name);
      std::erase_if(applied.settings, [&](const Override& known) { return known.path == path; });
      std::erase(applied.unknown, setting.name);
      if (!is_formula(setting.value)) {
        applied.settings.push_back({.path = path, .text = plain_text(setting.value)});
        continue;
      }
      const auto value = evaluate(std::string_view(setting.value.as_string()).substr(1), inputs);
      if (value && *value) {
        applied.settings.push_back({.path = path, .text = number_text(**value)});
      } else {
        applied.unknown.push_back(setting.name);
      }
    }
  }
  return applied;
}

RecipeFacts recipe_facts(const Scenario& scenario) {
  const DeploymentSection& section = scenario.deployment;
  RecipeFacts facts;
  if (const auto choice = engine::find_engine(section.engine.version)) {
    facts.engine = choice->engine->name;
  }
  if (const auto gpu = hardware::find_gpu(section.gpu)) {
    facts.architecture = gpu->architecture;
  }
  if (const auto network = model::find_model(section.model)) {
    facts.network = network->name;
  }
  facts.format = section.engine.quantization.value_or("");
  facts.tensor_parallel_size = section.engine.tensor_parallel_size;
  facts.clients = scenario.workload.max_concurrency;
  if (scenario.workload.input_len) {
    facts.prompt_tokens = longest(*scenario.workload.input_len);
    if (facts.prompt_tokens) {
      *facts.prompt_tokens += scenario.workload.prefix_len.value_or(0);
    }
  }
  return facts;
}

}  // namespace ridgeline::scenario
