#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "scenario/length.hpp"
#include "scenario/options.hpp"
#include "scenario/scenario.hpp"
#include "scenario/speculation.hpp"
#include "scenario/time_value.hpp"

namespace ridgeline::scenario {

using document::MapBuilder;

namespace {

document::Node text_list(const std::vector<std::string_view>& texts) {
  std::vector<document::Node> items;
  items.reserve(texts.size());
  for (const auto text : texts) {
    items.push_back(document::Node::string(std::string(text), {}));
  }
  return document::Node::list(std::move(items), {});
}

/// `schema`, or null: what stands in a file as null is not set.
document::Node or_null(document::Node schema) {
  std::vector<document::Node> either;
  either.push_back(std::move(schema));
  either.push_back(MapBuilder().add("type", "null"));
  return MapBuilder().add("anyOf", document::Node::list(std::move(either), {}));
}

document::Node value_schema(const Option& option) {
  const std::string_view kind = option.kind();
  if (kind == "integer or distribution") {
    return length_schema();
  }
  if (kind == "map" && option.path == "engine.speculative_config") {
    return speculative_schema();
  }
  MapBuilder schema;
  if (kind == "integer") {
    if (option.unit == "tokens") {  // As parse_token_count() takes them.
      schema.add("type", text_list({"integer", "string"}))
          .add("pattern", "^([0-9]+[KMGT]|[0-9]+(\\.[0-9]+)?[kmgt])$");
    } else {
      schema.add("type", "integer");
    }
    schema.add("minimum", static_cast<std::int64_t>(option.lowest))
        .add("maximum", static_cast<std::int64_t>(option.highest));
  } else if (kind == "number") {
    schema.add("type", "number").add("minimum", option.lowest).add("maximum", option.highest);
  } else if (kind == "true or false") {
    schema.add("type", "boolean");
  } else if (kind == "map" || kind == "list") {
    const std::string_view type = kind == "map" ? "object" : "array";
    if (option.choices.empty()) {
      schema.add("type", std::string(type));
    } else {
      schema.add("type", text_list({type, "string"}));  // Or a word that stands for one.
    }
  } else if (kind == "duration" && option.unit != kLatencyTarget) {
    // A number of seconds, or a number with a unit of time.
    schema.add("type", text_list({"number", "string"})).add("minimum", option.lowest);
  } else if (!option.choices.empty()) {
    schema.add("enum", text_list({option.choices.begin(), option.choices.end()}));
  } else if (option.unit == kCountOrShare) {
    schema.add("type", text_list({"integer", "string"})).add("pattern", "^[0-9]+%?$");
  } else {
    schema.add("type", "string");
  }
  return schema.build();
}

document::Node option_schema(const Option& option) {
  const bool required = option.unset == "required";
  MapBuilder schema;
  schema.add("description", option.help);
  document::Node value = value_schema(option);
  if (!required) {
    value = or_null(std::move(value));
  }
  for (const auto& member : value.members()) {
    schema.add(member.key, member.value);
  }
  if (const auto standard = value_node(option, Scenario()); !required && !standard.is_null()) {
    schema.add("default", standard);
  }
  return schema.build();
}

document::Node object_schema(MapBuilder properties) {
  return MapBuilder()
      .add("type", "object")
      .add("additionalProperties", false)
      .add("properties", std::move(properties));
}

/// A section and those below it; a plain word is the option that names it.
document::Node section_schema(const std::string& path);

MapBuilder properties_of(const std::string& path) {
  MapBuilder properties;
  std::vector<std::string> seen;
  for (const auto& option : options()) {
    const std::string before = path.empty() ? "" : path + ".";
    if (!option.path.starts_with(before)) {
      continue;
    }
    const std::string rest(option.path.substr(before.size()));
    const std::string key = rest.substr(0, rest.find('.'));
    if (std::ranges::find(seen, key) == seen.end()) {
      seen.push_back(key);
      properties.add(key, key == rest ? option_schema(option) : section_schema(before + key));
    }
  }
  if (path == "latency") {
    properties.add("set",
                   MapBuilder()
                       .add("description", "Constants and switches of the step-time model, by name")
                       .add("type", "object"));
  }
  return properties;
}

document::Node section_schema(const std::string& path) {
  document::Node map = object_schema(properties_of(path));
  if (naming_key(path).empty()) {
    return map;
  }
  std::vector<document::Node> either;
  either.push_back(std::move(map));
  either.push_back(MapBuilder().add("type", "string"));
  return MapBuilder().add("anyOf", document::Node::list(std::move(either), {}));
}

}  // namespace

document::Node scenario_schema() {
  MapBuilder top = properties_of("");
  top.add("set",
          MapBuilder()
              .add("description",
                   "What-if on values of the network's or the GPU's document, by dotted name")
              .add("type", "object")
              .add("propertyNames", MapBuilder().add("pattern", "^(model|hardware)\\..+")));

  top.add("calibrated",
          MapBuilder()
              .add("description",
                   "How far predictions of this very server are off, by its own measurements: "
                   "written by `calibrate`")
              .add("type", "object"));

  document::Node object = object_schema(std::move(top));
  MapBuilder schema;
  schema.add("$schema", "https://json-schema.org/draft/2020-12/schema")
      .add("title", "Ridgeline scenario");
  for (const auto& member : object.members()) {
    schema.add(member.key, member.value);
  }
  return schema.add("required", text_list({"model", "gpu"}));
}

document::Node options_schema() {
  MapBuilder properties;
  for (const Option& option : options()) {
    std::string keyword(option.flag);
    std::ranges::replace(keyword, '-', '_');
    MapBuilder schema;
    schema.add("path", option.path)
        .add("kind", option.kind())
        .add("unit", option.unit)
        .add("required", option.unset == "required")
        .add("default_text", option.default_text())
        .add("range_text", option.range_text())
        .add("example", option.example);
    const document::Node values = option_schema(option);
    for (const auto& member : values.members()) {
      schema.add(member.key, member.value);
    }
    properties.add(keyword, std::move(schema));
  }
  return MapBuilder()
      .add("$schema", "https://json-schema.org/draft/2020-12/schema")
      .add("title", "Ridgeline options by keyword: the flags with underscores")
      .add("type", "object")
      .add("additionalProperties", false)
      .add("properties", std::move(properties));
}

}  // namespace ridgeline::scenario
