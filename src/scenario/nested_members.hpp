#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"

namespace ridgeline::scenario {

/// Builds maps within maps by dotted path, each key where its path first came.
class NestedMembers {
 public:
  void add(std::string_view path, document::Node value) {
    const auto dot = path.find('.');
    const std::string_view key = path.substr(0, dot);
    if (dot == std::string_view::npos) {
      entries_.push_back({.key = std::string(key), .value = std::move(value), .below = {}});
      return;
    }
    auto entry = std::ranges::find_if(entries_, [&](const Entry& other) {
      return other.key == key && other.value.is_null() && !other.below.empty();
    });
    if (entry == entries_.end()) {
      entry = entries_.insert(entries_.end(), {.key = std::string(key), .value = {}, .below = {}});
      entry->below.emplace_back();
    }
    entry->below.front().add(path.substr(dot + 1), std::move(value));
  }

  /// The map; `where` is the place of all of it.
  [[nodiscard]] document::Node finish(const core::Location& where = {}) {
    std::vector<document::Node::Member> members;
    for (Entry& entry : entries_) {
      members.push_back({.key = std::move(entry.key),
                         .value = entry.below.empty() ? std::move(entry.value)
                                                      : entry.below.front().finish(where),
                         .where = where});
    }
    return document::Node::map(std::move(members), where);
  }

 private:
  /// A value, or the map that `below` holds.
  struct Entry {
    std::string key;
    document::Node value;
    std::vector<NestedMembers> below;
  };

  std::vector<Entry> entries_;
};

}  // namespace ridgeline::scenario
