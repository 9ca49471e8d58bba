#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/check.hpp"

namespace ridgeline::document {

/// Writes one JSON text (RFC 8259) front to back, the same bytes for the same calls everywhere:
/// keys in the order of the calls, doubles in the fewest digits that read back the same, integral
/// ones up to 2^53 without an exponent. Calls out of place are bugs of ours and end the process: a
/// value without a key, an unclosed map.
///
///   JsonWriter json;
///   json.begin_object().member("steps", 12).key("ttft_ms").null().end_object();
///   out << json.text() << '\n';
class JsonWriter {
 public:
  enum class Layout : std::uint8_t {
    kIndented,  ///< Two spaces a level, one member or item a line.
    kOneLine,   ///< No white space at all, for logs of one record a line.
  };

  explicit JsonWriter(Layout layout = Layout::kIndented) : layout_(layout) {}

  JsonWriter& begin_object();
  JsonWriter& end_object();
  JsonWriter& begin_array();
  JsonWriter& end_array();
  /// The next call gives this key's value.
  JsonWriter& key(std::string_view name);

  JsonWriter& null();
  JsonWriter& value(bool flag);
  /// Must be finite (checked): a number that does not exist is a null(), with its reason in another
  /// key.
  JsonWriter& value(double number);
  /// Bytes that are not UTF-8 become U+FFFD, so that the text stays JSON.
  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  template <std::integral T>
  JsonWriter& value(T number) {
    RIDGELINE_CHECK(std::in_range<std::int64_t>(number), "an integer beyond int64");
    return integer(static_cast<std::int64_t>(number));
  }

  template <class T>
  JsonWriter& member(std::string_view name, const T& content) {
    return key(name).value(content);
  }

  /// The text so far; whole (checked): one value, everything closed. No line break at the end.
  [[nodiscard]] const std::string& text() const;
  /// Starts over with an empty text, keeping its memory.
  void clear();

 private:
  /// An object or array that is open.
  struct Level {
    bool is_object = false;
    bool is_empty = true;
  };

  JsonWriter& integer(std::int64_t number);
  JsonWriter& open(char bracket, bool is_object);
  JsonWriter& close(char bracket, bool is_object);
  void before_value();
  void separate();
  void new_line();
  void append_string(std::string_view text);

  Layout layout_;
  std::string text_;
  std::vector<Level> levels_;
  bool after_key_ = false;
};

}  // namespace ridgeline::document
