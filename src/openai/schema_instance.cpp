#include "openai/schema_instance.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
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
/// Keys of objects that are looked at in all.
constexpr std::int64_t kMostKeys = 1'000'000;
/// Places that $refs lead into, each of which is searched for once.
constexpr std::size_t kMostGroups = 64;
/// Nodes that a search for a $ref's target counts as, where it is none of an object's members.
constexpr std::int64_t kCostOfSearch = 100;

std::string quoted_text(std::string_view text) {
  document::JsonWriter json(document::JsonWriter::Layout::kOneLine);
  json.value(text);
  return json.text();
}

using Members = std::unordered_map<std::string_view, Schema>;

/// The first of equal keys stays, as where an object is searched.
Members members_of(simdjson::dom::object object) {
  Members members;
  members.reserve(object.size());
  for (const auto& [key, value] : object) {
    members.try_emplace(key, value);
  }
  return members;
}

/// The keywords of one schema, found in one pass: an object may have very many other keys.
class Keywords {
 public:
  explicit Keywords(simdjson::dom::object object) {
    for (const auto& [key, value] : object) {
      const auto* const known = std::ranges::find(kKnown, key);
      if (known != kKnown.end() && !found_.at(static_cast<std::size_t>(known - kKnown.begin()))) {
        found_.at(static_cast<std::size_t>(known - kKnown.begin())) = value;
      }
    }
  }

  [[nodiscard]] bool has(std::string_view key) const { return at(key).has_value(); }
  /// Whether the key is there with a value of this type.
  template <class Value>
  bool get(std::string_view key, Value& value) const {
    const std::optional<Schema>& element = at(key);
    return element && element->get(value) == simdjson::SUCCESS;
  }

 private:
  static constexpr auto kKnown = std::to_array<std::string_view>({"not",
                                                                  "if",
                                                                  "pattern",
                                                                  "patternProperties",
                                                                  "dependentSchemas",
                                                                  "$ref",
                                                                  "const",
                                                                  "enum",
                                                                  "anyOf",
                                                                  "oneOf",
                                                                  "allOf",
                                                                  "type",
                                                                  "properties",
                                                                  "required",
                                                                  "items",
                                                                  "minimum",
                                                                  "minLength",
                                                                  "exclusiveMinimum",
                                                                  "maximum",
                                                                  "exclusiveMaximum",
                                                                  "minItems",
                                                                  "maxLength"});

  [[nodiscard]] const std::optional<Schema>& at(std::string_view key) const {
    return found_.at(static_cast<std::size_t>(std::ranges::find(kKnown, key) - kKnown.begin()));
  }

  std::array<std::optional<Schema>, kKnown.size()> found_;
};

class InstanceMaker {
 public:
  explicit InstanceMaker(Schema root) : root_(root) {}

