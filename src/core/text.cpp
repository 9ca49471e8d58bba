#include "core/text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/core.h>

#include "core/characters.hpp"
#include "core/math.hpp"

namespace ridgeline::core {
namespace {

constexpr std::size_t kQuotedCharacters = 60;
/// Bytes between two remembered positions: a look-up reads fewer bytes than this.
constexpr std::size_t kCheckpointStride = 64;
/// Longer than any double in shortest form ("-2.2250738585072014e-308").
constexpr std::size_t kDoubleCharacters = 32;

unsigned char byte_at(std::string_view text, std::size_t at) {
  return static_cast<unsigned char>(text[at]);
}

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

/// What the first byte of a sequence says: its length, and the range of its second byte.
struct Lead {
  std::size_t length;
  unsigned char second_lowest = 0x80;
  unsigned char second_highest = 0xBF;
};

/// Unicode 15, table 3-7; a length of 0 for bytes that start nothing.
Lead lead_of(unsigned char first) {
  if (first < 0x80) {
    return {.length = 1};
  }
  if (first < 0xC2 || first > 0xF4) {
    return {.length = 0};
  }
  if (first < 0xE0) {
    return {.length = 2};
  }
  switch (first) {
    case 0xE0:
      return {.length = 3, .second_lowest = 0xA0};
    case 0xED:
      return {.length = 3, .second_highest = 0x9F};
    case 0xF0:
      return {.length = 4, .second_lowest = 0x90};
    case 0xF4:
      return {.length = 4, .second_highest = 0x8F};
    default:
      return {.length = first < 0xF0 ? std::size_t{3} : std::size_t{4}};
  }
}

/// The length of the well-formed sequence at `at`, or 0.
std::size_t sequence_length(std::string_view text, std::size_t at) {
  const Lead lead = lead_of(byte_at(text, at));
  if (lead.length <= 1) {
    return lead.length;
  }
  if (at + lead.length > text.size()) {
    return 0;
  }
  const unsigned char second = byte_at(text, at + 1);
  if (second < lead.second_lowest || second > lead.second_highest) {
    return 0;
  }
  for (std::size_t i = 2; i < lead.length; ++i) {
    if (!is_continuation(text[at + i])) {
      return 0;
    }
  }
  return lead.length;
}

void advance(TextPositions::Position& position, char c) {
  if (c == '\n') {
    ++position.line;
    position.column = 1;
  } else if (!is_continuation(c)) {
    ++position.column;
  }
}

/// Appends the character there, escaped unless it is printable. Returns its length.
std::size_t append_shown(std::string& out, std::string_view text, std::size_t at) {
  const Character character = character_at(text, at);
  if (character.is_printable()) {
    out += text.substr(at, character.length);
  } else if (text[at] == '\n') {
    out += "\\n";
  } else {
    for (std::size_t i = at; i < at + character.length; ++i) {
      out += fmt::format("\\x{:02x}", byte_at(text, i));
    }
  }
  return character.length;
}

/// In double quotes, cut after so many characters.
std::string quoted(std::string_view text, std::size_t most) {
  std::string out = "\"";
  std::size_t characters = 0;
  for (std::size_t at = 0; at < text.size(); ++characters) {
    if (characters == most) {
      out += "...";
      break;
    }
    if (text[at] == '"' || text[at] == '\\') {
      out += '\\';
    }
    at += append_shown(out, text, at);
  }
  return out + '"';
}

}  // namespace

std::size_t valid_utf8_prefix(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = sequence_length(text, at);
    if (length == 0) {
      break;
    }
    at += length;
  }
  return at;
}

Character character_at(std::string_view text, std::size_t at) {
  const std::size_t length = sequence_length(text, at);
  if (length == 0) {
    return {};
  }
  // The first byte of a sequence of n has n + 1 bits of its own before those of the code.
  constexpr unsigned kContinuationBits = 6;
  char32_t code = length == 1 ? byte_at(text, at) : byte_at(text, at) & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    code = (code << kContinuationBits) | (byte_at(text, at + i) & 0x3FU);
  }
  return {.length = length, .code = code, .is_well_formed = true};
}

