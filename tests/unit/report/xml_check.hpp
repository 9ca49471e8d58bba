#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ridgeline::report::testing {

/// What keeps a text from being well-formed XML as far as our pictures use it (elements, attributes
/// in double quotes, the five entities), or an empty string.
inline std::string xml_problem(std::string_view text) {
  std::vector<std::string> open;
  std::size_t at = 0;
  while (at < text.size()) {
    if (text[at] == '&') {
      const std::string_view entity = text.substr(at, text.find(';', at) - at + 1);
      if (entity != "&amp;" && entity != "&lt;" && entity != "&gt;" && entity != "&quot;") {
        return "stray & at " + std::to_string(at);
      }
    }
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte < 0x20 && text[at] != '\n') {
      return "control character at " + std::to_string(at);
    }
    if (text[at] != '<') {
      ++at;
      continue;
    }
    const std::size_t end = text.find('>', at);
    if (end == std::string_view::npos) {
      return "open tag at " + std::to_string(at);
    }
    const std::string_view tag = text.substr(at + 1, end - at - 1);
    const std::string name(tag.substr(0, tag.find_first_of(" />", 1)));
    if (tag.find('<') != std::string_view::npos) {
      return "stray < in " + std::string(tag);
    }
    if (tag.front() == '/') {
      if (open.empty() || "/" + open.back() != name) {
        return "unexpected end " + name;
      }
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(name);
    }
    at = end + 1;
  }
  return open.empty() ? std::string() : "never closed: " + open.back();
}

/// The value of an attribute of the element that begins at `at`.
inline std::string attribute(std::string_view text, std::size_t at, std::string_view name) {
  const std::string_view element = text.substr(at, text.find('>', at) - at);
  const std::string key = " " + std::string(name) + "=\"";
  const std::size_t found = element.find(key);
  if (found == std::string_view::npos) {
    return {};
  }
  const std::size_t begin = found + key.size();
  return std::string(element.substr(begin, element.find('"', begin) - begin));
}

}  // namespace ridgeline::report::testing
