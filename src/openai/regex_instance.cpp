#include "openai/regex_instance.hpp"

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "openai/api_error.hpp"

namespace ridgeline::openai {
namespace {

/// Groups inside each other.
constexpr int kMostDepth = 64;
constexpr std::int64_t kMostRepeats = 10'000;
constexpr std::size_t kCharacters = 128;

/// The characters of ASCII that a class or an escape stands for.
using Characters = std::bitset<kCharacters>;

Characters range(char first, char last) {
  Characters all;
  for (auto c = static_cast<unsigned char>(first); c <= static_cast<unsigned char>(last); ++c) {
    all.set(c);
  }
  return all;
}

/// What \d, \w, \s and their opposites stand for.
std::optional<Characters> class_of(char letter) {
  const Characters digits = range('0', '9');
  const Characters words = range('a', 'z') | range('A', 'Z') | digits | range('_', '_');
  const Characters spaces = range('\t', '\r') | range(' ', ' ');
  switch (letter) {
    case 'd':
      return digits;
    case 'D':
      return ~digits;
    case 'w':
      return words;
    case 'W':
      return ~words;
    case 's':
      return spaces;
    case 'S':
      return ~spaces;
    default:
      return std::nullopt;
  }
}

/// The one to stand for them: a letter or a digit where there is one, else what can be seen.
std::optional<char> best_of(const Characters& all) {
  for (const auto& [first, last] :
       {std::array{'a', 'z'}, {'A', 'Z'}, {'0', '9'}, {' ', '~'}, {'\0', '\x7f'}}) {
    for (auto c = static_cast<unsigned char>(first); c <= static_cast<unsigned char>(last); ++c) {
      if (all.test(c)) {
        return static_cast<char>(c);
      }
    }
  }
  return std::nullopt;
}

/// Reads an expression from left to right and makes its text on the way.
class Maker {
 public:
  Maker(std::string_view expression, bool takes_optional)
      : rest_(expression), takes_optional_(takes_optional) {}

  std::optional<std::string> make() {
    std::string text = alternatives();
    if (wrong_.empty() && !rest_.empty()) {
      fail("unbalanced parenthesis");
    }
    return wrong_.empty() ? std::optional(std::move(text)) : std::nullopt;
  }
  [[nodiscard]] const std::string& wrong() const { return wrong_; }

 private:
  std::string fail(std::string_view why) {
    if (wrong_.empty()) {
      wrong_ = why;
    }
    rest_ = {};
    return {};
  }
  [[nodiscard]] bool is_at(char c) const { return rest_.starts_with(c); }
  bool skip(std::string_view text) {
    const bool is_there = rest_.starts_with(text);
    rest_.remove_prefix(is_there ? text.size() : 0);
    return is_there;
  }
  char take() {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }

  std::string alternatives() {
    if (++depth_ > kMostDepth) {
      return fail("groups are nested too deeply");
    }
    std::string text = sequence();
    while (skip("|")) {
      sequence();  // Read, so that it is known to be right.
    }
    --depth_;
    return text;
  }

  std::string sequence() {
    std::string text;
    while (!rest_.empty() && !is_at('|') && !is_at(')')) {
      text += repeated(atom());
      if (text.size() > kMostRegexText) {
        return fail("its text is too long");
      }
    }
    return text;
  }

  /// What follows a part, and the part so many times.
  std::string repeated(const std::string& part) {
    std::int64_t times = 1;
    if (skip("*") || skip("?")) {
      times = takes_optional_ ? 1 : 0;
    } else if (skip("+")) {
      times = 1;
    } else if (is_at('{')) {
      const auto least = counted();
      if (!least) {
        return part;  // A brace that is a character.
      }
      times = *least;
    } else {
      return part;
    }
    static_cast<void>(skip("?") || skip("+"));  // Lazy or possessive: the same texts.
    if (times * static_cast<std::int64_t>(part.size()) >
        static_cast<std::int64_t>(kMostRegexText)) {
      return fail("its text is too long");
    }
    std::string text;
    for (std::int64_t i = 0; i < times; ++i) {
      text += part;
    }
    return text;
  }

  std::optional<std::int64_t> number(std::string_view& from) {
    std::optional<std::int64_t> value;
    while (!from.empty() && from.front() >= '0' && from.front() <= '9') {
      value = value.value_or(0) * 10 + (from.front() - '0');
      from.remove_prefix(1);
      if (*value > kMostRepeats) {
        fail("too many repetitions");
        return std::nullopt;
      }
    }
    return value;
  }

  /// {2}, {2,}, {,3} or {2,3}: how often. Nothing where it is none of them.
  std::optional<std::int64_t> counted() {
    std::string_view from = rest_.substr(1);
    const auto least = number(from);
    auto most = least;
    const bool is_range = from.starts_with(',');
    if (is_range) {
      from.remove_prefix(1);
      most = number(from);
    }
    if (!from.starts_with('}') || (!least && !most)) {
      return std::nullopt;
    }
    if (least && most && *most < *least) {
      fail("the most repetitions are fewer than the least");
      return std::nullopt;
    }
    rest_ = from.substr(1);
    const bool may_be_once = !most || *most > 0;
    return takes_optional_ && may_be_once && least.value_or(0) == 0 ? 1 : least.value_or(0);
  }

  std::string atom() {
    const char c = take();
    switch (c) {
      case '(':
        return group();
      case '[':
        return set();
      case '.':
        return "a";
      case '^':
      case '$':
        return {};
      case '\\':
        return escape();
      case '*':
      case '+':
      case '?':
        return fail("nothing to repeat");
      default:
        return std::string(1, c);
    }
  }

