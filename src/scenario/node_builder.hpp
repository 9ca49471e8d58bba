#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "document/document.hpp"

namespace ridgeline::scenario {

/// Builds a map that comes from no file, member by member.
class MapBuilder {
 public:
  MapBuilder& add(std::string_view key, document::Node value) {
    members_.push_back({.key = std::string(key), .value = std::move(value), .where = {}});
    return *this;
  }
  MapBuilder& add(std::string_view key, std::string_view text) {
    return add(key, document::Node::string(std::string(text), {}));
  }
  MapBuilder& add(std::string_view key, const char* text) {
    return add(key, std::string_view(text));
  }
  MapBuilder& add(std::string_view key, std::int64_t value) {
    return add(key, document::Node::integer(value, {}));
  }
  MapBuilder& add(std::string_view key, double value) {
    return add(key, document::Node::real(value, {}));
  }
  MapBuilder& add(std::string_view key, bool value) {
    return add(key, document::Node::boolean(value, {}));
  }
  MapBuilder& add(std::string_view key, MapBuilder map) { return add(key, map.finish()); }

  [[nodiscard]] bool empty() const { return members_.empty(); }
  [[nodiscard]] document::Node finish() { return document::Node::map(std::move(members_), {}); }

 private:
  std::vector<document::Node::Member> members_;
};

}  // namespace ridgeline::scenario
