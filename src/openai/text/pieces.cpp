#include "openai/text/pieces.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "openai/text/words.hpp"

namespace ridgeline::text {
namespace {

enum class Kind : std::uint8_t { kLetter, kDigit, kPunctuation, kIdeograph, kBreak, kSpace };

struct Character {
  Kind kind = Kind::kLetter;
  std::size_t bytes = 1;
};

/// Blocks of Unicode without spaces between words: kana, CJK, Hangul, full-width forms.
constexpr bool is_ideograph(std::uint32_t point) {
  return (point >= 0x2E80 && point <= 0x9FFF) || (point >= 0xAC00 && point <= 0xD7AF) ||
         (point >= 0xF900 && point <= 0xFAFF) || (point >= 0xFF00 && point <= 0xFFEF) ||
         (point >= 0x20000 && point <= 0x3FFFF);
}

Character first_of(std::string_view text) {
  const auto byte = static_cast<unsigned char>(text.front());
  if (byte < 0x80) {
    const char c = text.front();
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      return {Kind::kLetter};
    }
    if (c >= '0' && c <= '9') {
      return {Kind::kDigit};
    }
    if (c == '\n' || c == '\r') {
      return {Kind::kBreak};
    }
    return {c == ' ' || c == '\t' ? Kind::kSpace : Kind::kPunctuation};
  }
  const std::size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
  const std::size_t bytes = std::min(length, text.size());
  std::uint32_t point = byte & (0x7FU >> length);
  for (std::size_t i = 1; i < bytes; ++i) {
    point = (point << 6U) | (static_cast<unsigned char>(text[i]) & 0x3FU);
  }
  return {is_ideograph(point) ? Kind::kIdeograph : Kind::kLetter, bytes};
}

/// Pieces of a run of `length` characters.
std::int64_t parts_of(Kind kind, std::int64_t length) {
  constexpr std::int64_t kWhole = 7;    // Letters of one piece ...
  constexpr std::int64_t kFurther = 6;  // ... and of each beyond.
  constexpr std::int64_t kDigits = 3;
  constexpr std::int64_t kMarks = 3;
  constexpr std::int64_t kIdeographs = 62;  // In a hundred of them, tokens.
  switch (kind) {
    case Kind::kLetter:
      return length <= kWhole ? 1 : 1 + (length - kWhole + kFurther / 2) / kFurther;
    case Kind::kDigit:
      return (length + kDigits - 1) / kDigits;
    case Kind::kPunctuation:
      return std::max<std::int64_t>(length / kMarks, 1);
    case Kind::kIdeograph:
      return std::max<std::int64_t>((length * kIdeographs + 50) / 100, 1);
    default:
      return 1;
  }
}

}  // namespace

std::optional<std::string_view> Pieces::next() {
  if (parts_ == 0) {
    if (rest_.empty()) {
      return std::nullopt;
    }
    start_run();
  }
  return take_part();
}

/// Takes as many bytes of run_ as its parts have in the mean, and no character in two.
std::string_view Pieces::take_part() {
  std::size_t bytes = run_.size();
  if (parts_ > 1) {
    bytes = std::max<std::size_t>(run_.size() / static_cast<std::size_t>(parts_), 1);
    while (bytes < run_.size() && (static_cast<unsigned char>(run_[bytes]) & 0xC0U) == 0x80U) {
      ++bytes;
    }
  }
  const std::string_view part = run_.substr(0, bytes);
  run_.remove_prefix(bytes);
  parts_ = run_.empty() ? 0 : parts_ - 1;
  return part;
}

void Pieces::start_run() {
  std::size_t begin = 0;
  Character first = first_of(rest_);
  // A space belongs to what follows it; those before the last one are a piece of their own.
  if (first.kind == Kind::kSpace) {
    std::size_t spaces = 1;
    while (spaces < rest_.size() && first_of(rest_.substr(spaces)).kind == Kind::kSpace) {
      ++spaces;
    }
    const bool ends = spaces == rest_.size();
    const Kind after = ends ? Kind::kBreak : first_of(rest_.substr(spaces)).kind;
    if (spaces > 1 || ends || after == Kind::kBreak) {
      const std::size_t own = ends || after == Kind::kBreak ? spaces : spaces - 1;
      run_ = rest_.substr(0, own);
      rest_.remove_prefix(own);
      parts_ = 1;
      is_estimate_ = true;
      return;
    }
    begin = 1;
    first = first_of(rest_.substr(1));
  }
  std::size_t end = begin;
  std::int64_t length = 0;
  while (end < rest_.size()) {
    const Character c = first_of(rest_.substr(end));
    if (c.kind != first.kind) {
      break;
    }
    end += c.bytes;
    ++length;
  }
  run_ = rest_.substr(0, end);
  rest_.remove_prefix(end);
  parts_ = 1;
  if (first.kind == Kind::kLetter && word_number(run_.substr(begin))) {
    return;
  }
  is_estimate_ = true;
  parts_ = parts_of(first.kind, length);
}

PieceCount count_pieces(std::string_view text) {
  Pieces pieces(text);
  PieceCount count;
  while (pieces.next()) {
    ++count.pieces;
  }
  count.is_estimate = pieces.is_estimate();
  return count;
}

}  // namespace ridgeline::text
