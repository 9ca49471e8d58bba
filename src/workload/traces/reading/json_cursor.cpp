#include "workload/traces/reading/json_cursor.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/text.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "workload/traces/reading/fields.hpp"

namespace ridgeline::workload {
namespace {

constexpr bool is_number_start(char c) {
  return c == '-' || (c >= '0' && c <= '9');
}
/// By character: whether it can be part of a number.
constexpr auto kNumberParts = [] {
  std::array<bool, 256> parts{};
  for (const char c : std::string_view("0123456789+-.eE")) {
    parts[static_cast<unsigned char>(c)] = true;
  }
  return parts;
}();

/// Maps and lists within each other; no format of traces nests deeper.
constexpr std::size_t kMostBrackets = 256;

void append_code_point(std::string& text, std::uint32_t code) {
  if (code < 0x80) {
    text += static_cast<char>(code);
  } else if (code < 0x800) {
    text += static_cast<char>(0xC0U | (code >> 6U));
    text += static_cast<char>(0x80U | (code & 0x3FU));
  } else {
    text += static_cast<char>(0xE0U | (code >> 12U));
    text += static_cast<char>(0x80U | ((code >> 6U) & 0x3FU));
    text += static_cast<char>(0x80U | (code & 0x3FU));
  }
}

}  // namespace

char JsonCursor::kind() {
  skip_space();
  if (rest_.empty() || !sound_) {
    return 0;
  }
  const char c = rest_[0];
  if (is_number_start(c)) {
    return '0';
  }
  return c == '{' || c == '[' || c == '"' || c == 'n' || c == 't' || c == 'f' ? c : '\0';
}

bool JsonCursor::fail(std::string_view column, std::string_view expected) {
  if (sound_) {
    skip_space();
    line_->problem(
        column, rest_, rest_.empty() ? "the end of the line" : core::quote(rest_), expected);
    sound_ = false;
  }
  return false;
}

std::string_view JsonCursor::rest() {
  skip_space();
  return rest_;
}

bool JsonCursor::enter(char bracket, std::string_view column) {
  skip_space();
  if (!sound_ || rest_.empty() || rest_[0] != bracket) {
    return fail(column, bracket == '{' ? "'{'" : "'['");
  }
  rest_.remove_prefix(1);
  fresh_ = true;
  return true;
}

bool JsonCursor::take_string(std::string_view column, std::string_view& raw) {
  if (rest_.empty() || rest_[0] != '"') {
    return fail(column, "a text in double quotes");
  }
  std::size_t end = 1;
  while (end < rest_.size() && rest_[end] != '"') {
    end += rest_[end] == '\\' ? 2U : 1U;
  }
  if (end >= rest_.size()) {
    rest_ = rest_.substr(rest_.size());
    return fail(column, "the end of the text");
  }
  raw = rest_.substr(1, end - 1);
  rest_.remove_prefix(end + 1);
  return true;
}

bool JsonCursor::next_key(std::string_view& key) {
  if (!sound_) {
    return false;
  }
  skip_space();
  if (!rest_.empty() && rest_[0] == '}') {
    rest_.remove_prefix(1);
    fresh_ = false;
    return false;
  }
  if (!fresh_) {
    if (rest_.empty() || rest_[0] != ',') {
      return fail({}, "',' or '}'");
    }
    rest_.remove_prefix(1);
    skip_space();
  }
  fresh_ = false;
  if (rest_.empty() || rest_[0] != '"') {
    return fail({}, "a key in double quotes");
  }
  const std::size_t end = rest_.find('"', 1);
  if (end == std::string_view::npos) {
    rest_ = rest_.substr(rest_.size());
    return fail({}, "the end of the key");
  }
  key = rest_.substr(1, end - 1);
  rest_.remove_prefix(end + 1);
  skip_space();
  if (rest_.empty() || rest_[0] != ':') {
    return fail({}, "':'");
  }
  rest_.remove_prefix(1);
  return true;
}

bool JsonCursor::next_item() {
  if (!sound_) {
    return false;
  }
  skip_space();
  if (!rest_.empty() && rest_[0] == ']') {
    rest_.remove_prefix(1);
    fresh_ = false;
    return false;
  }
  if (!fresh_) {
    if (rest_.empty() || rest_[0] != ',') {
      return fail({}, "',' or ']'");
    }
    rest_.remove_prefix(1);
  }
  fresh_ = false;
  return true;
}

bool JsonCursor::at_end() {
  skip_space();
  if (!rest_.empty()) {
    return fail({}, "the end of the line");
  }
  return sound_;
}

bool JsonCursor::number(std::string_view column, std::string_view& text) {
  skip_space();
  if (!sound_ || rest_.empty() || !is_number_start(rest_[0])) {
    return fail(column, "a number");
  }
  std::size_t end = 1;
  while (end < rest_.size() && kNumberParts[static_cast<unsigned char>(rest_[end])]) {
    ++end;
  }
  text = rest_.substr(0, end);
  // JSON has no leading zeros (RFC 8259, section 6).
  const std::size_t first = text[0] == '-' ? 1 : 0;
  if (text.size() > first + 1 && text[first] == '0' && text[first + 1] >= '0' &&
      text[first + 1] <= '9') {
    line_->problem(column, text, core::quote(text), "a number without leading zeros");
    sound_ = false;
    return false;
  }
  rest_.remove_prefix(end);
  return true;
}

bool JsonCursor::string(std::string_view column, std::string_view& raw) {
  skip_space();
  return sound_ && take_string(column, raw);
}

bool JsonCursor::take_word(std::string_view word, std::string_view column) {
  skip_space();
  if (!sound_ || !rest_.starts_with(word)) {
    return fail(column, fmt::format("'{}'", word));
  }
  rest_.remove_prefix(word.size());
  return true;
}

bool JsonCursor::boolean(std::string_view column, bool& value) {
  const char c = kind();
  if (c != 't' && c != 'f') {
    return fail(column, "true or false");
  }
  value = c == 't';
  return take_word(value ? "true" : "false", column);
}

bool JsonCursor::null() {
  return take_word("null", {});
}

bool JsonCursor::scalar(std::string_view column, std::string_view& text) {
  const char c = kind();
  if (c == '"') {
    return string(column, text);
  }
  return c == '0' ? number(column, text) : fail(column, "a text or a number");
}

bool JsonCursor::skip_scalar() {
  std::string_view text;
  switch (kind()) {
    case '"':
      return take_string({}, text);
    case '0':
      return number({}, text);
    case 'n':
      return null();
    case 't':
      return take_word("true", {});
    case 'f':
      return take_word("false", {});
    default:
      return fail({}, "a value");
  }
}

bool JsonCursor::skip() {
  std::vector<char> open;
  do {
    if (!open.empty()) {
      std::string_view key;
      const bool more = open.back() == '{' ? next_key(key) : next_item();
      if (!sound_) {
        return false;
      }
      if (!more) {
        open.pop_back();
        continue;
      }
    }
    const char c = kind();
    if (c == '{' || c == '[') {
      if (open.size() == kMostBrackets) {
        return fail({}, "fewer brackets within each other");
      }
      enter(c);
      open.push_back(c);
    } else if (!skip_scalar()) {
      return false;
    }
  } while (!open.empty());
  return sound_;
}

bool JsonCursor::tokens(std::string_view column, core::Tokens& value, std::int64_t lowest) {
  std::string_view text;
  if (!number(column, text)) {
    return false;
  }
  // A bad value leaves the walk sound: the line may hold more problems.
  return read_tokens(*line_, column, text, value, lowest);
}

bool JsonCursor::integer(std::string_view column,
                         std::int64_t lowest,
                         std::int64_t highest,
                         std::int64_t& value) {
  std::string_view text;
  return number(column, text) && read_integer(*line_, column, text, lowest, highest, value);
}

bool JsonCursor::time(std::string_view column, const TimeUnit& unit, core::Duration& value) {
  std::string_view text;
  return number(column, text) && read_time(*line_, column, text, unit, value);
}

std::string unescaped(std::string_view raw) {
  std::string text;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\' || i + 1 == raw.size()) {
      text += raw[i];
      continue;
    }
    const char c = raw[++i];
    constexpr std::string_view kLetters = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    std::uint32_t code = 0;
    if (const std::size_t at = kLetters.find(c); at != std::string_view::npos) {
      text += kMeanings[at];
    } else if (c == 'u' && i + 4 < raw.size() &&
               std::from_chars(raw.data() + i + 1, raw.data() + i + 5, code, 16).ptr ==
                   raw.data() + i + 5) {
      append_code_point(text, code);
      i += 4;
    } else {
      text += c;
    }
  }
  return text;
}

bool is_whole_number(std::string_view text) {
  return !text.empty() && text.size() <= 18 &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace ridgeline::workload
