#include "document/json_writer.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include "core/check.hpp"
#include "core/text.hpp"

namespace ridgeline::document {
namespace {

constexpr std::size_t kIndent = 2;
constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

/// RFC 8259, section 7: what must be escaped, in its short form where it has one.
void append_escaped(std::string& out, std::string_view text) {
  for (const char c : text) {
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
        if (static_cast<unsigned char>(c) < 0x20) {
          out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        } else {
          out += c;
        }
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

void JsonWriter::append_string(std::string_view text) {
  text_ += '"';
  while (true) {
    const std::size_t valid = core::valid_utf8_prefix(text);
    append_escaped(text_, text.substr(0, valid));
    if (valid == text.size()) {
      break;
    }
    text_ += kReplacementCharacter;
    text.remove_prefix(valid + 1);
  }
  text_ += '"';
}

}  // namespace ridgeline::document