  void make(Schema schema) {
    if (!spend(1)) {
      return;
    }
    bool allows = false;
    if (schema.get(allows) == simdjson::SUCCESS) {
      if (allows) {
        add("null");
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
    if (!look_at(object)) {
      return;
    }
    const Keywords keywords(object);
    for (const char* const key :
         {"not", "if", "pattern", "patternProperties", "dependentSchemas"}) {
      if (keywords.has(key)) {
        refuse(fmt::format("has '{}'", key));
        return;
      }
    }
    if (!make_chosen(keywords)) {
      make_of_type(keywords);
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

  /// Whether so many nodes more may be made.
  bool spend(std::int64_t nodes) {
    nodes_ += nodes;
    if (nodes_ > kSchemaBudget) {
      refuse("has a cycle, or more than 10000 nodes");
    }
    return problem_.empty();
  }

  /// Whether the keys of one object more may be looked at, those that say nothing here among them.
  bool look_at(simdjson::dom::object object) {
    keys_ += static_cast<std::int64_t>(object.size());
    if (keys_ > kMostKeys) {
      refuse(fmt::format("has more than {} keys to look at", kMostKeys));
    }
    return problem_.empty();
  }

  void add(std::string_view text) {
    if (text_.size() + text.size() > kMostInstanceBytes) {
      refuse(fmt::format("has an instance of more than {} bytes", kMostInstanceBytes));
    }
    if (problem_.empty()) {
      text_ += text;
    }
  }

  /// What a reference, a constant or an alternative says.
  bool make_chosen(const Keywords& keywords) {
    Schema value;
    std::string_view reference;
    simdjson::dom::array list;
    if (keywords.get("$ref", reference)) {
      follow(reference);
      return true;
    }
    if (keywords.get("const", value)) {
      add(simdjson::minify(value));
      return true;
    }
    if (keywords.get("enum", list)) {
      if (list.size() == 0) {
        refuse("has an empty enum");
      } else {
        add(simdjson::minify(list.at(0).value()));
      }
      return true;
    }
    for (const char* const key : {"anyOf", "oneOf"}) {
      if (keywords.get(key, list) && list.size() > 0) {
        make(list.at(0).value());
        return true;
      }
    }
    if (keywords.get("allOf", list) && list.size() == 1) {
      make(list.at(0).value());
      return true;
    }
    if (keywords.get("allOf", list) && list.size() > 1) {
      refuse("has an allOf of several");
      return true;
    }
    return false;
  }

  void follow(std::string_view reference) {
    Schema target = root_;
    if (reference != "#") {
      const std::optional<Schema> found = target_of(reference);
      if (!found) {
        refuse(fmt::format("has a $ref that leads nowhere"));
        return;
      }
      target = *found;
    }
    if (++depth_ > static_cast<int>(kDeepestBody)) {
      refuse("has a cycle");
      return;
    }
    make(target);
    --depth_;
  }

  /// Definition at "#/$defs/name": among very many, looked up and not searched for.
  [[nodiscard]] std::optional<Schema> target_of(std::string_view reference) {
    Schema target;
    const std::size_t name = reference.rfind('/') + 1;
    if (!reference.starts_with("#/")) {
      return std::nullopt;
    }
    const std::string_view parent = reference.substr(0, name - 1);
    const auto [group, is_new] = groups_.try_emplace(parent);
    if (is_new) {
      Schema element = root_;
      simdjson::dom::object object;
      if (groups_.size() > kMostGroups) {
        refuse(fmt::format("has $refs into more than {} places", kMostGroups));
        return std::nullopt;
      }
      if ((parent == "#" ||
           root_.at_pointer(std::string(parent.substr(1))).get(element) == simdjson::SUCCESS) &&
          element.get(object) == simdjson::SUCCESS && look_at(object)) {
        group->second = members_of(object);
      }
    }
    // Escapes, and places in lists, are simdjson's to follow.
    const auto found = group->second.find(reference.substr(name));
    if (found != group->second.end() && reference.find('~') == std::string_view::npos) {
      return found->second;
    }
    return spend(kCostOfSearch) && root_.at_pointer(std::string(reference.substr(1))).get(target) ==
                                       simdjson::SUCCESS
               ? std::optional(target)
               : std::nullopt;
  }

  [[nodiscard]] static std::string_view type_of(const Keywords& keywords) {
    std::string_view type;
    simdjson::dom::array types;
    if (keywords.get("type", type)) {
      return type;
    }
    if (keywords.get("type", types) && types.size() > 0 &&
        types.at(0).get(type) == simdjson::SUCCESS) {
      return type;
    }
    for (const auto& [key, means] : {std::pair{"properties", "object"},
                                     std::pair{"required", "object"},
                                     std::pair{"items", "array"},
                                     std::pair{"minimum", "number"},
                                     std::pair{"minLength", "string"}}) {
      if (keywords.has(key)) {
        return means;
      }
    }
    return "object";
  }

  void make_of_type(const Keywords& keywords) {
    const std::string_view type = type_of(keywords);
    if (type == "object") {
      make_object(keywords);
    } else if (type == "array") {
      make_array(keywords);
    } else if (type == "string") {
      make_string(keywords);
    } else if (type == "integer" || type == "number") {
      make_number(keywords);
    } else if (type == "boolean") {
      add("true");
    } else if (type == "null") {
      add("null");
    } else {
      refuse(fmt::format("has the unknown type '{}'", type.substr(0, 32)));
    }
  }

  void make_object(const Keywords& keywords) {
    simdjson::dom::array required;
    simdjson::dom::object properties;
    Members known;
    if (!keywords.get("required", required)) {
      add("{}");
      return;
    }
    if (keywords.get("properties", properties) && look_at(properties)) {
      known = members_of(properties);
    }
    add("{");
    bool is_first = true;
    for (const Schema name : required) {
      std::string_view key;
      if (name.get(key) != simdjson::SUCCESS) {
        refuse("has a required key that is no string");
      }
      add(is_first ? "" : ", ");
      is_first = false;
      add(quoted_text(key) + ": ");
      if (const auto property = known.find(key); property != known.end()) {
        nest(property->second);
      } else if (spend(1)) {
        add("null");
      }
      if (!problem_.empty()) {
        return;
      }
    }
    add("}");
  }

  void make_array(const Keywords& keywords) {
    std::int64_t items = 0;
    Schema item;
    const bool has_items = keywords.get("items", item);
    if (keywords.get("minItems", items) && (items < 0 || items > kMostItems)) {
      refuse(fmt::format("has more than {} minItems", kMostItems));
      return;
    }
    add("[");
    for (std::int64_t i = 0; i < items && problem_.empty(); ++i) {
      add(i > 0 ? ", " : "");
      if (has_items) {
        nest(item);
      } else if (spend(1)) {
        add("null");
      }
    }
    add("]");
  }

  void nest(Schema schema) {
    if (++depth_ > static_cast<int>(kDeepestBody)) {
      refuse("is nested too deeply");
      return;
    }
    make(schema);
    --depth_;
  }

  void make_string(const Keywords& keywords) {
    std::int64_t shortest = 0;
    std::int64_t longest = kMostCharacters;
    if (!keywords.get("minLength", shortest)) {
      shortest = 0;
    }
    if (!keywords.get("maxLength", longest)) {
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
    add(quoted_text(text));
  }

  void make_number(const Keywords& keywords) {
    double least = 0.0;
    double most = 0.0;
    double exclusive = 0.0;
    double number = 0.0;
    if (keywords.get("minimum", least) && least > number) {
      number = std::ceil(least);
    }
    if (keywords.get("exclusiveMinimum", exclusive) && exclusive >= number) {
      number = std::floor(exclusive) + 1.0;
    }
    if (keywords.get("maximum", most) && most < number) {
      number = std::floor(most);
    }
    if (keywords.get("exclusiveMaximum", most) && most <= number) {
      number = std::ceil(most) - 1.0;
    }
    constexpr double kExact = 9e15;
    if (!(number > -kExact && number < kExact)) {
      refuse("has a number out of range");
      return;
    }
    add(fmt::format("{}", static_cast<std::int64_t>(number)));
  }

  Schema root_;
  /// Members of each place that a $ref has led into, by its pointer.
  std::unordered_map<std::string_view, Members> groups_;
  std::int64_t nodes_ = 0;
  std::int64_t keys_ = 0;
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
