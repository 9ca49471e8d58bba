#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/document.hpp"
#include "core/result.hpp"

namespace ridgeline::report {

/// Values of a result, which stand nowhere in a user's input.
[[nodiscard]] core::Node text_node(std::string_view text);
[[nodiscard]] core::Node integer_node(std::int64_t value);
/// A number that JSON has, or null: nothing, NaN and the infinities become null.
[[nodiscard]] core::Node number_node(std::optional<double> value);
[[nodiscard]] core::Node bool_node(std::optional<bool> value);
[[nodiscard]] core::Node list_node(std::vector<core::Node> items);

/// Builds a map in the order of the calls.
class MapBuilder {
 public:
  MapBuilder& add(std::string_view key, core::Node value);
  [[nodiscard]] core::Node build();

 private:
  std::vector<core::Node::Member> members_;
};

/// [{code, message, hint}, ...]
[[nodiscard]] core::Node warnings_tree(const core::Warnings& warnings);

}  // namespace ridgeline::report
