#include "deploy/marks.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace ridgeline::deploy {
namespace {

/// __NAME__, which another program replaces.
bool is_blank_to_fill(std::string_view text) {
  return text.size() > 4 && text.starts_with("__") && text.ends_with("__") &&
         std::ranges::all_of(text, [](unsigned char c) {
           return std::isupper(c) != 0 || std::isdigit(c) != 0 || c == '_';
         });
}

}  // namespace

std::string unknown_mark(std::string_view name) {
  return fmt::format("{}{}{}", kMarkBegin, name, kMarkEnd);
}

std::vector<std::string> unknowns_in(std::string_view text) {
  std::vector<std::string> names;
  for (std::size_t at = text.find(kMarkBegin); at != std::string_view::npos;
       at = text.find(kMarkBegin, at)) {
    const std::size_t end = std::min(text.find(kMarkEnd, at), text.size());
    names.emplace_back(text.substr(at + 1, end - at - 1));
    at = end;
  }
  for (std::size_t at = text.find('<'); at != std::string_view::npos; at = text.find('<', at + 1)) {
    const std::size_t end = text.find('>', at);
    if (end != std::string_view::npos && end > at + 1 &&
        std::isalpha(static_cast<unsigned char>(text[at + 1])) != 0) {
      names.emplace_back(text.substr(at, end - at + 1));
    }
  }
  if (is_blank_to_fill(text) || text == "..." || text == "\u2026" || text.starts_with("YOUR_") ||
      text.find("/YOUR_") != std::string_view::npos) {
    names.emplace_back(text);
  }
  return names;
}

std::string plain_marks(std::string_view text) {
  std::string plain;
  for (const char c : text) {
    plain += c == kMarkBegin || c == kMarkEnd ? "~~" : std::string(1, c);
  }
  return plain;
}

std::string marked(std::string_view text) {
  std::string whole;
  bool is_open = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text.substr(at).starts_with("~~")) {
      is_open = !is_open;
      whole += is_open ? kMarkBegin : kMarkEnd;
      ++at;
    } else {
      whole += text[at];
    }
  }
  return whole;
}

std::string shown(std::string_view text) {
  std::string plain;
  for (const char c : text) {
    if (c == kMarkBegin) {
      plain += '$';
    } else if (c != kMarkEnd) {
      plain += c;
    }
  }
  for (std::size_t at = plain.find("$$"); at != std::string::npos; at = plain.find("$$", at)) {
    plain.erase(at, 1);  // "$(...)" and "$!" have their own.
  }
  return plain;
}

}  // namespace ridgeline::deploy
