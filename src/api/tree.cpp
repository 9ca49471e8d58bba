#include "ridgeline/tree.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "document/document.hpp"
#include "document/node_json.hpp"

namespace ridgeline {
inline namespace v0 {

Tree::Kind Tree::kind() const {
  if (!node_) {
    return Kind::kNull;
  }
  switch (node_->kind()) {
    case document::Node::Kind::kNull:
      break;
    case document::Node::Kind::kBool:
      return Kind::kBool;
    case document::Node::Kind::kInteger:
      return Kind::kInteger;
    case document::Node::Kind::kReal:
      return Kind::kReal;
    case document::Node::Kind::kString:
      return Kind::kString;
    case document::Node::Kind::kList:
      return Kind::kList;
    case document::Node::Kind::kMap:
      return Kind::kMap;
  }
  return Kind::kNull;
}

std::optional<bool> Tree::boolean() const {
  return kind() == Kind::kBool ? std::optional(node_->as_bool()) : std::nullopt;
}

std::optional<std::int64_t> Tree::integer() const {
  return kind() == Kind::kInteger ? std::optional(node_->as_integer()) : std::nullopt;
}

std::optional<double> Tree::number() const {
  return kind() == Kind::kInteger || kind() == Kind::kReal ? std::optional(node_->as_real())
                                                           : std::nullopt;
}

std::optional<std::string> Tree::text() const {
  return kind() == Kind::kString ? std::optional(node_->as_string()) : std::nullopt;
}

std::size_t Tree::size() const {
  switch (kind()) {
    case Kind::kList:
      return node_->items().size();
    case Kind::kMap:
      return node_->members().size();
    default:
      return 0;
  }
}

Tree Tree::operator[](std::size_t index) const {
  if (index >= size()) {
    return {};
  }
  const document::Node& inner =
      kind() == Kind::kList ? node_->items()[index] : node_->members()[index].value;
  return Tree(std::shared_ptr<const document::Node>(node_, &inner));
}

std::string Tree::key(std::size_t index) const {
  return kind() == Kind::kMap && index < size() ? node_->members()[index].key : std::string();
}

Tree Tree::operator[](std::string_view key) const {
  const document::Node* inner = node_ ? node_->find(key) : nullptr;
  return inner == nullptr ? Tree() : Tree(std::shared_ptr<const document::Node>(node_, inner));
}

std::string Tree::json() const {
  return document::json_text(node_ ? *node_ : document::Node());
}

}  // namespace v0
}  // namespace ridgeline
