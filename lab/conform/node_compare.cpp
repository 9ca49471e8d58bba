#include "lab/conform/node_compare.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "document/document.hpp"
#include "document/node_json.hpp"
#include "lab/conform/conform.hpp"

namespace ridgeline::conform {
namespace {

std::string_view last_key(std::string_view where) {
  const std::size_t bracket = where.find('[', where.rfind('.') + 1);
  const std::string_view path = where.substr(0, bracket);
  return path.substr(path.rfind('.') + 1);
}

Difference differs(const std::string& where,
                   const document::Node& recorded,
                   const document::Node& ours) {
  const auto short_text = [](const document::Node& node) {
    std::string text = document::json_line(node);
    text.pop_back();
    constexpr std::size_t kMost = 200;
    return text.size() > kMost ? text.substr(0, kMost) + "..." : text;
  };
  return {.where = where, .recorded = short_text(recorded), .ours = short_text(ours)};
}

bool is_near(double a, double b, Tolerance tolerance) {
  return std::abs(a - b) <= std::max(tolerance.absolute, tolerance.relative * std::abs(a));
}

}  // namespace

std::optional<Difference> first_difference(const document::Node& recorded,
                                           const document::Node& ours,
                                           const std::string& where,
                                           ToleranceOf tolerance) {
  if (recorded.is_map() && ours.is_map()) {
    for (const auto& [key, value, place] : recorded.members()) {
      const document::Node* own = ours.find(key);
      const std::string path = where.empty() ? key : fmt::format("{}.{}", where, key);
      if (own == nullptr) {
        return Difference{.where = path, .recorded = value.describe(), .ours = "not computed"};
      }
      if (auto difference = first_difference(value, *own, path, tolerance)) {
        return difference;
      }
    }
    return std::nullopt;
  }
  if (recorded.is_list() && ours.is_list() && recorded.items().size() == ours.items().size()) {
    for (std::size_t i = 0; i < recorded.items().size(); ++i) {
      if (auto difference = first_difference(
              recorded.items()[i], ours.items()[i], fmt::format("{}[{}]", where, i), tolerance)) {
        return difference;
      }
    }
    return std::nullopt;
  }
  const bool is_equal =
      recorded.is_number() && ours.is_number()
          ? is_near(recorded.as_real(), ours.as_real(), tolerance(last_key(where)))
          : !recorded.is_list() && !recorded.is_map() && recorded.kind() == ours.kind() &&
                document::json_line(recorded) == document::json_line(ours);
  return is_equal ? std::nullopt : std::optional(differs(where, recorded, ours));
}

}  // namespace ridgeline::conform
