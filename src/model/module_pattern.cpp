#include "model/module_pattern.hpp"

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace ridgeline::model {
namespace {

/// Attempts before an expression is given up: names are short, so that honest ones need hundreds.
constexpr int kMostSteps = 20'000;
/// Groups within groups.
constexpr int kDeepestGroup = 16;
constexpr std::size_t kLongestExpression = 512;

bool wildcard_match(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;
  std::size_t resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') {
    ++p;
  }
  return p == pattern.size();
}

/// `name` stands in `text` between dots or the ends.
bool has_components(std::string_view name, std::string_view text) {
  for (std::size_t at = text.find(name); at != std::string_view::npos;
       at = text.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    if ((at == 0 || text[at - 1] == '.') && (end == text.size() || text[end] == '.')) {
      return true;
    }
  }
  return false;
}

/// A backtracking matcher with a budget.
class Expression {
 public:
  Expression(std::string_view pattern, std::string_view text) : pattern_(pattern), text_(text) {}

  std::optional<bool> matches_from_start() {
    if (pattern_.size() > kLongestExpression) {
      return std::nullopt;
    }
    const bool found =
        alternatives(0, pattern_.size(), 0, 0, [](std::size_t /*end*/) { return true; });
    return sound_ && steps_ < kMostSteps ? std::optional(found) : std::nullopt;
  }

 private:
  using Then = std::function<bool(std::size_t)>;

  /// Past the item that begins at `at`: a group, a class, an escape or a letter.
  std::size_t item_end(std::size_t at, std::size_t end) {
    if (pattern_[at] == '\\') {
      return at + 2 <= end ? at + 2 : fail(end);
    }
    if (pattern_[at] == '[') {
      const std::size_t close = pattern_.find(']', at + 2);
      return close < end ? close + 1 : fail(end);
    }
    if (pattern_[at] != '(') {
      return at + 1;
    }
    int open = 0;
    for (std::size_t i = at; i < end; ++i) {
      if (pattern_[i] == '\\') {
        ++i;
      } else if (pattern_[i] == '(') {
        ++open;
      } else if (pattern_[i] == ')' && --open == 0) {
        return i + 1;
      }
    }
    return fail(end);
  }

  std::size_t fail(std::size_t end) {
    sound_ = false;
    return end;
  }

  bool alternatives(
      std::size_t from, std::size_t end, std::size_t at, int depth, const Then& then) {
    if (depth > kDeepestGroup) {
      sound_ = false;
      return false;
    }
    std::size_t begin = from;
    for (std::size_t i = from; i < end && sound_; i = item_end(i, end)) {
      if (pattern_[i] == '|') {
        if (sequence(begin, i, at, depth, then)) {
          return true;
        }
        begin = i + 1;
      }
    }
    return sound_ && sequence(begin, end, at, depth, then);
  }

  bool sequence(std::size_t from, std::size_t end, std::size_t at, int depth, const Then& then) {
    if (++steps_ >= kMostSteps || !sound_) {
      return false;
    }
    if (from >= end) {
      return then(at);
    }
    if (pattern_[from] == '^') {
      return at == 0 && sequence(from + 1, end, at, depth, then);
    }
    if (pattern_[from] == '$') {
      return at == text_.size() && sequence(from + 1, end, at, depth, then);
    }
    const std::size_t item = item_end(from, end);
    if (!sound_) {
      return false;
    }
    const char mark = item < end ? pattern_[item] : '\0';
    const bool repeats = mark == '*' || mark == '+';
    const bool optional = mark == '*' || mark == '?';
    const std::size_t rest = repeats || optional ? item + 1 : item;
    const Then next = [&, rest](std::size_t reached) {
      return sequence(rest, end, reached, depth, then);
    };
    if (repeats) {
      return repeat(from, item, at, depth, optional, next);
    }
    return one(from, item, at, depth, next) || (optional && next(at));
  }

  /// As often as possible first.
  bool repeat(std::size_t from,
              std::size_t item,
              std::size_t at,
              int depth,
              bool may_be_absent,
              const Then& next) {
    if (++steps_ >= kMostSteps) {
      return false;
    }
    const Then again = [&](std::size_t reached) {
      return reached > at && repeat(from, item, reached, depth, true, next);
    };
    return one(from, item, at, depth, again) || (may_be_absent && next(at)) ||
           (!may_be_absent && one(from, item, at, depth, next));
  }

  bool one(std::size_t from, std::size_t item, std::size_t at, int depth, const Then& next) {
    if (pattern_[from] == '(') {
      const std::size_t inner = pattern_.substr(from + 1).starts_with("?:") ? from + 3 : from + 1;
      return alternatives(inner, item - 1, at, depth + 1, next);
    }
    return at < text_.size() && letter(from, item, text_[at]) && next(at + 1);
  }

  [[nodiscard]] bool letter(std::size_t from, std::size_t item, char found) const {
    const char first = pattern_[from];
    if (first == '\\') {
      const char kind = pattern_[from + 1];
      const bool digit = found >= '0' && found <= '9';
      return kind == 'd' ? digit : kind == found;
    }
    if (first != '[') {
      return first == '.' || first == found;
    }
    const bool inverted = pattern_[from + 1] == '^';
    bool within = false;
    for (std::size_t i = from + (inverted ? 2 : 1); i + 1 < item; ++i) {
      if (i + 3 < item && pattern_[i + 1] == '-') {
        within = within || (pattern_[i] <= found && found <= pattern_[i + 2]);
        i += 2;
      } else {
        within = within || pattern_[i] == found;
      }
    }
    return within != inverted;
  }

  std::string_view pattern_;
  std::string_view text_;
  int steps_ = 0;
  bool sound_ = true;
};

}  // namespace

std::optional<bool> matches_module(std::string_view pattern, std::string_view module) {
  constexpr std::string_view kExpression = "re:";
  if (pattern.starts_with(kExpression)) {
    return Expression(pattern.substr(kExpression.size()), module).matches_from_start();
  }
  if (pattern.find('*') != std::string_view::npos) {
    return wildcard_match(pattern, module) || wildcard_match(std::string(pattern) + ".*", module);
  }
  return has_components(pattern, module);
}

}  // namespace ridgeline::model
