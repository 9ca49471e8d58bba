#include "deploy/shell_condition.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/glob.hpp"
#include "core/parse.hpp"
#include "deploy/marks.hpp"

namespace ridgeline::deploy::shell {
namespace {

/// Whether a text has characters, where its marks leave that open.
std::optional<bool> has_text(std::string_view text) {
  bool is_marked = false;
  bool has_mark = false;
  for (const char c : text) {
    if (!is_marked && c != kMarkBegin) {
      return true;
    }
    is_marked = (is_marked || c == kMarkBegin) && c != kMarkEnd;
    has_mark = true;
  }
  return has_mark ? std::nullopt : std::optional(false);
}

std::optional<bool> primary(std::span<const std::string> words) {
  if (!words.empty() && words.front() == "!") {
    const auto truth = primary(words.subspan(1));
    return truth ? std::optional(!*truth) : std::nullopt;
  }
  if (words.size() > 2 && words.front() == "(" && words.back() == ")") {
    return condition(words.subspan(1, words.size() - 2));
  }
  if (words.size() == 1) {
    return has_text(words[0]);
  }
  if (words.size() == 2 && (words[0] == "-n" || words[0] == "-z")) {
    const auto truth = has_text(words[1]);
    return truth ? std::optional(*truth == (words[0] == "-n")) : std::nullopt;
  }
  if (words.size() != 3) {
    return std::nullopt;
  }
  const std::string& one = words[0];
  const std::string& other = words[2];
  if (is_unknown(one) || is_unknown(other)) {
    return std::nullopt;
  }
  const std::string& how = words[1];
  if (how == "=" || how == "==") {
    return core::matches_glob(one, other);
  }
  if (how == "!=") {
    return !core::matches_glob(one, other);
  }
  const auto left = core::parse_whole<std::int64_t>(one);
  const auto right = core::parse_whole<std::int64_t>(other);
  if (!left || !right) {
    return std::nullopt;
  }
  return how == "-eq"   ? std::optional(*left == *right)
         : how == "-ne" ? std::optional(*left != *right)
         : how == "-gt" ? std::optional(*left > *right)
         : how == "-ge" ? std::optional(*left >= *right)
         : how == "-lt" ? std::optional(*left < *right)
         : how == "-le" ? std::optional(*left <= *right)
                        : std::nullopt;
}

/// Parts between words of one of two joints; `decides`: the truth of one part that decides.
std::optional<bool> joined(std::span<const std::string> words,
                           std::array<std::string_view, 2> joints,
                           bool decides) {
  bool is_open = false;
  for (std::size_t begin = 0; begin <= words.size();) {
    std::size_t end = begin;
    int open = 0;
    while (end < words.size() &&
           (open > 0 || (words[end] != joints[0] && words[end] != joints[1]))) {
      open += words[end] == "(" ? 1 : words[end] == ")" ? -1 : 0;
      ++end;
    }
    const auto part = words.subspan(begin, end - begin);
    const auto truth = decides ? joined(part, {"&&", "-a"}, false) : primary(part);
    if (truth == decides) {
      return decides;
    }
    is_open = is_open || !truth;
    begin = end + 1;
  }
  return is_open ? std::nullopt : std::optional(!decides);
}

}  // namespace

std::optional<bool> condition(std::span<const std::string> words) {
  return joined(words, {"||", "-o"}, true);
}

}  // namespace ridgeline::deploy::shell
