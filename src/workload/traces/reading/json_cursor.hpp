#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/time.hpp"
#include "core/units.hpp"
#include "workload/traces/reading/fields.hpp"

namespace ridgeline::workload {

/// Walks over JSON front to back, without building anything: numbers are read from their text, so
/// that 0.1 s is exactly 10^11 picoseconds. The first problem is noted and ends the walk: every
/// call after it returns false.
///
///   JsonCursor json(line);
///   for (json.enter('{'); json.next_key(key);) {
///     key == "a" ? json.tokens(key, a) : json.skip();
///   }
///   return json.at_end();
class JsonCursor {
 public:
  explicit JsonCursor(const TraceLine& line) : line_(&line), rest_(line.text()) {}

  [[nodiscard]] bool sound() const { return sound_; }
  /// What comes next: '{', '[', '"', 'n' (null), 't' or 'f', '0' (a number), or 0 for anything
  /// else.
  [[nodiscard]] char kind();

  /// Takes the bracket that opens an object or a list.
  bool enter(char bracket, std::string_view column = {});
  /// Takes the key of the next member, without its escapes undone, and the colon; or the bracket
  /// that closes the object (false).
  bool next_key(std::string_view& key);
  /// Goes to the next item, or takes the bracket that closes the list (false).
  bool next_item();
  /// Nothing but white space is left, and no problem was met.
  bool at_end();

  /// Each takes one value of its kind; another kind is a problem.
  bool number(std::string_view column, std::string_view& text);
  bool string(std::string_view column, std::string_view& raw);
  bool boolean(std::string_view column, bool& value);
  bool null();
  /// A number or a string, as text.
  bool scalar(std::string_view column, std::string_view& text);
  /// Any value, read over.
  bool skip();

  bool tokens(std::string_view column, core::Tokens& value, std::int64_t lowest = 1);
  bool integer(std::string_view column,
               std::int64_t lowest,
               std::int64_t highest,
               std::int64_t& value);
  bool time(std::string_view column, const TimeUnit& unit, core::Duration& value);

  /// Notes a problem at what comes next, and ends the walk.
  bool fail(std::string_view column, std::string_view expected);
  /// The text that is left, from the next value on.
  [[nodiscard]] std::string_view rest();
  /// The line that is walked over.
  [[nodiscard]] const TraceLine& line() const { return *line_; }

 private:
  void skip_space() {
    while (!rest_.empty() && static_cast<unsigned char>(rest_[0]) <= ' ') {
      rest_.remove_prefix(1);
    }
  }
  bool take_string(std::string_view column, std::string_view& raw);
  bool take_word(std::string_view word, std::string_view column);
  bool skip_scalar();

  const TraceLine* line_;
  std::string_view rest_;
  bool sound_ = true;
  bool fresh_ = false;  ///< Right behind a bracket that opens.
};

/// A JSON string with its escapes undone; what is no escape stays as it is.
[[nodiscard]] std::string unescaped(std::string_view raw);

/// Whether `text` is a whole number, so that it can be written as one.
[[nodiscard]] bool is_whole_number(std::string_view text);

}  // namespace ridgeline::workload