  std::string group() {
    if (skip("?")) {
      if (skip("P<") || (rest_.size() > 1 && is_at('<') && rest_[1] != '=' && rest_[1] != '!')) {
        const std::size_t end = rest_.find('>');
        if (end == std::string_view::npos) {
          return fail("a group's name does not end");
        }
        rest_.remove_prefix(end + 1);
      } else if (!skip(":")) {
        return fail("groups that look around are not emulated");
      }
    }
    std::string text = alternatives();
    if (wrong_.empty() && !skip(")")) {
      return fail("a group does not end");
    }
    return text;
  }

  /// The character of an escape that stands for one; nothing for those that stand for more.
  std::optional<std::string> character(char letter) {
    constexpr std::string_view kNames = "ntrfv0";
    constexpr std::string_view kMeant("\n\t\r\f\v\0", kNames.size());
    if (const std::size_t at = kNames.find(letter); at != std::string_view::npos) {
      return std::string(1, kMeant[at]);
    }
    if (letter == 'x' || letter == 'u') {
      const std::size_t digits = letter == 'x' ? 2 : 4;
      std::uint32_t code = 0;
      for (std::size_t i = 0; i < digits; ++i) {
        constexpr std::string_view kHex = "0123456789abcdef";
        const std::size_t digit =
            rest_.empty() ? std::string_view::npos : kHex.find(static_cast<char>(rest_[0] | 0x20));
        if (digit == std::string_view::npos) {
          return fail("an escape of a character lacks digits");
        }
        code = code * 16 + static_cast<std::uint32_t>(digit);
        rest_.remove_prefix(1);
      }
      if (code >= kCharacters) {
        return fail("escapes beyond ASCII are not emulated");
      }
      return std::string(1, static_cast<char>(code));
    }
    const bool is_letter = range('a', 'z').test(static_cast<std::size_t>(letter | 0x20));
    const bool is_digit = letter >= '1' && letter <= '9';
    if (is_letter || is_digit) {
      return std::nullopt;
    }
    return std::string(1, letter);
  }

  std::string escape() {
    if (rest_.empty()) {
      return fail("it ends with a backslash");
    }
    const char letter = take();
    if (static_cast<unsigned char>(letter) >= kCharacters) {
      return std::string(1, letter);
    }
    if (const auto all = class_of(letter)) {
      return std::string(1, *best_of(*all));
    }
    if (letter == 'A' || letter == 'Z' || letter == 'z') {
      return {};
    }
    if (auto one = character(letter)) {
      return *one;
    }
    return fail(fmt::format("\\{} is not emulated", letter));
  }

  /// [a-z_], [^"\\]: one of its characters.
  std::string set() {
    const bool is_negated = skip("^");
    Characters all;
    std::string beyond;  // The first character of UTF-8, where there is one.
    for (bool is_first = true; is_first || !is_at(']'); is_first = false) {
      if (rest_.empty()) {
        return fail("a class does not end");
      }
      if (static_cast<unsigned char>(rest_.front()) >= kCharacters) {
        do {
          beyond += beyond.size() < 4 ? rest_.substr(0, 1) : std::string_view();
          rest_.remove_prefix(1);
        } while (!rest_.empty() && (static_cast<unsigned char>(rest_.front()) & 0xC0U) == 0x80U);
        continue;
      }
      const auto first = member(all);
      if (!first) {
        continue;
      }
      if (rest_.size() > 1 && is_at('-') && rest_[1] != ']' &&
          static_cast<unsigned char>(rest_[1]) < kCharacters) {
        take();
        const auto last = member(all);
        if (!last || *last < *first) {
          return fail("a range of a class is no range");
        }
        all |= range(*first, *last);
      } else {
        all.set(static_cast<std::size_t>(*first));
      }
    }
    take();
    if (const auto best = best_of(is_negated ? ~all : all)) {
      return std::string(1, *best);
    }
    if (!is_negated && !beyond.empty()) {
      return beyond;
    }
    return fail("a class is empty");
  }

  /// A character of a class; nothing where it is an escape of several, which is added.
  std::optional<char> member(Characters& all) {
    const char c = take();
    if (c != '\\') {
      return c;
    }
    if (rest_.empty()) {
      fail("it ends with a backslash");
      return std::nullopt;
    }
    const char letter = take();
    if (const auto some = class_of(letter)) {
      all |= *some;
      return std::nullopt;
    }
    if (letter == 'b') {
      return '\b';
    }
    const auto one =
        static_cast<unsigned char>(letter) < kCharacters ? character(letter) : std::nullopt;
    if (!one || one->empty()) {
      fail(fmt::format("\\{} is not emulated", letter));
      return std::nullopt;
    }
    return one->front();
  }

  std::string_view rest_;
  bool takes_optional_;
  int depth_ = 0;
  std::string wrong_;
};

}  // namespace

ApiResult<std::string> regex_instance(std::string_view expression) {
  for (const bool takes_optional : {false, true}) {
    Maker maker(expression, takes_optional);
    auto text = maker.make();
    if (!text) {
      return tl::unexpected(
          refused(fmt::format("Failed to make a text of the regex: {}", maker.wrong())));
    }
    if (!text->empty()) {
      return *text;
    }
  }
  return tl::unexpected(
      refused("Failed to make a text of the regex: it matches nothing but an empty text"));
}

}  // namespace ridgeline::openai
