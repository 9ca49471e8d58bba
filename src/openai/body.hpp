#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <simdjson.h>

#include "openai/api_error.hpp"

namespace ridgeline::openai {

/// Bodies are not nested deeper.
inline constexpr std::size_t kDeepestBody = 64;

/// A parsed body, an object, of which values live as long as it.
class Body {
 public:
  [[nodiscard]] static ApiResult<Body> parse(std::string_view text);
  [[nodiscard]] simdjson::dom::object object() const { return object_; }

 private:
  Body() = default;
  std::unique_ptr<simdjson::dom::parser> parser_;
  simdjson::dom::object object_;
};

/// Reads members as pydantic does, leniently: numbers may stand in strings, and null is as good as
/// nothing where the value may be absent. Notes the first problem.
class BodyReader {
 public:
  using Element = simdjson::dom::element;

  [[nodiscard]] bool is_sound() const { return !error_.has_value(); }
  [[nodiscard]] const std::optional<ApiError>& error() const { return error_; }
  void fail(std::string_view key, std::string_view expected);
  void fail(ApiError error);

  void integer(std::string_view key,
               Element element,
               std::int64_t& value,
               std::int64_t lowest = std::numeric_limits<std::int64_t>::min());
  void integer(std::string_view key, Element element, std::optional<std::int64_t>& value);
  void number(std::string_view key, Element element, std::optional<double>& value);
  void boolean(std::string_view key, Element element, bool& value);
  void text(std::string_view key, Element element, std::string& value);
  void text(std::string_view key, Element element, std::optional<std::string>& value);
  /// One text, or a list of them.
  void texts(std::string_view key, Element element, std::vector<std::string>& values);
  void integers(std::string_view key, Element element, std::vector<std::int64_t>& values);

 private:
  std::optional<ApiError> error_;
};

/// Whether an element is null.
[[nodiscard]] inline bool is_null(simdjson::dom::element element) {
  return element.is_null();
}

}  // namespace ridgeline::openai
