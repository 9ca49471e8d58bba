#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"

/// Nodes of values that stand in no file, for results and documents that the program makes itself.
namespace ridgeline::document {

[[nodiscard]] Node text_node(std::string_view text);
[[nodiscard]] Node integer_node(std::int64_t value);
/// A number that JSON has, or null: nothing, NaN and the infinities become null.
[[nodiscard]] Node number_node(std::optional<double> value);
[[nodiscard]] Node bool_node(std::optional<bool> value);
[[nodiscard]] Node list_node(std::vector<Node> items);
[[nodiscard]] Node texts_node(const std::vector<std::string>& texts);
/// [{code, message, hint}, ...]
[[nodiscard]] Node warnings_node(const core::Warnings& warnings);
[[nodiscard]] core::Warnings warnings_of(const Node& list);
/// null where the text is empty.
[[nodiscard]] Node text_or_null(std::string_view text);

/// The list of what `build` makes of each item.
template <class Items, class Build>
[[nodiscard]] Node list_of(const Items& items, const Build& build) {
  std::vector<Node> nodes;
  for (const auto& item : items) {
    nodes.push_back(build(item));
  }
  return list_node(std::move(nodes));
}

/// Builds a map in the order of the calls; it is the Node where one is wanted.
class MapBuilder {
 public:
  MapBuilder& add(std::string_view key, Node value);
  MapBuilder& add(std::string_view key, std::string_view text) { return add(key, text_node(text)); }
  MapBuilder& add(std::string_view key, const std::string& text) {
    return add(key, text_node(text));
  }
  MapBuilder& add(std::string_view key, const char* text) { return add(key, text_node(text)); }
  template <std::integral T>
  MapBuilder& add(std::string_view key, T value) {
    if constexpr (std::same_as<T, bool>) {
      return add(key, bool_node(value));
    } else {
      return add(key, integer_node(static_cast<std::int64_t>(value)));
    }
  }
  MapBuilder& add(std::string_view key, double value) { return add(key, number_node(value)); }
  /// null where there is nothing.
  template <class T>
  MapBuilder& add(std::string_view key, const std::optional<T>& value) {
    return value ? add(key, *value) : add(key, Node());
  }
  MapBuilder& add(std::string_view key, const std::vector<std::string>& texts) {
    return add(key, texts_node(texts));
  }
  MapBuilder& add(std::string_view key, MapBuilder map) { return add(key, map.build()); }
  MapBuilder& add(std::string_view key, const core::Warnings& warnings) {
    return add(key, warnings_node(warnings));
  }

  /// No member where there is nothing.
  template <class T>
  MapBuilder& add_known(std::string_view key, const std::optional<T>& value) {
    return value ? add(key, *value) : *this;
  }

  [[nodiscard]] bool empty() const { return members_.empty(); }
  /// The map; the builder is empty then.
  [[nodiscard]] Node build() { return Node::map(std::exchange(members_, {}), {}); }
  operator Node() { return build(); }  // NOLINT(google-explicit-constructor): see above.

 private:
  std::vector<Node::Member> members_;
};

}  // namespace ridgeline::document
