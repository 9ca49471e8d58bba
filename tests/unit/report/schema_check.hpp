#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "document/document.hpp"

namespace ridgeline::report::testing {

/// The part of JSON Schema (draft 7) that our schemas use; a keyword beyond it is itself a problem.
class SchemaCheck {
 public:
  explicit SchemaCheck(const document::Node& schema) : root_(schema) {}

  /// What is wrong with `value`, one line per problem.
  std::vector<std::string> problems(const document::Node& value) {
    found_.clear();
    check(value, root_, "$");
    return found_;
  }

 private:
  using Kind = document::Node::Kind;

  void check(const document::Node& value, const document::Node& schema, const std::string& path) {
    // In draft 7 a reference hides what stands beside it.
    if (const auto* reference = schema.find("$ref")) {
      constexpr std::string_view kPrefix = "#/definitions/";
      const auto* definitions = root_.find("definitions");
      const auto* target = definitions->find(reference->as_string().substr(kPrefix.size()));
      if (target == nullptr) {
        found_.push_back(path + ": unknown " + reference->as_string());
        return;
      }
      check(value, *target, path);
      return;
    }
    for (const auto& keyword : schema.members()) {
      apply(keyword, value, schema, path);
    }
  }

  void apply(const document::Node::Member& keyword,
             const document::Node& value,
             const document::Node& schema,
             const std::string& path) {
    const std::string& name = keyword.key;
    const document::Node& rule = keyword.value;
    if (name == "type") {
      check_type(value, rule, path);
    } else if (name == "const") {
      expect(value.describe() == rule.describe(), path, "is not " + rule.describe());
    } else if (name == "enum") {
      expect(std::any_of(
                 rule.items().begin(),
                 rule.items().end(),
                 [&](const document::Node& item) { return item.describe() == value.describe(); }),
             path,
             "is none of the allowed values");
    } else if (name == "minimum") {
      expect(!value.is_number() || value.as_real() >= rule.as_real(), path, "is too small");
    } else if (name == "maximum") {
      expect(!value.is_number() || value.as_real() <= rule.as_real(), path, "is too large");
    } else if (name == "required") {
      for (const auto& key : rule.items()) {
        expect(!value.is_map() || value.find(key.as_string()) != nullptr,
               path,
               "lacks " + key.as_string());
      }
    } else if (name == "properties") {
      check_properties(value, rule, path);
    } else if (name == "additionalProperties") {
      check_no_others(value, schema, path);
    } else if (name == "items") {
      for (std::size_t i = 0; value.is_list() && i < value.items().size(); ++i) {
        check(value.items()[i], rule, path + "[" + std::to_string(i) + "]");
      }
    } else {
      const bool is_note =
          name == "$schema" || name == "title" || name == "description" || name == "definitions";
      expect(is_note, path, "meets the unknown keyword " + name);
    }
  }

  void check_type(const document::Node& value,
                  const document::Node& rule,
                  const std::string& path) {
    bool matches = false;
    if (rule.is_list()) {
      for (const auto& type : rule.items()) {
        matches = matches || is_of(value, type.as_string());
      }
    } else {
      matches = is_of(value, rule.as_string());
    }
    expect(matches, path, "has the wrong type");
  }

  static bool is_of(const document::Node& value, const std::string& type) {
    return (type == "null" && value.is_null()) || (type == "object" && value.is_map()) ||
           (type == "array" && value.is_list()) || (type == "string" && value.is_string()) ||
           (type == "number" && value.is_number()) ||
           (type == "integer" && value.kind() == Kind::kInteger) ||
           (type == "boolean" && value.kind() == Kind::kBool);
  }

  void check_properties(const document::Node& value,
                        const document::Node& rule,
                        const std::string& path) {
    if (!value.is_map()) {
      return;
    }
    for (const auto& property : rule.members()) {
      if (const auto* member = value.find(property.key)) {
        check(*member, property.value, path + "." + property.key);
      }
    }
  }

  void check_no_others(const document::Node& value,
                       const document::Node& schema,
                       const std::string& path) {
    if (!value.is_map()) {
      return;
    }
    for (const auto& member : value.members()) {
      expect(schema.find("properties")->find(member.key) != nullptr,
             path,
             "has the unknown key " + member.key);
    }
  }

  void expect(bool holds, const std::string& path, const std::string& problem) {
    if (!holds) {
      found_.push_back(path + " " + problem);
    }
  }

  const document::Node& root_;
  std::vector<std::string> found_;
};

}  // namespace ridgeline::report::testing
