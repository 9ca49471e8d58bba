#include "deploy/manifest_path.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "document/document.hpp"
#include "scenario/options.hpp"

namespace ridgeline::deploy {
namespace {

using document::Node;

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \n");
  return begin == std::string_view::npos
             ? std::string_view()
             : text.substr(begin, text.find_last_not_of(" \n") - begin + 1);
}

std::vector<Place> each_of(const Place& place) {
  std::vector<Place> all;
  if (place.node->is_list()) {
    for (const Node& item : place.node->items()) {
      all.push_back({.node = &item, .key = place.key});
    }
  } else if (place.node->is_map()) {
    for (const Node::Member& member : place.node->members()) {
      all.push_back({.node = &member.value, .key = member.key});
    }
  }
  return all;
}

std::vector<Place> step(const std::vector<Place>& from, std::string_view word) {
  const bool is_each = word.ends_with("[]");
  const std::string key(word.substr(0, word.size() - (is_each ? 2 : 0)));
  std::vector<Place> next;
  for (const Place& place : from) {
    const Node* node = key.empty() ? place.node : place.node->find(key);
    if (node == nullptr || node->is_null()) {
      continue;
    }
    const Place found{.node = node, .key = key.empty() ? place.key : key};
    const std::vector<Place> all = is_each ? each_of(found) : std::vector<Place>{found};
    next.insert(next.end(), all.begin(), all.end());
  }
  return next;
}

}  // namespace

std::vector<Place> places_at(const Node& document, const Place& from, std::string_view paths) {
  while (!paths.empty()) {
    const std::size_t bar = std::min(paths.find('|'), paths.size());
    std::string_view path = trimmed(paths.substr(0, bar));
    paths.remove_prefix(std::min(bar + 1, paths.size()));
    std::vector<Place> at = {from};
    if (path.starts_with('/')) {
      at = {{.node = &document}};
      path.remove_prefix(1);
    }
    if (path != ".") {
      while (!path.empty() && !at.empty()) {
        const std::size_t dot = std::min(path.find('.'), path.size());
        at = step(at, path.substr(0, dot));
        path.remove_prefix(std::min(dot + 1, path.size()));
      }
    }
    if (!at.empty()) {
      return at;
    }
  }
  return {};
}

std::string plain_text(const Node& node) {
  return node.is_null() ? std::string()
                        : (node.is_string() ? node.as_string() : scenario::flow_text(node));
}

}  // namespace ridgeline::deploy