bool Character::is_printable() const {
  const auto is_in = [&](char32_t first, char32_t last) { return code >= first && code <= last; };
  constexpr char32_t kPlane = 0xFFFF;
  return is_well_formed && code >= 0x20 && !is_in(0x7F, 0x9F) && !is_in(0x200E, 0x200F) &&
         !is_in(0x2028, 0x202E) && !is_in(0x2066, 0x2069) && code != 0xFEFF &&
         (code & kPlane) < 0xFFFE && !is_in(0xFDD0, 0xFDEF);
}

std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  return text.starts_with(kMark) ? text.substr(kMark.size()) : text;
}

std::string quote(std::string_view text) {
  return quoted(text, kQuotedCharacters);
}

std::string escaped(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    at += append_shown(out, text, at);
  }
  return out;
}

std::string comment_line(std::string_view text) {
  return "# " + escaped(text) + "\n";
}

std::string shown_path(std::string_view path) {
  return escaped(path) == path ? std::string(path) : quoted(path, path.size());
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) {
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return lower;
}

std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    return std::string(text);
  }
  std::string quoted = "\"";
  for (const char c : text) {
    quoted.append(c == '"' ? 2 : 1, c);
  }
  return quoted + "\"";
}

std::string shortest(double value) {
  if (value == 0.0 && std::signbit(value)) {
    return "-0.0";  // "-0" is an integer to readers that tell the two apart
  }
  std::array<char, kDoubleCharacters> buffer;
  char* const end = buffer.data() + buffer.size();
  const bool plain = value >= -kLargestExactInteger && value <= kLargestExactInteger &&
                     value == static_cast<double>(static_cast<long long>(value));
  const auto written = plain ? std::to_chars(buffer.data(), end, value, std::chars_format::fixed)
                             : std::to_chars(buffer.data(), end, value);
  return {buffer.data(), written.ptr};
}

double times_power_of_ten(double value, int exponent) {
  if (!std::isfinite(value)) {
    return value;
  }
  std::array<char, kDoubleCharacters> buffer;
  char* const end = buffer.data() + buffer.size();
  const auto written = std::to_chars(buffer.data(), end, value, std::chars_format::scientific);
  const std::string_view digits(buffer.data(), written.ptr);
  const std::size_t mark = digits.find('e');
  int own = 0;
  // from_chars takes no plus sign.
  const std::size_t number = mark + (digits[mark + 1] == '+' ? 2 : 1);
  std::from_chars(digits.data() + number, written.ptr, own);
  const std::string moved = fmt::format("{}e{}", digits.substr(0, mark), own + exponent);
  double result = 0.0;
  const auto read = std::from_chars(moved.data(), moved.data() + moved.size(), result);
  return read.ec == std::errc() ? result : value * core::pow(10.0, exponent);
}

TextPositions::TextPositions(std::string_view text) : text_(text) {
  unsigned bits = 0;  // Not a search that ends early: this reads many characters at once.
  for (const char c : text) {
    bits |= static_cast<unsigned char>(c);
  }
  is_plain_ = bits < 0x80 && text.find('\n') == std::string_view::npos;
}

TextPositions::Position TextPositions::at(std::size_t offset) {
  const std::size_t end = std::min(offset, text_.size());
  if (is_plain_) {
    return {.column = static_cast<int>(end) + 1};
  }
  if (end < last_) {
    const std::size_t checkpoint = end / kCheckpointStride;
    last_ = checkpoint * kCheckpointStride;
    last_position_ = checkpoints_[checkpoint];
  }
  while (last_ < end) {
    if (last_ == checkpoints_.size() * kCheckpointStride) {
      checkpoints_.push_back(last_position_);
    }
    const std::size_t stop = std::min(end, (last_ / kCheckpointStride + 1) * kCheckpointStride);
    for (; last_ < stop; ++last_) {
      advance(last_position_, text_[last_]);
    }
  }
  return last_position_;
}

std::string system_message(int code) {
  return std::generic_category().message(code);
}

double exact_microseconds(Seconds time) {
  constexpr int kMicro = 6;
  return times_power_of_ten(time.value(), kMicro);
}

}  // namespace ridgeline::core
