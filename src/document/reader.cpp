#include "document/reader.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "core/result.hpp"
#include "core/text.hpp"
#include "document/document.hpp"

namespace ridgeline::document {
namespace {

/// Problems of one sort in one map or list that are listed one by one: enough to mend, too few to
/// drown in.
constexpr std::size_t kMostAlike = 20;
/// So many known names fit in a hint.
constexpr std::size_t kFewNames = 8;

std::string spoken(std::int64_t value) {
  return std::to_string(value);
}
std::string spoken(double value) {
  return core::shortest(value);
}

template <class T>
std::string out_of_range(T value, const Range<T>& range) {
  const bool has_lowest = range.lowest != std::numeric_limits<T>::lowest();
  const bool has_highest = range.highest != std::numeric_limits<T>::max();
  std::string expected = fmt::format("{} to {}", spoken(range.lowest), spoken(range.highest));
  if (!has_highest) {
    expected = "at least " + spoken(range.lowest);
  } else if (!has_lowest) {
    expected = "at most " + spoken(range.highest);
  }
  return fmt::format("{} is out of range, expected {}", spoken(value), expected);
}

std::string expected(std::string_view what, const Node& found) {
  return fmt::format("expected {}, found {}", what, found.describe());
}

/// A value, or what is wrong with it.
template <class T>
struct Reading {
  std::optional<T> value;
  std::string message = {};
  std::string hint = {};
};

template <class T>
Reading<T> within(T value, const Range<T>& range) {
  if (value >= range.lowest && value <= range.highest) {
    return {.value = value};
  }
  return {.value = std::nullopt, .message = out_of_range(value, range)};
}

Reading<std::int64_t> read(const Node& node, const Range<std::int64_t>& range) {
  if (node.kind() == Node::Kind::kInteger) {
    return within(node.as_integer(), range);
  }
  Reading<std::int64_t> reading{.value = std::nullopt, .message = expected("an integer", node)};
  if (node.kind() == Node::Kind::kReal && std::abs(node.as_real()) <= core::kLargestExactInteger &&
      node.as_real() == std::floor(node.as_real())) {
    if (reading.message.find('e', reading.message.rfind(' ')) == std::string::npos) {
      reading.message += ".0";  // Found is no integer, though a whole number.
    }
    reading.hint = "write " + std::to_string(static_cast<std::int64_t>(node.as_real()));
  }
  return reading;
}

Reading<double> read(const Node& node, const Range<double>& range) {
  if (node.is_number()) {
    return within(node.as_real(), range);
  }
  return {.value = std::nullopt, .message = expected("a number", node)};
}

/// What other readers of YAML take for a boolean.
std::string boolean_hint(const Node& node) {
  static constexpr std::array<std::string_view, 8> kYes = {
      "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"};
  static constexpr std::array<std::string_view, 8> kNo = {
      "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"};
  if (!node.is_string()) {
    return {};
  }
  if (std::find(kYes.begin(), kYes.end(), node.as_string()) != kYes.end()) {
    return "write true";
  }
  return std::find(kNo.begin(), kNo.end(), node.as_string()) != kNo.end() ? "write false" : "";
}

bool is_plain_name(std::string_view key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
}

/// "did you mean 'x'?", or the names themselves when they are few.
std::string name_hint(std::string_view word, std::span<const std::string> names) {
  if (const auto near = nearest(word, names)) {
    return fmt::format("did you mean '{}'?", *near);
  }
  // With the unit that JSON results append: mem_bandwidth_bytes_per_s.
  const auto begins = [word](const std::string& name) { return word.starts_with(name + "_"); };
  if (const auto stem = std::find_if(names.begin(), names.end(), begins); stem != names.end()) {
    return fmt::format("did you mean '{}'?", *stem);
  }
  if (names.empty() || names.size() > kFewNames) {
    return {};
  }
  return fmt::format("known: {}", fmt::join(names, ", "));
}

}  // namespace

ObjectReader::ObjectReader(const Node& node,
                           std::string path,
                           core::Errors& errors,
                           Unknown unknown)
    : node_(&node), path_(std::move(path)), errors_(&errors), unknown_(unknown) {
  if (!node.is_map()) {
    errors_->push_back({.field = path_, .message = expected("a map", node), .where = node.where()});
    return;
  }
  asked_.reserve(node.members().size());
}

std::string ObjectReader::path_of(std::string_view key) const {
  const std::string name = is_plain_name(key) ? std::string(key) : core::quote(key);
  return path_.empty() ? name : path_ + "." + name;
}

const Node* ObjectReader::take(std::string_view key) {
  if (std::find(asked_.begin(), asked_.end(), key) == asked_.end()) {
    asked_.emplace_back(key);
  }
  const Node* const found = node_->find(key);
  return found == nullptr || found->is_null() ? nullptr : found;
}

void ObjectReader::problem(std::string_view key, std::string message, std::string hint) {
  const Node* const found = node_->find(key);
  errors_->push_back({.field = path_of(key),
                      .message = std::move(message),
                      .where = found == nullptr ? node_->where() : found->where(),
                      .hint = std::move(hint)});
}

std::optional<bool> ObjectReader::boolean(std::string_view key) {
  const Node* const found = take(key);
  if (found == nullptr) {
    return std::nullopt;
  }
  if (found->kind() != Node::Kind::kBool) {
    problem(key, expected("true or false", *found), boolean_hint(*found));
    return std::nullopt;
  }
  return found->as_bool();
}

template <class T>
std::optional<T> ObjectReader::number(std::string_view key,
                                      const Node* found,
                                      const Range<T>& range) {
  if (found == nullptr) {
    return std::nullopt;
  }
  auto reading = read(*found, range);
  if (!reading.value) {
    problem(key, std::move(reading.message), std::move(reading.hint));
  }
  return reading.value;
}

template <class T>
std::optional<std::vector<T>> ObjectReader::numbers(std::string_view key, const Range<T>& range) {
  const Node* const found = take(key);
  if (found == nullptr) {
    return std::nullopt;
  }
  if (!found->is_list()) {
    problem(key, expected("a list", *found));
    return std::nullopt;
  }
  std::vector<T> values;
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < found->items().size() && wrong < kMostAlike; ++i) {
    const Node& item = found->items()[i];
    auto reading = read(item, range);
    if (reading.value) {
      values.push_back(*reading.value);
      continue;
    }
    ++wrong;
    errors_->push_back({.field = fmt::format("{}[{}]", path_of(key), i),
                        .message = std::move(reading.message),
                        .where = item.where(),
                        .hint = std::move(reading.hint)});
  }
  return wrong == 0 ? std::optional(std::move(values)) : std::nullopt;
}

