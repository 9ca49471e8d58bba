#include "sweep/row_shape.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ridgeline::sweep {
namespace {

constexpr std::string_view kNull = "null";
constexpr std::string_view kNoItems = "[]";

struct Value {
  std::string_view text;
  std::size_t length = 0;  ///< With its quotes or brackets.
};

/// The value that a text begins with; nothing where it is one that has to be taken apart.
std::optional<Value> first_value(std::string_view text) {
  if (text.empty() || text.front() == '{') {
    return std::nullopt;
  }
  if (text.front() == '"') {
    const std::size_t end = text.find('"', 1);
    const std::string_view inside = text.substr(1, end - 1);
    if (end == std::string_view::npos || inside.find('\\') != std::string_view::npos) {
      return std::nullopt;
    }
    return Value{.text = inside, .length = end + 1};
  }
  if (text.front() == '[') {
    return text.starts_with(kNoItems) ? std::optional(Value{.text = {}, .length = kNoItems.size()})
                                      : std::nullopt;
  }
  const auto end = std::ranges::find_if(text, [](char c) { return c == ',' || c == '}'; });
  const auto length = static_cast<std::size_t>(end - text.begin());
  const std::string_view word = text.substr(0, length);
  return Value{.text = word == kNull ? std::string_view() : word, .length = length};
}

/// Behind the colon of the next member whose value is no map; the text's end where there is none.
/// Keys hold no escapes here.
std::size_t next_value(std::string_view text, std::size_t from) {
  bool is_key = false;
  for (std::size_t i = from; i < text.size(); ++i) {
    is_key = text[i] == '"' ? !is_key : is_key;
    if (!is_key && text[i] == ':' && i + 1 < text.size() && text[i + 1] != '{') {
      return i + 1;
    }
  }
  return text.size();
}

}  // namespace

std::optional<RowShape> RowShape::of(std::string_view json) {
  RowShape shape;
  std::size_t from = 0;
  while (true) {
    const std::size_t at = next_value(json, from);
    if (json.substr(from, at - from).find('\\') != std::string_view::npos) {
      return std::nullopt;
    }
    if (at == json.size()) {
      shape.end_ = json.substr(from);
      return shape;
    }
    const auto value = first_value(json.substr(at));
    if (!value) {
      return std::nullopt;
    }
    shape.before_.emplace_back(json.substr(from, at - from));
    from = at + value->length;
  }
}

bool RowShape::values(std::string_view json, std::vector<std::string_view>& into) const {
  into.clear();
  for (const std::string& before : before_) {
    if (!json.starts_with(before)) {
      return false;
    }
    json.remove_prefix(before.size());
    const auto value = first_value(json);
    if (!value) {
      return false;
    }
    into.push_back(value->text);
    json.remove_prefix(value->length);
  }
  return json == end_;
}

}  // namespace ridgeline::sweep
