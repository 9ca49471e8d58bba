#include "document/json_writer.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include "core/characters.hpp"
#include "core/check.hpp"
#include "core/text.hpp"

namespace ridgeline::document {
namespace {

constexpr std::size_t kIndent = 2;
constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD
constexpr char32_t kLargestUnit = 0xFFFF;

/// RFC 8259, section 7: what must be escaped, in its short form where it has one.
void append_ascii(std::string& out, char c) {
  switch (c) {
    case '"':
      out += "\\\"";
      break;
    case '\\':
      out += "\\\\";
      break;
    case '\b':
      out += "\\b";
      break;
    case '\f':
      out += "\\f";
      break;
    case '\n':
      out += "\\n";
      break;
    case '\r':
      out += "\\r";
      break;
    case '\t':
      out += "\\t";
      break;
    default:
      if (static_cast<unsigned char>(c) < 0x20 || c == '\x7F') {
        out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
      } else {
        out += c;
      }
  }
}

}  // namespace

JsonWriter& JsonWriter::begin_object() {
  return open('{', true);
}
JsonWriter& JsonWriter::end_object() {
  return close('}', true);
}
JsonWriter& JsonWriter::begin_array() {
  return open('[', false);
}
JsonWriter& JsonWriter::end_array() {
  return close(']', false);
}

JsonWriter& JsonWriter::key(std::string_view name) {
  RIDGELINE_CHECK(!levels_.empty() && levels_.back().is_object && !after_key_, name);
  separate();
  append_string(name);
  text_ += layout_ == Layout::kIndented ? ": " : ":";
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::null() {
  before_value();
  text_ += "null";
  return *this;
}

JsonWriter& JsonWriter::value(bool flag) {
  before_value();
  text_ += flag ? "true" : "false";
  return *this;
}

JsonWriter& JsonWriter::value(double number) {
  RIDGELINE_CHECK(std::isfinite(number), "JSON has no infinity and no NaN: write null()");
  before_value();
  text_ += core::shortest(number);
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  before_value();
  append_string(text);
  return *this;
}

JsonWriter& JsonWriter::integer(std::int64_t number) {
  before_value();
  text_ += std::to_string(number);
  return *this;
}

const std::string& JsonWriter::text() const {
  RIDGELINE_CHECK(!text_.empty() && levels_.empty(), "a JSON text that is not whole");
  return text_;
}

void JsonWriter::clear() {
  text_.clear();
  levels_.clear();
  after_key_ = false;
}

JsonWriter& JsonWriter::open(char bracket, bool is_object) {
  before_value();
  text_ += bracket;
  levels_.push_back({.is_object = is_object});
  return *this;
}

JsonWriter& JsonWriter::close(char bracket, bool is_object) {
  RIDGELINE_CHECK(!levels_.empty() && levels_.back().is_object == is_object && !after_key_,
                  "a JSON bracket that closes nothing");
  const bool was_empty = levels_.back().is_empty;
  levels_.pop_back();
  if (!was_empty) {
    new_line();
  }
  text_ += bracket;
  return *this;
}

void JsonWriter::before_value() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (levels_.empty()) {
    RIDGELINE_CHECK(text_.empty(), "a second JSON value at the top");
    return;
  }
  RIDGELINE_CHECK(!levels_.back().is_object, "a JSON member without a key");
  separate();
}

void JsonWriter::separate() {
  if (!levels_.back().is_empty) {
    text_ += ',';
  }
  levels_.back().is_empty = false;
  new_line();
}

void JsonWriter::new_line() {
  if (layout_ == Layout::kIndented) {
    text_ += '\n';
    text_.append(levels_.size() * kIndent, ' ');
  }
}

/// What is not printable is escaped, so that a text is one to readers of YAML, too, and to
/// terminals.
void JsonWriter::append_string(std::string_view text) {
  text_ += '"';
  for (std::size_t at = 0; at < text.size();) {
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      append_ascii(text_, text[at++]);
      continue;
    }
    const core::Character character = core::character_at(text, at);
    if (!character.is_well_formed) {
      text_ += kReplacementCharacter;
    } else if (character.is_printable() || character.code > kLargestUnit) {
      text_ += text.substr(at, character.length);
    } else {
      text_ += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(character.code));
    }
    at += character.length;
  }
  text_ += '"';
}

}  // namespace ridgeline::document
