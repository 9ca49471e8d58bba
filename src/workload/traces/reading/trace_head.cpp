#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "workload/traces/format.hpp"
#include "workload/traces/reading/csv.hpp"

namespace ridgeline::workload {
namespace {

constexpr std::string_view kJsonSpace = " \t\r\n";

/// The keys of the object that starts at text[at], as far as it goes. What is no JSON gives what
/// was read before.
std::vector<std::string_view> keys_of_object(std::string_view text, std::size_t at) {
  std::vector<std::string_view> keys;
  int depth = 0;
  bool key_comes = false;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '{' || c == '[') {
      ++depth;
      key_comes = depth == 1;
    } else if (c == '}' || c == ']') {
      if (--depth == 0) {
        return keys;
      }
    } else if (c == ',') {
      key_comes = depth == 1;
    } else if (c == '"') {
      const std::size_t begin = ++at;
      while (at < text.size() && text[at] != '"') {
        at += text[at] == '\\' ? 2U : 1U;
      }
      if (key_comes && at < text.size()) {
        keys.push_back(text.substr(begin, at - begin));
        key_comes = false;
      }
    }
  }
  return keys;
}

/// The keys of the objects that the first lines begin.
std::vector<std::string_view> keys_of_lines(std::string_view text) {
  constexpr int kMostLines = 100;
  std::vector<std::string_view> keys;
  for (int i = 0; i < kMostLines && !text.empty(); ++i) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (const std::size_t begin = line.find_first_not_of(kJsonSpace);
        begin != std::string_view::npos && line[begin] == '{') {
      const auto more = keys_of_object(line, begin);
      keys.insert(keys.end(), more.begin(), more.end());
    }
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return keys;
}

bool is_key_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

std::vector<std::string_view> yaml_keys_of(std::string_view text) {
  std::vector<std::string_view> keys;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    std::size_t end = 0;
    while (end < line.size() && is_key_letter(line[end])) {
      ++end;
    }
    if (end > 0 && end < line.size() && line[end] == ':') {
      keys.push_back(line.substr(0, end));
    }
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return keys;
}

bool contains(const std::vector<std::string_view>& all, std::string_view name) {
  return std::ranges::find(all, name) != all.end();
}

}  // namespace

TraceHead::TraceHead(std::string_view text) : first_line_(workload::first_line(text)) {
  const std::size_t begin = text.find_first_not_of(kJsonSpace);
  if (begin == std::string_view::npos) {
    return;
  }
  is_object_ = text[begin] == '{';
  is_list_ = text[begin] == '[';
  const std::size_t line = text.find('\n', begin);
  begins_document_ = (is_object_ || is_list_) && line != std::string_view::npos &&
                     text.find_first_not_of(kJsonSpace, begin + 1) > line;
  if (is_object_) {
    keys_ = keys_of_object(text, begin);
    keys_of_rows_ = keys_of_lines(text);
  } else if (is_list_) {
    const std::size_t item = text.find_first_not_of(kJsonSpace, begin + 1);
    if (item != std::string_view::npos && text[item] == '{') {
      keys_ = keys_of_object(text, item);
    }
  } else {
    columns_ = split_csv(first_line_);
    yaml_keys_ = yaml_keys_of(text);
  }
}

bool TraceHead::has_column(std::string_view name) const {
  return contains(columns_, name);
}
bool TraceHead::has_columns(std::initializer_list<std::string_view> names) const {
  return std::ranges::all_of(names, [&](std::string_view name) { return has_column(name); });
}
bool TraceHead::has_key(std::string_view name) const {
  return contains(keys_, name);
}
bool TraceHead::has_keys(std::initializer_list<std::string_view> names) const {
  return std::ranges::all_of(names, [&](std::string_view name) { return has_key(name); });
}
bool TraceHead::some_row_has_key(std::string_view name) const {
  return contains(keys_of_rows_, name) || has_key(name);
}
bool TraceHead::has_yaml_key(std::string_view name) const {
  return contains(yaml_keys_, name);
}

}  // namespace ridgeline::workload
