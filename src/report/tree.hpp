#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"

namespace ridgeline::report {

/// Values of a result, which stand nowhere in a user's input.
[[nodiscard]] document::Node text_node(std::string_view text);
[[nodiscard]] document::Node integer_node(std::int64_t value);
/// A number that JSON has, or null: nothing, NaN and the infinities become null.
[[nodiscard]] document::Node number_node(std::optional<double> value);
[[nodiscard]] document::Node bool_node(std::optional<bool> value);
[[nodiscard]] document::Node list_node(std::vector<document::Node> items);
[[nodiscard]] document::Node texts_node(const std::vector<std::string>& texts);

/// Builds a map in the order of the calls.
class MapBuilder {
 public:
  MapBuilder& add(std::string_view key, document::Node value);
  [[nodiscard]] document::Node build();

 private:
  std::vector<document::Node::Member> members_;
};

/// [{code, message, hint}, ...]
[[nodiscard]] document::Node warnings_tree(const core::Warnings& warnings);

}  // namespace ridgeline::report
