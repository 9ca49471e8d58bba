#include "document/document.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/result.hpp"
#include "core/text.hpp"

namespace ridgeline::document {

Node Node::boolean(bool value, core::Location where) {
  Node node(Kind::kBool, std::move(where));
  node.bool_ = value;
  return node;
}

Node Node::integer(std::int64_t value, core::Location where) {
  Node node(Kind::kInteger, std::move(where));
  node.integer_ = value;
  return node;
}

Node Node::real(double value, core::Location where) {
  Node node(Kind::kReal, std::move(where));
  node.real_ = value;
  return node;
}

Node Node::string(std::string value, core::Location where) {
  Node node(Kind::kString, std::move(where));
  node.string_ = std::move(value);
  return node;
}

Node Node::list(std::vector<Node> items, core::Location where) {
  Node node(Kind::kList, std::move(where));
  node.items_ = std::move(items);
  return node;
}

Node Node::map(std::vector<Member> members, core::Location where) {
  Node node(Kind::kMap, std::move(where));
  node.members_ = std::move(members);
  return node;
}

bool Node::as_bool() const {
  RIDGELINE_CHECK(kind_ == Kind::kBool, describe());
  return bool_;
}

std::int64_t Node::as_integer() const {
  RIDGELINE_CHECK(kind_ == Kind::kInteger, describe());
  return integer_;
}

double Node::as_real() const {
  RIDGELINE_CHECK(is_number(), describe());
  return kind_ == Kind::kInteger ? static_cast<double>(integer_) : real_;
}

const std::string& Node::as_string() const {
  RIDGELINE_CHECK(kind_ == Kind::kString, describe());
  return string_;
}

const std::vector<Node>& Node::items() const {
  RIDGELINE_CHECK(kind_ == Kind::kList, describe());
  return items_;
}

const std::vector<Node::Member>& Node::members() const {
  RIDGELINE_CHECK(kind_ == Kind::kMap, describe());
  return members_;
}

const Node* Node::find(std::string_view key) const {
  const auto found = std::find_if(
      members_.begin(), members_.end(), [key](const Member& member) { return member.key == key; });
  return found == members_.end() ? nullptr : &found->value;
}

std::string Node::describe() const {
  switch (kind_) {
    case Kind::kNull:
      return "null";
    case Kind::kBool:
      return bool_ ? "true" : "false";
    case Kind::kInteger:
      return std::to_string(integer_);
    case Kind::kReal:
      return core::shortest(real_);
    case Kind::kString:
      return core::quote(string_);
    case Kind::kList:
      return "a list";
    case Kind::kMap:
      return "a map";
  }
  return {};
}

}  // namespace ridgeline::document
