#include "verbs/schema_text.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "document/node_json.hpp"
#include "report/schemas.hpp"
#include "scenario/options.hpp"

namespace ridgeline::verbs {
namespace {

constexpr std::string_view kSchemaSuffix = ".schema.json";
/// Made from the option table; the others are files.
constexpr std::string_view kMadeSchema = "scenario";
constexpr std::string_view kOptionsSchema = "options";

}  // namespace

std::vector<std::string> schema_names() {
  std::vector<std::string> names = {std::string(kMadeSchema), std::string(kOptionsSchema)};
  for (const auto& file : report::schema_files()) {
    names.emplace_back(file.name.substr(0, file.name.find(kSchemaSuffix)));
  }
  return names;
}

std::optional<std::string> schema_text(std::string_view name) {
  if (name == kMadeSchema) {
    return document::json_text(scenario::scenario_schema());
  }
  if (name == kOptionsSchema) {
    return document::json_text(scenario::options_schema());
  }
  for (const auto& file : report::schema_files()) {
    if (file.name == std::string(name) + std::string(kSchemaSuffix)) {
      return std::string(file.text);
    }
  }
  return std::nullopt;
}

}  // namespace ridgeline::verbs
