#include "document/document.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/check.hpp"
#include "core/result.hpp"
#include "core/text.hpp"

namespace ridgeline::document {

Node Node::boolean(bool value, core::Location where) {
  return {value, std::move(where)};
}

Node Node::integer(std::int64_t value, core::Location where) {
  return {value, std::move(where)};
}

Node Node::real(double value, core::Location where) {
  return {value, std::move(where)};
}

Node Node::string(std::string value, core::Location where) {
  return {std::move(value), std::move(where)};
}

Node Node::list(std::vector<Node> items, core::Location where) {
  return {std::move(items), std::move(where)};
}

Node Node::map(std::vector<Member> members, core::Location where) {
  return {std::move(members), std::move(where)};
}

template <class T>
const T& Node::held() const {
  const T* const value = std::get_if<T>(&value_);
  RIDGELINE_CHECK(value != nullptr, describe());
  return *value;
}

bool Node::as_bool() const {
  return held<bool>();
}

std::int64_t Node::as_integer() const {
  return held<std::int64_t>();
}

double Node::as_real() const {
  const auto* const integer = std::get_if<std::int64_t>(&value_);
  return integer == nullptr ? held<double>() : static_cast<double>(*integer);
}

const std::string& Node::as_string() const {
  return held<std::string>();
}

const std::vector<Node>& Node::items() const {
  return held<std::vector<Node>>();
}

const std::vector<Node::Member>& Node::members() const {
  return held<std::vector<Member>>();
}

const Node* Node::find(std::string_view key) const {
  if (!is_map()) {
    return nullptr;
  }
  const auto found = std::ranges::find(members(), key, &Member::key);
  return found == members().end() ? nullptr : &found->value;
}

std::string Node::describe() const {
  switch (kind()) {
    case Kind::kNull:
      return "null";
    case Kind::kBool:
      return as_bool() ? "true" : "false";
    case Kind::kInteger:
      return std::to_string(as_integer());
    case Kind::kReal:
      return core::shortest(as_real());
    case Kind::kString:
      return core::quote(as_string());
    case Kind::kList:
      return "a list";
    case Kind::kMap:
      return "a map";
  }
  return {};
}

}  // namespace ridgeline::document
