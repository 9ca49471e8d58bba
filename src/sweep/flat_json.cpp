#include "sweep/flat_json.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace ridgeline::sweep {
namespace {

using Use = std::function<void(std::string_view, std::string_view)>;

constexpr std::string_view kPoint = "point";
constexpr std::string_view kResult = "result";
/// Digits of \u00ab.
constexpr std::size_t kHexDigits = 4;

class Flattener {
 public:
  Flattener(std::string_view json, const Use& use) : rest_(json), use_(use) {}

  void map() {
    rest_.remove_prefix(1);
    while (!rest_.empty() && rest_.front() != '}') {
      if (rest_.front() == ',') {
        rest_.remove_prefix(1);
      }
      member();
    }
    drop();
  }

 private:
  void member() {
    const std::size_t length = path_.size();
    text_.clear();
    read_text();
    drop();  // The colon.
    const bool is_outer = path_.empty() && (text_ == kPoint || text_ == kResult);
    if (!is_outer) {
      path_ += path_.empty() ? "" : ".";
      path_ += text_;
    }
    if (!rest_.empty() && rest_.front() == '{') {
      map();
    } else {
      text_.clear();
      value();
      use_(path_, text_);
    }
    path_.resize(length);
  }

  /// Appends a value that is no map to `text_`. Maps inside lists stand as they are.
  void value() {
    if (rest_.empty()) {
      return;
    }
    if (rest_.front() == '"') {
      read_text();
    } else if (rest_.front() == '[') {
      drop();
      while (!rest_.empty() && rest_.front() != ']') {
        if (rest_.front() == ',') {
          drop();
          text_ += ' ';
        }
        value();
      }
      drop();
    } else if (rest_.front() == '{') {
      read_inner_map();
    } else {
      const std::string_view word = until([](char c) { return c == ',' || c == ']' || c == '}'; });
      text_ += word == "null" ? "" : word;
      rest_.remove_prefix(word.size());
    }
  }

  void read_inner_map() {
    int depth = 0;
    bool is_text = false;
    while (!rest_.empty()) {
      const char c = rest_.front();
      text_ += c;
      drop();
      if (is_text && c == '\\' && !rest_.empty()) {
        text_ += rest_.front();
        drop();
      } else if (c == '"') {
        is_text = !is_text;
      } else if (!is_text && c == '{') {
        ++depth;
      } else if (!is_text && c == '}' && --depth == 0) {
        return;
      }
    }
  }

  /// Appends a text in quotes, without them.
  void read_text() {
    drop();
    while (!rest_.empty() && rest_.front() != '"') {
      const std::string_view plain = until([](char c) { return c == '"' || c == '\\'; });
      text_ += plain;
      rest_.remove_prefix(plain.size());
      if (!rest_.empty() && rest_.front() == '\\') {
        drop();
        read_escape();
      }
    }
    drop();
  }

  /// What a JsonWriter escapes: quotes, backslashes and control characters.
  void read_escape() {
    const char c = rest_.empty() ? '\0' : rest_.front();
    drop();
    switch (c) {
      case 'n':
        text_ += '\n';
        break;
      case 't':
        text_ += '\t';
        break;
      case 'r':
        text_ += '\r';
        break;
      case 'b':
        text_ += '\b';
        break;
      case 'f':
        text_ += '\f';
        break;
      case 'u': {
        std::uint32_t code = 0;
        const std::string_view digits = rest_.substr(0, kHexDigits);
        constexpr int kHex = 16;
        std::from_chars(digits.data(), digits.data() + digits.size(), code, kHex);
        text_ += static_cast<char>(code);
        rest_.remove_prefix(digits.size());
        break;
      }
      default:
        text_ += c;
    }
  }

  /// What is left, up to a character that ends it. std::string_view::find_first_of() calls memchr
  /// for each character, which takes most of a merge's time.
  template <class Ends>
  [[nodiscard]] std::string_view until(Ends ends) const {
    const auto end = std::ranges::find_if(rest_, ends);
    return rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
  }

  void drop() { rest_.remove_prefix(rest_.empty() ? 0 : 1); }

  std::string_view rest_;
  const Use& use_;
  std::string path_;
  std::string text_;
};

}  // namespace

void flatten(std::string_view json, const Use& use) {
  Flattener(json, use).map();
}

}  // namespace ridgeline::sweep
