#include "document/schema.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/result.hpp"
#include "document/document.hpp"

namespace ridgeline::document {
namespace {

constexpr std::string_view kDefinitions = "#/definitions/";

bool has_type(const Node& value, std::string_view type) {
  switch (value.kind()) {
    case Node::Kind::kNull:
      return type == "null";
    case Node::Kind::kBool:
      return type == "boolean";
    case Node::Kind::kInteger:
      return type == "integer" || type == "number";
    case Node::Kind::kReal:
      return type == "number";
    case Node::Kind::kString:
      return type == "string";
    case Node::Kind::kList:
      return type == "array";
    case Node::Kind::kMap:
      return type == "object";
  }
  return false;
}

/// The names of a `type`: one, or a list of them.
std::vector<std::string> names_of(const Node& type) {
  if (type.is_string()) {
    return {type.as_string()};
  }
  std::vector<std::string> names;
  for (const Node& name : type.items()) {
    names.push_back(name.as_string());
  }
  return names;
}

bool equal(const Node& a, const Node& b) {
  if (a.is_number() && b.is_number()) {
    return a.as_real() == b.as_real();
  }
  return a.is_string() && b.is_string() && a.as_string() == b.as_string();
}

class Checker {
 public:
  Checker(const Node& root, Missing missing, const std::string& file)
      : root_(root), missing_(missing), file_(file) {}

  [[nodiscard]] core::Result<void> check(const Node& value,
                                         const Node& given,
                                         const std::string& field) const {
    const Node& schema = *resolved(&given);
    if (const Node* choices = schema.find("anyOf")) {
      return check_any(value, choices->items(), field);
    }
    if (auto fits = check_value(value, schema, field); !fits) {
      return fits;
    }
    if (value.is_list()) {
      return check_items(value, schema, field);
    }
    return value.is_map() ? check_members(value, schema, field) : core::Result<void>();
  }

 private:
  [[nodiscard]] const Node* resolved(const Node* schema) const {
    const Node* reference = schema->find("$ref");
    if (reference == nullptr) {
      return schema;
    }
    const std::string_view name = reference->as_string();
    RIDGELINE_CHECK(name.starts_with(kDefinitions), "a $ref names a definition");
    const Node* definitions = root_.find("definitions");
    RIDGELINE_CHECK(definitions != nullptr, "a schema with a $ref has definitions");
    const Node* definition = definitions->find(name.substr(kDefinitions.size()));
    RIDGELINE_CHECK(definition != nullptr, "the definition of a $ref exists");
    return resolved(definition);
  }

  [[nodiscard]] core::Result<void> refuse(const Node& value,
                                          const std::string& field,
                                          const std::string& expected) const {
    return core::fail(
        core::Error{.field = field,
                    .message = fmt::format("found {}, expected {}", value.describe(), expected),
                    .where = {.file = file_}});
  }

  [[nodiscard]] core::Result<void> check_any(const Node& value,
                                             const std::vector<Node>& choices,
                                             const std::string& field) const {
    core::Result<void> first;
    for (const Node& choice : choices) {
      auto fits = check(value, choice, field);
      if (fits) {
        return fits;
      }
      if (first) {
        first = std::move(fits);
      }
    }
    return first;
  }

  /// What does not concern members and items.
  [[nodiscard]] core::Result<void> check_value(const Node& value,
                                               const Node& schema,
                                               const std::string& field) const {
    if (const Node* type = schema.find("type")) {
      const std::vector<std::string> names = names_of(*type);
      if (std::ranges::none_of(names, [&](const auto& name) { return has_type(value, name); })) {
        return refuse(value, field, fmt::format("{}", fmt::join(names, " or ")));
      }
    }
    if (const Node* only = schema.find("const"); only != nullptr && !equal(value, *only)) {
      return refuse(value, field, only->describe());
    }
    if (const Node* choices = schema.find("enum")) {
      const auto& all = choices->items();
      if (std::ranges::none_of(all, [&](const Node& each) { return equal(value, each); })) {
        std::vector<std::string> words;
        for (const Node& each : all) {
          words.push_back(each.describe());
        }
        return refuse(value, field, fmt::format("{}", fmt::join(words, ", ")));
      }
    }
    return value.is_number() ? check_range(value, schema, field) : core::Result<void>();
  }

  [[nodiscard]] core::Result<void> check_range(const Node& value,
                                               const Node& schema,
                                               const std::string& field) const {
    const double number = value.as_real();
    if (const Node* least = schema.find("minimum"); least && number < least->as_real()) {
      return refuse(value, field, fmt::format("{} or more", least->as_real()));
    }
    if (const Node* bound = schema.find("exclusiveMinimum"); bound && number <= bound->as_real()) {
      return refuse(value, field, fmt::format("more than {}", bound->as_real()));
    }
    if (const Node* most = schema.find("maximum"); most && number > most->as_real()) {
      return refuse(value, field, fmt::format("{} or less", most->as_real()));
    }
    return {};
  }

  [[nodiscard]] core::Result<void> check_items(const Node& value,
                                               const Node& schema,
                                               const std::string& field) const {
    const Node* items = schema.find("items");
    if (items == nullptr) {
      return {};
    }
    for (std::size_t i = 0; i < value.items().size(); ++i) {
      const Node& item = value.items()[i];
      if (auto fits = check(item, *items, fmt::format("{}[{}]", field, i)); !fits) {
        return fits;
      }
    }
    return {};
  }

  [[nodiscard]] core::Result<void> check_members(const Node& value,
                                                 const Node& schema,
                                                 const std::string& field) const {
    const auto path = [&](const std::string& key) {
      return field.empty() ? key : field + "." + key;
    };
    const Node* required = schema.find("required");
    if (required != nullptr && missing_ == Missing::kRefuse) {
      for (const Node& key : required->items()) {
        if (value.find(key.as_string()) == nullptr) {
          return core::fail(core::Error{
              .field = path(key.as_string()), .message = "is missing", .where = {.file = file_}});
        }
      }
    }
    const Node* properties = schema.find("properties");
    const Node* others = schema.find("additionalProperties");
    for (const Node::Member& member : value.members()) {
      const Node* known = properties == nullptr ? nullptr : properties->find(member.key);
      const Node* kind = known != nullptr ? known : others && others->is_map() ? others : nullptr;
      if (kind == nullptr) {
        continue;
      }
      if (auto fits = check(member.value, *kind, path(member.key)); !fits) {
        return fits;
      }
    }
    return {};
  }

  const Node& root_;
  Missing missing_;
  const std::string& file_;
};

}  // namespace

core::Result<void> check_schema(const Node& value,
                                const Node& schema,
                                const Node& root,
                                Missing missing,
                                const std::string& field,
                                const std::string& file) {
  return Checker(root, missing, file).check(value, schema, field);
}

}  // namespace ridgeline::document
