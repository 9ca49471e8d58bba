#include "lab/studies/ledger/figure.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/parse.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "document/document.hpp"

namespace ridgeline::studies {
namespace {

using document::Node;

std::vector<std::string_view> split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(by);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) {
      return parts;
    }
    text.remove_prefix(end + 1);
  }
}

std::string plain(const Node& node) {
  switch (node.kind()) {
    case Node::Kind::kString:
      return node.as_string();
    case Node::Kind::kBool:
      return node.as_bool() ? "true" : "false";
    case Node::Kind::kInteger:
    case Node::Kind::kReal:
      return core::shortest(node.as_real());
    case Node::Kind::kNull:
    case Node::Kind::kList:
    case Node::Kind::kMap:
      break;
  }
  return {};
}

/// Whether an item has every member that "a=1&b=2" names.
bool is_meant(const Node& item, std::string_view conditions) {
  return std::ranges::all_of(split(conditions, '&'), [&](std::string_view condition) {
    const std::size_t equals = condition.find('=');
    const Node* member = item.find(condition.substr(0, equals));
    return equals != std::string_view::npos && member != nullptr &&
           plain(*member) == condition.substr(equals + 1);
  });
}

const Node* step_into(const Node& from, std::string_view part) {
  if (from.is_map()) {
    return from.find(part);
  }
  if (!from.is_list()) {
    return nullptr;
  }
  if (const auto index = core::parse_whole<std::size_t>(part)) {
    return *index < from.items().size() ? &from.items()[*index] : nullptr;
  }
  const auto found =
      std::ranges::find_if(from.items(), [&](const Node& item) { return is_meant(item, part); });
  return found == from.items().end() ? nullptr : &*found;
}

/// "sum(x)" of the rows of a list, also max, min and "count(a=1)".
std::optional<double> aggregate(const Node& rows, std::string_view part) {
  const std::size_t open = part.find('(');
  if (!rows.is_list() || open == std::string_view::npos || !part.ends_with(')')) {
    return std::nullopt;
  }
  const std::string_view name = part.substr(0, open);
  const std::string_view inner = part.substr(open + 1, part.size() - open - 2);
  if (name == "count") {
    return static_cast<double>(std::ranges::count_if(
        rows.items(), [&](const Node& item) { return is_meant(item, inner); }));
  }
  std::optional<double> found;
  for (const Node& item : rows.items()) {
    const Node* cell = item.find(inner);
    if (cell == nullptr || !cell->is_number()) {
      continue;
    }
    const double value = cell->as_real();
    found = !found          ? value
            : name == "sum" ? *found + value
            : name == "max" ? std::max(*found, value)
                            : std::min(*found, value);
  }
  return name == "sum" || name == "max" || name == "min" ? found : std::nullopt;
}

/// The items of a list that "all(a=1&b=2)" means.
std::optional<Node> filtered(const Node& rows, std::string_view part) {
  constexpr std::string_view kAll = "all(";
  if (!rows.is_list() || !part.starts_with(kAll) || !part.ends_with(')')) {
    return std::nullopt;
  }
  const std::string_view conditions = part.substr(kAll.size(), part.size() - kAll.size() - 1);
  std::vector<Node> found;
  for (const Node& item : rows.items()) {
    if (is_meant(item, conditions)) {
      found.push_back(item);
    }
  }
  return Node::list(std::move(found), {});
}

core::Result<Node> follow(const Node& tree, std::string_view path) {
  const Node* at = &tree;
  Node chosen;
  for (const std::string_view part : split(path, '/')) {
    if (part == "length" && at->is_list()) {
      return Node::integer(std::ssize(at->items()), {});
    }
    if (auto some = filtered(*at, part)) {
      chosen = std::move(*some);
      at = &chosen;
      continue;
    }
    if (const auto whole = aggregate(*at, part)) {
      return Node::real(*whole, {});
    }
    const Node* next = step_into(*at, part);
    if (next == nullptr) {
      return core::fail({.message = fmt::format("the output has no '{}' of '{}'", part, path)});
    }
    at = next;
  }
  return *at;
}

/// A sum, read from left to right by the usual rules.
class Sum {
 public:
  Sum(const Node& tree, std::string_view text) : tree_(tree), rest_(text) {}

  core::Result<Node> value() {
    const double left = terms();
    skip();
    const char comparison = rest_.empty() ? '\0' : rest_.front();
    if (comparison == '<' || comparison == '>' || comparison == '=') {
      rest_.remove_prefix(1);
      const double right = terms();
      return end(Node::boolean(comparison == '<'   ? left < right
                               : comparison == '>' ? left > right
                                                   : left == right,
                               {}));
    }
    return end(Node::real(left, {}));
  }

 private:
  core::Result<Node> end(Node found) {
    skip();
    if (errors_.empty() && !rest_.empty()) {
      note(fmt::format("unexpected '{}'", rest_));
    }
    if (!errors_.empty()) {
      return core::fail(std::move(errors_));
    }
    return found;
  }

  void note(std::string message) { errors_.push_back({.message = std::move(message)}); }
  void skip() { rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size())); }
  bool take(char wanted) {
    skip();
    if (rest_.empty() || rest_.front() != wanted) {
      return false;
    }
    rest_.remove_prefix(1);
    return true;
  }

  double terms() {
    double sum = factors();
    while (true) {
      if (take('+')) {
        sum += factors();
      } else if (take('-')) {
        sum -= factors();
      } else {
        return sum;
      }
    }
  }

  double factors() {
    double product = operand();
    while (true) {
      if (take('*')) {
        product *= operand();
      } else if (take('/')) {
        product /= operand();
      } else {
        return product;
      }
    }
  }

  // A sum comes from the ledger, whose brackets are few.
  double operand() {  // NOLINT(misc-no-recursion)
    if (take('(')) {
      const double inner = terms();
      if (!take(')')) {
        note("expected ')'");
      }
      return inner;
    }
    if (take('{')) {
      return of_path();
    }
    skip();
    double number = 0.0;
    const auto [end, failure] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
    if (failure != std::errc()) {
      note(fmt::format("expected a number at '{}'", rest_));
      rest_ = {};
      return 0.0;
    }
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return number;
  }

  double of_path() {
    const std::size_t end = rest_.find('}');
    if (end == std::string_view::npos) {
      note("expected '}'");
      return 0.0;
    }
    const auto found = follow(tree_, rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    if (!found) {
      errors_.insert(errors_.end(), found.error().begin(), found.error().end());
      return 0.0;
    }
    if (!found->is_number()) {
      note(fmt::format("found {}, expected a number", found->describe()));
      return 0.0;
    }
    return found->as_real();
  }

  const Node& tree_;
  std::string_view rest_;
  core::Errors errors_;
};

}  // namespace

core::Result<Node> find_figure(const Node& tree, std::string_view at) {
  // A path has no blanks around signs, no braces and no digit first but as a list's index.
  const bool is_sum = at.find_first_of("{*<>+") != std::string_view::npos ||
                      at.find(" / ") != std::string_view::npos ||
                      at.find(" - ") != std::string_view::npos;
  return is_sum ? Sum(tree, at).value() : follow(tree, at);
}

}  // namespace ridgeline::studies