std::optional<std::int64_t> ObjectReader::integer(std::string_view key, Range<std::int64_t> range) {
  return number(key, take(key), range);
}

std::optional<double> ObjectReader::real(std::string_view key, Range<double> range) {
  return number(key, take(key), range);
}

std::optional<std::vector<std::int64_t>> ObjectReader::integers(std::string_view key,
                                                                Range<std::int64_t> range) {
  return numbers(key, range);
}

std::optional<std::vector<double>> ObjectReader::reals(std::string_view key, Range<double> range) {
  return numbers(key, range);
}

std::optional<std::string> ObjectReader::string(std::string_view key) {
  return string(key, take(key));
}

std::optional<std::string> ObjectReader::string(std::string_view key, const Node* found) {
  if (found == nullptr) {
    return std::nullopt;
  }
  if (!found->is_string()) {
    const bool quotable = !found->is_list() && !found->is_map();
    problem(key, expected("text", *found), quotable ? "put it in quotes" : "");
    return std::nullopt;
  }
  return found->as_string();
}

std::optional<std::string> ObjectReader::choice(std::string_view key,
                                                std::span<const std::string> choices) {
  auto word = string(key);
  if (word && std::find(choices.begin(), choices.end(), *word) == choices.end()) {
    const auto near = nearest(*word, choices);
    problem(key,
            fmt::format(
                "{} is unknown, expected one of: {}", core::quote(*word), fmt::join(choices, ", ")),
            near ? fmt::format("did you mean '{}'?", *near) : "");
    return std::nullopt;
  }
  return word;
}

