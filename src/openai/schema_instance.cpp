#include "openai/schema_instance.hpp"

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <simdjson.h>

#include "document/json_writer.hpp"
#include "openai/api_error.hpp"
#include "openai/body.hpp"

namespace ridgeline::openai {
namespace {

using Schema = simdjson::dom::element;

constexpr std::int64_t kMostItems = 1000;
constexpr std::int64_t kMostCharacters = 10'000;

std::string quoted_text(std::string_view text) {
  document::JsonWriter json(document::JsonWriter::Layout::kOneLine);
  json.value(text);
  return json.text();
}

class InstanceMaker {
 public:
  explicit InstanceMaker(Schema root) : root_(root) {}

  void make(Schema schema) {
    if (++nodes_ > kSchemaBudget) {
      refuse("has a cycle, or more than 10000 nodes");
    }
    if (!problem_.empty()) {
      return;
    }
    bool allows = false;
    if (schema.get(allows) == simdjson::SUCCESS) {
      if (allows) {
        text_ += "null";
      } else {
        refuse("is false: nothing fits it");
      }
      return;
    }
    simdjson::dom::object object;
    if (schema.get(object) != simdjson::SUCCESS) {
      refuse("is neither an object nor a boolean");
      return;
    }
    for (const char* const key :
         {"not", "if", "pattern", "patternProperties", "dependentSchemas"}) {
      Schema found;
      if (object[key].get(found) == simdjson::SUCCESS) {
        refuse(fmt::format("has '{}'", key));
        return;
      }
    }
    if (!make_chosen(object)) {
      make_of_type(object);
    }
  }

  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  void refuse(std::string why) {
    if (problem_.empty()) {
      problem_ = std::move(why);
    }
  }

  /// What a reference, a constant or an alternative says.
  bool make_chosen(simdjson::dom::object object) {
    Schema value;
    std::string_view reference;
    simdjson::dom::array list;
    if (object["$ref"].get(reference) == simdjson::SUCCESS) {
      follow(reference);
      return true;
    }
    if (object["const"].get(value) == simdjson::SUCCESS) {
      text_ += simdjson::minify(value);
      return true;
    }
    if (object["enum"].get(list) == simdjson::SUCCESS) {
      if (list.size() == 0) {
        refuse("has an empty enum");
      } else {
        text_ += simdjson::minify(list.at(0).value());
      }
      return true;
    }
    for (const char* const key : {"anyOf", "oneOf"}) {
      if (object[key].get(list) == simdjson::SUCCESS && list.size() > 0) {
        make(list.at(0).value());
        return true;
      }
    }
    if (object["allOf"].get(list) == simdjson::SUCCESS && list.size() == 1) {
      make(list.at(0).value());
      return true;
    }
    if (object["allOf"].get(list) == simdjson::SUCCESS && list.size() > 1) {
      refuse("has an allOf of several");
      return true;
    }
    return false;
  }

  void follow(std::string_view reference) {
    Schema target = root_;
    if (reference != "#") {
      if (!reference.starts_with("#/") ||
          root_.at_pointer(std::string(reference.substr(1))).get(target) != simdjson::SUCCESS) {
        refuse(fmt::format("has a $ref that leads nowhere"));
        return;
      }
    }
    if (++depth_ > static_cast<int>(kDeepestBody)) {
      refuse("has a cycle");
      return;
    }
    make(target);
    --depth_;
  }

  [[nodiscard]] static std::string_view type_of(simdjson::dom::object object) {
    std::string_view type;
    simdjson::dom::array types;
    if (object["type"].get(type) == simdjson::SUCCESS) {
      return type;
    }
    if (object["type"].get(types) == simdjson::SUCCESS && types.size() > 0 &&
        types.at(0).get(type) == simdjson::SUCCESS) {
      return type;
    }
    Schema found;
    for (const auto& [key, means] : {std::pair{"properties", "object"},
                                     std::pair{"required", "object"},
                                     std::pair{"items", "array"},
                                     std::pair{"minimum", "number"},
                                     std::pair{"minLength", "string"}}) {
      if (object[key].get(found) == simdjson::SUCCESS) {
        return means;
      }
    }
    return "object";
  }

  void make_of_type(simdjson::dom::object object) {
    const std::string_view type = type_of(object);
    if (type == "object") {
      make_object(object);
    } else if (type == "array") {
      make_array(object);
    } else if (type == "string") {
      make_string(object);
    } else if (type == "integer" || type == "number") {
      make_number(object);
    } else if (type == "boolean") {
      text_ += "true";
    } else if (type == "null") {
      text_ += "null";
    } else {
      refuse(fmt::format("has the unknown type '{}'", type.substr(0, 32)));
    }
  }

