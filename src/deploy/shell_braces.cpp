#include "deploy/shell_braces.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "core/parse.hpp"
#include "deploy/shell_syntax.hpp"

namespace ridgeline::deploy::shell {
namespace {

/// The first of some characters that no quote and no expansion holds, from `at` on.
std::size_t find_bare(std::string_view raw, std::string_view any, std::size_t at) {
  while (at < raw.size()) {
    const char c = raw[at];
    const char next = at + 1 < raw.size() ? raw[at + 1] : ' ';
    const bool is_opening = c == '$' && (next == '{' || next == '(' || next == '\'');
    if (c == '\'' || c == '"' || c == '`' || is_opening) {
      at = std::min(end_of_quoted(raw, at), raw.size());
    } else if (c == '\\' || c == '$') {
      at += 2;  // "$*" is no pattern.
    } else if (any.find(c) != std::string_view::npos) {
      return at;
    } else {
      ++at;
    }
  }
  return std::string_view::npos;
}

/// "1" of "1", nothing of "01": a shell pads the others, too, then.
std::optional<std::int64_t> plain_number(std::string_view text) {
  const auto number = core::parse_whole<std::int64_t>(text);
  return number && text == fmt::format("{}", *number) ? number : std::nullopt;
}

std::optional<std::vector<std::string>> range(std::string_view inner, std::size_t most) {
  const std::size_t dots = inner.find("..");
  const auto first = plain_number(inner.substr(0, dots));
  const auto last = plain_number(inner.substr(dots + 2));
  std::int64_t distance = 0;
  if (!first || !last || __builtin_sub_overflow(*last, *first, &distance) ||
      distance >= static_cast<std::int64_t>(most) || distance <= -static_cast<std::int64_t>(most)) {
    return std::nullopt;
  }
  std::vector<std::string> words;
  const std::int64_t step = distance < 0 ? -1 : 1;
  for (std::int64_t i = *first; i != *last + step; i += step) {
    words.push_back(fmt::format("{}", i));
  }
  return words;
}

std::optional<std::vector<std::string>> list(std::string_view inner, std::size_t most) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at <= inner.size() && words.size() <= most;) {
    const std::size_t end = std::min(inner.find(',', at), inner.size());
    words.emplace_back(inner.substr(at, end - at));
    at = end + 1;
  }
  return words.size() <= most ? std::optional(words) : std::nullopt;
}

}  // namespace

std::optional<std::vector<std::string>> braced(std::string_view raw, std::size_t most) {
  const std::size_t open = find_bare(raw, "{", 0);
  const std::size_t close = open == std::string_view::npos ? open : find_bare(raw, "{}", open + 1);
  if (close == std::string_view::npos) {
    return std::vector{std::string(raw)};
  }
  const std::string_view inner = raw.substr(open + 1, close - open - 1);
  const bool is_range = inner.find("..") != std::string_view::npos;
  const bool is_list = find_bare(inner, ",", 0) != std::string_view::npos;
  const bool is_nested = raw[close] == '{' || find_bare(raw, "{", close) != std::string_view::npos;
  if (!is_nested && !is_range && !is_list) {
    return std::vector{std::string(raw)};
  }
  if (is_nested || inner.find_first_of("\"'\\`$") != std::string_view::npos) {
    return std::nullopt;
  }
  auto words = is_list ? list(inner, most) : range(inner, most);
  for (std::size_t i = 0; words && i < words->size(); ++i) {
    (*words)[i] = fmt::format("{}{}{}", raw.substr(0, open), (*words)[i], raw.substr(close + 1));
  }
  return words;
}

bool is_file_pattern(std::string_view raw) {
  return find_bare(raw, "*?[", 0) != std::string_view::npos;
}

}  // namespace ridgeline::deploy::shell
