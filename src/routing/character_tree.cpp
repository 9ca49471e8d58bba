#include "routing/character_tree.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>

namespace ridgeline::routing {
namespace {

/// A text from the `begin`-th character on.
Text tail_of(const Text& text, std::int64_t begin) {
  Text tail;
  for (const TextPiece& piece : text) {
    if (begin < piece.length) {
      tail.push_back({.content = piece.content,
                      .offset = piece.offset + begin,
                      .length = piece.length - begin});
    }
    begin = std::max(std::int64_t{0}, begin - piece.length);
  }
  return tail;
}

Text head_of(const Text& text, std::int64_t end) {
  Text head;
  for (const TextPiece& piece : text) {
    if (end <= 0) {
      break;
    }
    head.push_back(
        {.content = piece.content, .offset = piece.offset, .length = std::min(piece.length, end)});
    end -= piece.length;
  }
  return head;
}

/// How many characters both begin with.
std::int64_t common(const Text& a, const Text& b) {
  std::int64_t shared = 0;
  std::size_t i = 0;
  std::size_t j = 0;
  std::int64_t in_a = 0;  // Characters of the piece that are compared already.
  std::int64_t in_b = 0;
  while (i < a.size() && j < b.size() && a[i].content == b[j].content &&
         a[i].offset + in_a == b[j].offset + in_b) {
    const std::int64_t step = std::min(a[i].length - in_a, b[j].length - in_b);
    shared += step;
    in_a += step;
    in_b += step;
    if (in_a == a[i].length) {
      ++i;
      in_a = 0;
    }
    if (in_b == b[j].length) {
      ++j;
      in_b = 0;
    }
  }
  return shared;
}

std::pair<std::uint64_t, std::int64_t> first_of(const Text& text) {
  return {text.front().content, text.front().offset};
}

}  // namespace

std::int64_t length_of(const Text& text) {
  std::int64_t length = 0;
  for (const TextPiece& piece : text) {
    length += piece.length;
  }
  return length;
}

CharacterTree::CharacterTree(std::size_t workers)
    : root_(std::make_unique<Node>()), characters_(workers) {}

CharacterTree::Match CharacterTree::match(const Text& text) const {
  const Node* node = root_.get();
  Match match;
  for (Text rest = text; !rest.empty();) {
    const auto child = node->children.find(first_of(rest));
    if (child == node->children.end()) {
      break;
    }
    node = child->second.get();
    const std::int64_t shared = common(node->text, rest);
    match.characters += shared;
    if (shared < length_of(node->text)) {
      break;
    }
    rest = tail_of(rest, shared);
  }
  if (!node->owners.empty()) {
    match.worker = node->owners.contains(node->first) ? node->first : node->owners.begin()->first;
  }
  return match;
}

void CharacterTree::insert(const Text& text, std::size_t worker) {
  ++clock_;
  Node* node = root_.get();
  for (Text rest = text; !rest.empty();) {
    auto& child = node->children[first_of(rest)];
    if (child == nullptr) {
      child = std::make_unique<Node>();
      child->text = rest;
      child->parent = node;
      child->first = worker;
      own(child.get(), worker);
      return;
    }
    const std::int64_t shared = common(child->text, rest);
    node = shared < length_of(child->text) ? split(child.get(), shared) : child.get();
    own(node, worker);
    rest = tail_of(rest, shared);
  }
}

CharacterTree::Node* CharacterTree::split(Node* node, std::int64_t characters) {
  auto& slot = node->parent->children[first_of(node->text)];
  auto first = std::make_unique<Node>();
  first->text = head_of(node->text, characters);
  first->parent = node->parent;
  first->first = node->first;
  first->owners = node->owners;
  std::unique_ptr<Node> second = std::move(slot);
  second->text = tail_of(second->text, characters);
  second->parent = first.get();
  Node* const result = first.get();
  const auto key = first_of(second->text);
  first->children.emplace(key, std::move(second));
  slot = std::move(first);
  return result;
}

void CharacterTree::own(Node* node, std::size_t worker) {
  if (!node->owners.contains(worker)) {
    characters_[worker] += length_of(node->text);
  }
  node->owners[worker] = clock_;
}

void CharacterTree::disown(Node* node, std::size_t worker) {
  node->owners.erase(worker);
  characters_[worker] -= length_of(node->text);
  if (node->owners.empty() && node->children.empty() && node->parent != nullptr) {
    node->parent->children.erase(first_of(node->text));
  }
}

/// The oldest of the nodes that the worker owns and none of whose children it owns.
CharacterTree::Node* CharacterTree::oldest_leaf(Node* node, std::size_t worker) const {
  Node* best = nullptr;
  bool is_leaf = true;
  for (const auto& [key, child] : node->children) {
    if (child->owners.contains(worker)) {
      is_leaf = false;
      Node* const below = oldest_leaf(child.get(), worker);
      if (best == nullptr || below->owners.at(worker) < best->owners.at(worker)) {
        best = below;
      }
    }
  }
  return is_leaf ? node : best;
}

void CharacterTree::forget(std::size_t worker) {
  forget_below(*root_, worker);
  characters_[worker] = 0;
}

/// A worker that owns a node owns those above it.
void CharacterTree::forget_below(Node& node, std::size_t worker) {
  for (auto child = node.children.begin(); child != node.children.end();) {
    Node& below = *child->second;
    if (below.owners.erase(worker) == 0) {
      ++child;
      continue;
    }
    forget_below(below, worker);
    const bool is_empty = below.owners.empty() && below.children.empty();
    child = is_empty ? node.children.erase(child) : std::next(child);
  }
}

void CharacterTree::evict(std::int64_t most) {
  for (std::size_t worker = 0; worker < characters_.size(); ++worker) {
    while (characters_[worker] > most) {
      disown(oldest_leaf(root_.get(), worker), worker);
    }
  }
}

}  // namespace ridgeline::routing