std::optional<double> ObjectReader::quantity(std::string_view key, std::string_view unit_kind) {
  return quantity(key, take(key), unit_kind);
}

std::optional<double> ObjectReader::quantity(std::string_view key,
                                             const Node* found,
                                             std::string_view unit_kind) {
  if (found == nullptr) {
    return std::nullopt;
  }
  if (!found->is_string() && !found->is_number()) {
    problem(key, expected("a number with a unit", *found));
    return std::nullopt;
  }
  const auto value =
      parse_quantity(found->is_string() ? found->as_string() : found->describe(), unit_kind);
  if (!value) {
    problem(key, value.error().front().message, value.error().front().hint);
    return std::nullopt;
  }
  return *value;
}

const Node* ObjectReader::node(std::string_view key) {
  return take(key);
}

const Node* ObjectReader::take_required(std::string_view key, std::string_view what) {
  const Node* const found = take(key);
  // A node that is no map was reported as such.
  if (found == nullptr && node_->is_map()) {
    problem(key, fmt::format("is missing, expected {}", what));
  }
  return found;
}

std::int64_t ObjectReader::required_integer(std::string_view key, Range<std::int64_t> range) {
  return number(key, take_required(key, "an integer"), range).value_or(0);
}

double ObjectReader::required_real(std::string_view key, Range<double> range) {
  return number(key, take_required(key, "a number"), range).value_or(0.0);
}

std::string ObjectReader::required_string(std::string_view key) {
  return string(key, take_required(key, "text")).value_or(std::string());
}

double ObjectReader::required_quantity(std::string_view key, std::string_view unit_kind) {
  return quantity(key, take_required(key, "a number with a unit"), unit_kind).value_or(0.0);
}

void ObjectReader::finish() {
  if (!node_->is_map()) {
    return;
  }
  const auto& members = node_->members();
  std::size_t unknown = 0;
  std::vector<bool> is_there(asked_.size());
  bool has_duplicates = false;
  for (const Node::Member& member : members) {
    const auto asked = std::find(asked_.begin(), asked_.end(), member.key);
    if (asked != asked_.end()) {
      const auto key = static_cast<std::size_t>(asked - asked_.begin());
      has_duplicates = has_duplicates || is_there[key];
      is_there[key] = true;
    } else if (unknown_ == Unknown::kRefuse && ++unknown <= kMostAlike) {
      errors_->push_back({.field = path_of(member.key),
                          .message = "unknown key",
                          .where = member.where,
                          .hint = name_hint(member.key, asked_)});
    }
  }
  if (unknown > kMostAlike) {
    errors_->push_back({.field = path_,
                        .message = fmt::format("{} more unknown keys", unknown - kMostAlike),
                        .where = node_->where()});
  }
  if (has_duplicates) {
    note_duplicates();
  }
}

/// Neighbours after a sort by key and place are duplicates of each other, the earlier one first.
void ObjectReader::note_duplicates() {
  const auto& members = node_->members();
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (std::find(asked_.begin(), asked_.end(), members[i].key) != asked_.end()) {
      indices.push_back(i);
    }
  }
  std::sort(indices.begin(), indices.end(), [&members](std::size_t a, std::size_t b) {
    const int order = members[a].key.compare(members[b].key);
    return order != 0 ? order < 0 : a < b;
  });
  std::size_t duplicates = 0;
  for (std::size_t i = 1; i < indices.size() && duplicates < kMostAlike; ++i) {
    const Node::Member& first = members[indices[i - 1]];
    const Node::Member& second = members[indices[i]];
    if (first.key == second.key) {
      ++duplicates;
      errors_->push_back({.field = path_of(second.key),
                          .message = fmt::format(
                              "given twice, first at {}:{}", first.where.line, first.where.column),
                          .where = second.where});
    }
  }
}

}  // namespace ridgeline::document
