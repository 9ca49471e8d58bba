#include "scenario/override_document.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/parse.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "scenario/options.hpp"
#include "scenario/refused_settings.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {
namespace {

constexpr std::string_view kPatchOption = "set";
constexpr std::string_view kLatencySetOption = "latency.set";
constexpr const char* kFlagsFile = "command line";

/// The text after a flag as a document would hold it: words stay words, numbers become numbers.
document::Node scalar(const std::string& text) {
  const core::Location where{.file = kFlagsFile};
  if (const auto integer = core::parse_whole<std::int64_t>(text)) {
    return document::Node::integer(*integer, where);
  }
  if (const auto real = core::parse_whole<double>(text); real && std::isfinite(*real)) {
    return document::Node::real(*real, where);
  }
  if (text == "true" || text == "false") {
    return document::Node::boolean(text == "true", where);
  }
  return document::Node::string(text, where);
}

/// A scalar, or maps and lists as YAML writes them in one line: "{quant_method: fp8}".
core::Result<document::Node> flag_value(const std::string& text) {
  const bool nested = text.starts_with('{') || text.starts_with('[');
  const char last = text.starts_with('{') ? '}' : ']';
  if (nested && text[text.find_last_not_of(' ')] != last) {
    return core::fail(
        core::Error{.message = fmt::format("found \"{}\", which does not end with {}", text, last),
                    .where = {.file = kFlagsFile},
                    .hint = fmt::format("put it in quotes, with {} as its last character", last)});
  }
  return nested ? document::parse_yaml(text, kFlagsFile) : scalar(text);
}

/// An error of a program that uses the library: flags have been found in the table before.
core::Error no_such_option(const std::string& path) {
  std::vector<std::string> paths;
  for (const Option& option : options()) {
    paths.emplace_back(option.path);
  }
  const auto meant = document::nearest(path, paths);
  return {.field = path,
          .message = "no such option",
          .where = {.file = kFlagsFile},
          .hint = meant ? fmt::format("did you mean {}?", *meant)
                        : "`ridgeline schema scenario` lists them"};
}

}  // namespace

void OverrideDocument::add(const Override& change) {
  if (change.path == kPatchOption) {
    add_pair(change, "--set", "--set model.num_hidden_layers=40");
    return;
  }
  if (change.path == kLatencySetOption) {
    add_pair(change, "--latency-set", "--latency-set perLayerOverhead=80");
    return;
  }
  const Option* option = find_option(change.path);
  const bool is_refused =
      std::ranges::find(refused_settings(), change.path, &RefusedSetting::path) !=
      refused_settings().end();
  if (is_refused) {
    top_.add(change.path, scalar(change.text));
  } else if (option == nullptr) {
    errors_.push_back(no_such_option(change.path));
  } else if (change.text.starts_with('[') || option->shape == Option::Shape::kOne ||
             (change.text.starts_with('{') && option->shape == Option::Shape::kPairs)) {
    if (option->kind() == "text") {
      top_.add(option->path, document::Node::string(change.text, {.file = kFlagsFile}));
    } else if (auto value = keep(flag_value(change.text), change.path)) {
      top_.add(option->path, std::move(*value));
    }
  } else if (option->shape == Option::Shape::kPairs) {
    const std::string flag = fmt::format("--{}", option->flag);
    add_pair(change, flag, fmt::format("{} NAME=VALUE", flag));
  } else {
    add_item(change);
  }
}

document::Node OverrideDocument::finish() {
  const core::Location where{.file = kFlagsFile};
  for (Pairs& pairs : pairs_) {
    top_.add(pairs.path, document::Node::map(std::move(pairs.members), where));
  }
  for (Items& items : items_) {
    top_.add(items.path, document::Node::list(std::move(items.items), where));
  }
  return top_.finish(where);
}

void OverrideDocument::add_pair(const Override& change, const std::string& flag, std::string hint) {
  const auto equals = change.text.find('=');
  if (equals == std::string::npos) {
    errors_.push_back({.field = flag,
                       .message = fmt::format("found \"{}\", expected NAME=VALUE", change.text),
                       .where = {.file = kFlagsFile},
                       .hint = std::move(hint)});
    return;
  }
  const std::string key = change.text.substr(0, equals);
  if (auto value = keep(flag_value(change.text.substr(equals + 1)),
                        fmt::format("{}.{}", change.path, key))) {
    auto pairs = std::ranges::find(pairs_, change.path, &Pairs::path);
    if (pairs == pairs_.end()) {
      pairs = pairs_.insert(pairs_.end(), {.path = change.path, .members = {}});
    }
    pairs->members.push_back(
        {.key = key, .value = std::move(*value), .where = {.file = kFlagsFile}});
  }
}

void OverrideDocument::add_item(const Override& change) {
  const bool is_map = change.text.starts_with('{');
  auto item = is_map ? keep(flag_value(change.text), change.path)
                     : std::optional(document::Node::string(change.text, {.file = kFlagsFile}));
  if (!item) {
    return;
  }
  auto items = std::ranges::find(items_, change.path, &Items::path);
  if (items == items_.end()) {
    items = items_.insert(items_.end(), {.path = change.path, .items = {}});
  }
  items->items.push_back(std::move(*item));
}

/// The value, or its problems under the name of what it was meant for.
std::optional<document::Node> OverrideDocument::keep(core::Result<document::Node> value,
                                                     const std::string& field) {
  if (value) {
    return std::move(*value);
  }
  for (core::Error& error : value.error()) {
    error.field = error.field.empty() ? field : error.field;
    errors_.push_back(std::move(error));
  }
  return std::nullopt;
}

}  // namespace ridgeline::scenario
