#include "lab/conform/decisions/part.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "lab/conform/recording.hpp"

namespace ridgeline::conform {

using document::Node;
using Kind = Node::Kind;

namespace {

/// "steps[3].scores.e0" without the places: "steps[].scores.e0".
std::string without_places(std::string_view path) {
  std::string text;
  for (const char letter : path) {
    if (letter < '0' || letter > '9' || text.empty() ||
        text.find_last_of('[') == std::string::npos ||
        text.find_last_of('[') < text.find_last_of(']') + 1) {
      text += letter;
    }
  }
  return text;
}

}  // namespace

core::Errors Reading::problems(const Node& root,
                               std::string_view system,
                               std::span<const Unread> may_stand_unread) const {
  core::Errors errors;
  const auto may_stand = [&](std::string_view path) {
    const std::string plain = without_places(path);
    return std::ranges::any_of(may_stand_unread, [&](const Unread& one) {
      return (one.system.empty() || one.system == system) && one.path == plain;
    });
  };
  const auto walk = [&](const auto& self, const Node& node, const std::string& path) -> void {
    const auto note = [&](std::string field, std::string message) {
      errors.push_back(
          {.field = std::move(field), .message = std::move(message), .where = node.where()});
    };
    if (may_stand(path)) {
      return;
    }
    if (const auto wrong = wrong_.find(&node); wrong != wrong_.end()) {
      note(path, fmt::format("found {}, expected {}", node.describe(), wrong->second));
      return;
    }
    if (const auto missing = missing_.find(&node); missing != missing_.end()) {
      for (const std::string& key : missing->second) {
        note(path.empty() ? key : fmt::format("{}.{}", path, key),
             "is missing: nothing to compare with");
      }
    }
    if (node.is_map()) {
      for (const auto& member : node.members()) {
        self(self, member.value, path.empty() ? member.key : path + "." + member.key);
      }
    } else if (node.is_list()) {
      for (std::size_t i = 0; i < node.items().size(); ++i) {
        self(self, node.items()[i], fmt::format("{}[{}]", path, i));
      }
    } else if (!read_.contains(&node)) {
      note(path, fmt::format("found {}, which this check does not compare", node.describe()));
    }
  };
  walk(walk, root, {});
  return errors;
}

void Part::note_wrong(std::string what) const {
  if (is_there()) {
    reading_->note_wrong(*node_, std::move(what));
  }
}

bool Part::is_a(bool of_kind, const char* kind) const {
  reading_->note_read(*node_);
  if (!of_kind) {
    note_wrong(kind);
  }
  return of_kind;
}

Part Part::operator[](std::string_view key) const {
  const Node* const node =
      is_there() && is_a(node_->is_map(), "a map") ? node_->find(key) : nullptr;
  if (node == nullptr) {
    return {};
  }
  if (node->is_null()) {
    reading_->note_read(*node);
    return {};
  }
  return {*node, *reading_};
}

Part Part::at(std::string_view key) const {
  Part part = (*this)[key];
  if (is_there() && !part.is_there()) {
    reading_->note_missing(*node_, key);
  }
  return part;
}

Part Part::at_or_null(std::string_view key) const {
  if (is_there() && node_->find(key) == nullptr) {
    reading_->note_missing(*node_, key);
  }
  return (*this)[key];
}

double Part::number() const {
  return is_there() && is_a(node_->is_number(), "a number") ? node_->as_real() : 0.0;
}

std::int64_t Part::count() const {
  constexpr double kMost = 9e15;  // Below it a double holds every integer.
  if (!is_there() || !is_a(node_->is_number(), "an integer")) {
    return 0;
  }
  const double value = node_->as_real();
  if (value != std::floor(value) || std::abs(value) > kMost) {
    note_wrong("an integer");
    return 0;
  }
  return static_cast<std::int64_t>(value);
}

std::size_t Part::size() const {
  constexpr std::int64_t kMost = 100'000;
  const std::int64_t size = count();
  if (size < 1 || size > kMost) {
    note_wrong(fmt::format("1 to {}", kMost));
    return 0;
  }
  return static_cast<std::size_t>(size);
}

std::string Part::word() const {
  return is_there() && is_a(node_->is_string(), "a word") ? node_->as_string() : std::string();
}

bool Part::flag() const {
  return is_there() && is_a(node_->kind() == Kind::kBool, "true or false") && node_->as_bool();
}

std::string Part::text() const {
  if (!is_there()) {
    return "none";
  }
  reading_->note_read(*node_);
  return text_of(*node_);
}

std::vector<Part> Part::items() const {
  std::vector<Part> parts;
  if (is_there() && is_a(node_->is_list(), "a list")) {
    for (const Node& item : node_->items()) {
      parts.emplace_back(item, *reading_);
    }
  }
  return parts;
}

std::vector<std::pair<std::string, Part>> Part::members() const {
  std::vector<std::pair<std::string, Part>> parts;
  if (is_there() && is_a(node_->is_map(), "a map")) {
    for (const auto& member : node_->members()) {
      parts.emplace_back(member.key, Part(member.value, *reading_));
    }
  }
  return parts;
}

double Part::number(std::string_view key, double otherwise) const {
  const Part part = (*this)[key];
  return part.is_there() ? part.number() : otherwise;
}

std::int64_t Part::count(std::string_view key, std::int64_t otherwise) const {
  const Part part = (*this)[key];
  return part.is_there() ? part.count() : otherwise;
}

}  // namespace ridgeline::conform