  void make_object(simdjson::dom::object object) {
    simdjson::dom::array required;
    text_ += '{';
    if (object["required"].get(required) == simdjson::SUCCESS) {
      bool is_first = true;
      for (const Schema name : required) {
        std::string_view key;
        if (name.get(key) != simdjson::SUCCESS) {
          refuse("has a required key that is no string");
          return;
        }
        text_ += is_first ? "" : ", ";
        is_first = false;
        text_ += quoted_text(key) + ": ";
        Schema property;
        if (object["properties"][key].get(property) == simdjson::SUCCESS) {
          nest(property);
        } else {
          text_ += "null";
        }
      }
    }
    text_ += '}';
  }

  void make_array(simdjson::dom::object object) {
    std::int64_t items = 0;
    Schema item;
    const bool has_items = object["items"].get(item) == simdjson::SUCCESS;
    if (object["minItems"].get(items) == simdjson::SUCCESS && (items < 0 || items > kMostItems)) {
      refuse(fmt::format("has more than {} minItems", kMostItems));
      return;
    }
    text_ += '[';
    for (std::int64_t i = 0; i < items && problem_.empty(); ++i) {
      text_ += i > 0 ? ", " : "";
      if (has_items) {
        nest(item);
      } else {
        text_ += "null";
      }
    }
    text_ += ']';
  }

  void nest(Schema schema) {
    if (++depth_ > static_cast<int>(kDeepestBody)) {
      refuse("is nested too deeply");
      return;
    }
    make(schema);
    --depth_;
  }

  void make_string(simdjson::dom::object object) {
    std::int64_t shortest = 0;
    std::int64_t longest = kMostCharacters;
    if (object["minLength"].get(shortest) != simdjson::SUCCESS) {
      shortest = 0;
    }
    if (object["maxLength"].get(longest) != simdjson::SUCCESS) {
      longest = kMostCharacters;
    }
    if (shortest < 0 || shortest > kMostCharacters || longest < shortest) {
      refuse("has a string of no or too great a length");
      return;
    }
    std::string text = "text";
    while (static_cast<std::int64_t>(text.size()) < shortest) {
      text += " text";
    }
    if (static_cast<std::int64_t>(text.size()) > longest) {
      text.resize(static_cast<std::size_t>(longest));
    }
    text_ += quoted_text(text);
  }

  void make_number(simdjson::dom::object object) {
    double least = 0.0;
    double most = 0.0;
    double exclusive = 0.0;
    double number = 0.0;
    if (object["minimum"].get(least) == simdjson::SUCCESS && least > number) {
      number = std::ceil(least);
    }
    if (object["exclusiveMinimum"].get(exclusive) == simdjson::SUCCESS && exclusive >= number) {
      number = std::floor(exclusive) + 1.0;
    }
    if (object["maximum"].get(most) == simdjson::SUCCESS && most < number) {
      number = std::floor(most);
    }
    if (object["exclusiveMaximum"].get(most) == simdjson::SUCCESS && most <= number) {
      number = std::ceil(most) - 1.0;
    }
    constexpr double kExact = 9e15;
    if (!(number > -kExact && number < kExact)) {
      refuse("has a number out of range");
      return;
    }
    text_ += fmt::format("{}", static_cast<std::int64_t>(number));
  }

  Schema root_;
  std::int64_t nodes_ = 0;
  int depth_ = 0;
  std::string text_;
  std::string problem_;
};

}  // namespace

ApiResult<std::string> schema_instance(std::string_view schema) {
  simdjson::dom::parser parser;
  Schema root;
  const auto refused_schema = [](std::string_view why) {
    return tl::unexpected(
        refused(fmt::format("the JSON schema {}: this server cannot make an instance of it", why),
                "response_format"));
  };
  if (parser.allocate(schema.size() + 1, kDeepestBody * 2) != simdjson::SUCCESS ||
      parser.parse(schema.data(), schema.size()).get(root) != simdjson::SUCCESS) {
    return refused_schema("is no JSON");
  }
  InstanceMaker maker(root);
  maker.make(root);
  if (!maker.problem().empty()) {
    return refused_schema(maker.problem());
  }
  return maker.text();
}

}  // namespace ridgeline::openai
