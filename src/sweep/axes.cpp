#include "sweep/axes.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "scenario/options.hpp"
#include "scenario/scenario.hpp"
#include "sweep/axis_values.hpp"
#include "sweep/point_filter.hpp"

namespace ridgeline::sweep {
namespace {

constexpr std::string_view kExclude = "exclude";
constexpr const char* kFlagsFile = "command line";
/// Maps of free names: what stands below them is one key, dots and all.
constexpr std::string_view kPatches = "set.";
constexpr std::string_view kLatencySettings = "latency.set.";

bool is_free_key(std::string_view path) {
  return (path.starts_with(kPatches) && path.size() > kPatches.size()) ||
         (path.starts_with(kLatencySettings) && path.size() > kLatencySettings.size());
}

bool is_section(std::string_view path) {
  const std::string prefix = std::string(path) + ".";
  return prefix == kPatches || prefix == kLatencySettings ||
         std::ranges::any_of(scenario::options(), [&](const scenario::Option& option) {
           return option.path.starts_with(prefix);
         });
}

/// The keys of a document of axes, each with what stands there.
class Keys {
 public:
  struct Key {
    std::string path;
    const scenario::Option* option = nullptr;
    document::Node node;
  };

  Keys(const AxisWords& words, core::Errors& errors) : words_(words), errors_(errors) {}

  void read(const std::string& path, const document::Node& node) {
    for (const auto& member : node.members()) {
      if (path.empty() && member.key == kExclude) {
        continue;
      }
      take(path.empty() ? member.key : fmt::format("{}.{}", path, member.key), member);
    }
  }

  std::vector<Key> found;

 private:
  void take(const std::string& path, const document::Node::Member& member) {
    const document::Node& node = member.value;
    const bool is_own = std::ranges::find(words_.own, path) != words_.own.end();
    const scenario::Option* option = scenario::find_option(path);
    if (is_own || option != nullptr) {
      add(path, option, node, member.where);
    } else if (is_free_key(path)) {
      node.is_map() && node.find("from") == nullptr&& node.find("to") == nullptr
          ? read(path, node)
          : add(path, nullptr, node, member.where);
    } else if (is_section(path) && node.is_map()) {
      read(path, node);
    } else if (const auto naming = scenario::naming_key(path);
               is_section(path) && !naming.empty()) {
      const std::string named = fmt::format("{}.{}", path, naming);
      add(named, scenario::find_option(named), node, member.where);
    } else {
      unknown(path, member.where);
    }
  }

  void add(const std::string& path,
           const scenario::Option* option,
           const document::Node& node,
           const core::Location& where) {
    if (std::ranges::find(found, path, &Key::path) != found.end()) {
      errors_.push_back({.field = path, .message = "is varied twice", .where = where});
      return;
    }
    found.push_back({.path = path, .option = option, .node = node});
  }

  void unknown(const std::string& path, const core::Location& where) {
    std::vector<std::string> paths = words_.own;
    for (const scenario::Option& option : scenario::options()) {
      paths.emplace_back(option.path);
    }
    const auto named = std::ranges::find(scenario::options(), path, &scenario::Option::flag);
    const auto meant = named != scenario::options().end() ? std::optional<std::string>(named->path)
                                                          : document::nearest(path, paths);
    errors_.push_back({.field = path,
                       .message = "no setting of a scenario has this name",
                       .where = where,
                       .hint = meant ? fmt::format("did you mean {}?", *meant)
                                     : "`ridgeline schema scenario` lists them"});
  }

  const AxisWords& words_;
  core::Errors& errors_;
};

std::vector<std::string_view> steps_to(std::string_view path) {
  std::vector<std::string_view> steps;
  while (true) {
    const auto dot = path.find('.');
    if (dot == std::string_view::npos) {
      steps.push_back(path);
      return steps;
    }
    const bool rest_is_one_key = path.starts_with(kPatches);
    steps.push_back(path.substr(0, dot));
    path.remove_prefix(dot + 1);
    if (rest_is_one_key) {
      steps.push_back(path);
      return steps;
    }
  }
}

document::Node with_steps(const document::Node& node,
                          std::string_view section,
                          const std::vector<std::string_view>& steps,
                          std::size_t at,
                          const document::Node& value) {
  std::vector<document::Node::Member> members;
  if (node.is_map()) {
    members = node.members();
  } else if (node.is_string() && !scenario::naming_key(section).empty()) {
    members.push_back(
        {.key = std::string(scenario::naming_key(section)), .value = node, .where = node.where()});
  }
  const std::string_view key = steps[at];
  auto member = std::ranges::find(members, key, &document::Node::Member::key);
  const bool is_last = at + 1 == steps.size();
  if (is_last && value.is_null()) {
    if (member != members.end()) {
      members.erase(member);
    }
    return document::Node::map(std::move(members), node.where());
  }
  if (member == members.end()) {
    members.push_back({.key = std::string(key), .value = {}, .where = value.where()});
    member = members.end() - 1;
  }
  const std::string below = section.empty() ? std::string(key) : fmt::format("{}.{}", section, key);
  member->value = is_last ? value : with_steps(member->value, below, steps, at + 1, value);
  return document::Node::map(std::move(members), node.where());
}

/// A setting stated on the command line that an axis varies: one of them would be ignored.
void refuse_overridden(const std::vector<Axis>& axes,
                       const std::vector<scenario::Override>& overrides,
                       core::Errors& errors) {
  for (const scenario::Override& change : overrides) {
    const bool is_free = change.path == "set" || change.path == "latency.set";
    const std::string path =
        is_free ? fmt::format("{}.{}", change.path, change.text.substr(0, change.text.find('=')))
                : change.path;
    if (std::ranges::find(axes, path, &Axis::path) != axes.end()) {
      errors.push_back({.field = path,
                        .message = "is varied by an axis and stated by a flag",
                        .where = {.file = kFlagsFile},
                        .hint = fmt::format("take the flag away, or --axis {}=...", path)});
    }
  }
}

/// Every path that a word may mean.
std::vector<std::string> paths_of(std::string_view word, const AxisWords& words) {
  std::vector<std::string> found;
  if (is_free_key(word) || scenario::find_option(word) != nullptr ||
      std::ranges::find(words.own, word) != words.own.end()) {
    return {std::string(word)};
  }
  for (const scenario::Option& option : scenario::options()) {
    if (option.key() == word || option.flag == word) {
      found.emplace_back(option.path);
    }
  }
  return found;
}

}  // namespace

document::Node with_setting(const document::Node& document,
                            std::string_view path,
                            const document::Node& value) {
  return with_steps(document, "", steps_to(path), 0, value);
}

core::Result<document::Node::Member> axis_of_flag(std::string_view text, const AxisWords& words) {
  const core::Location where{.file = kFlagsFile};
  const auto refuse = [&](std::string message, std::string hint) {
    return core::fail(core::Error{
        .field = "--axis", .message = std::move(message), .where = where, .hint = std::move(hint)});
  };
  constexpr const char* kExample = "--axis engine.max_num_seqs=64,128,256";
  const auto equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == text.size()) {
    return refuse(fmt::format("found \"{}\", expected KEY=VALUE,VALUE", text), kExample);
  }
  const std::string_view key = text.substr(0, equals);
  const std::vector<std::string> paths = paths_of(key, words);
  if (paths.size() > 1) {
    return refuse(fmt::format("\"{}\" may mean {}", key, fmt::join(paths, " or ")),
                  fmt::format("--axis {}=...", paths.front()));
  }
  const std::string_view values = text.substr(equals + 1);
  const bool is_list = !values.starts_with('{') && !values.starts_with('[') && values != "auto";
  if (is_list && (values.starts_with(',') || values.ends_with(',') ||
                  values.find(",,") != std::string_view::npos)) {
    return refuse(fmt::format("\"{}\" has an empty value", text), kExample);
  }
  auto node =
      document::parse_yaml(is_list ? fmt::format("[{}]", values) : std::string(values), kFlagsFile);
  if (!node) {
    return core::fail(core::with_field(std::move(node).error(), fmt::format("--axis {}", key)));
  }
  return document::Node::Member{.key = paths.empty() ? std::string(key) : paths.front(),
                                .value = std::move(*node),
                                .where = where};
}

core::Result<Axes> Axes::read(const document::Node& axes,
                              document::Node base,
                              const std::vector<scenario::Override>& overrides,
                              const AxisWords& words) {
  core::Errors errors;
  Axes out;
  out.base_ = std::move(base);
  if (!axes.is_map() || axes.members().empty()) {
    return core::fail(core::Error{
        .field = "axes",
        .message =
            fmt::format("{}, expected a map of keys and what each takes",
                        axes.is_map() ? "is missing or is empty" : "found " + axes.describe()),
        .where = axes.where(),
        .hint = "axes: {engine.max_num_seqs: [64, 128]}"});
  }
  Keys keys(words, errors);
  keys.read("", axes);
  for (const Keys::Key& key : keys.found) {
    if (auto axis = read_axis(key.path, key.option, key.node, errors)) {
      out.combinations_ = std::min(
          kMostPoints + 1, out.combinations_ * static_cast<std::int64_t>(axis->values.size()));
      out.is_own_.push_back(key.option == nullptr && !is_free_key(key.path));
      out.axes_.push_back(std::move(*axis));
    }
  }
  refuse_overridden(out.axes_, overrides, errors);
  if (errors.empty() && out.combinations_ > kMostPoints) {
    errors.push_back({.field = "axes",
                      .message = fmt::format("more than {} combinations", kMostPoints),
                      .where = axes.where(),
                      .hint = "several sweeps, or coarser axes"});
  }
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  auto filter = PointFilter::make(out.axes_, axes.find(kExclude), out.base_, overrides);
  if (!filter) {
    return core::fail(std::move(filter).error());
  }
  out.is_filtered_ = !filter->keeps_all();
  if (out.is_filtered_) {
    std::vector<std::size_t> choice;
    for (std::int64_t i = 0; i < out.combinations_; ++i) {
      choice_of(i, out.axes_, choice);
      if (filter->keeps(choice)) {
        out.kept_.push_back(static_cast<std::uint32_t>(i));
      }
    }
    if (out.kept_.empty()) {
      return core::fail(
          core::Error{.field = "axes",
                      .message = fmt::format("none of {} combinations is left", out.combinations_),
                      .where = axes.where(),
                      .hint = "`exclude` or `auto` leaves them out"});
    }
  }
  return out;
}

std::size_t Axes::index_of(std::string_view path) const {
  return static_cast<std::size_t>(std::ranges::find(axes_, path, &Axis::path) - axes_.begin());
}

std::int64_t Axes::size() const {
  return is_filtered_ ? static_cast<std::int64_t>(kept_.size()) : combinations_;
}

std::int64_t Axes::combination(std::int64_t ordinal) const {
  RIDGELINE_CHECK(ordinal >= 0 && ordinal < size(), "a point outside the sweep");
  return is_filtered_ ? kept_[static_cast<std::size_t>(ordinal)] : ordinal;
}

std::vector<std::size_t> Axes::choice(std::int64_t ordinal) const {
  std::vector<std::size_t> found;
  choice_of(combination(ordinal), axes_, found);
  return found;
}

Point Axes::point(std::int64_t ordinal) const {
  const std::vector<std::size_t> which = choice(ordinal);
  Point point{.ordinal = ordinal, .values = {}, .scenario = base_};
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    point.values.push_back(axes_[i].values[which[i]]);
    if (!is_own_[i]) {
      point.scenario = with_setting(point.scenario, axes_[i].path, point.values.back());
    }
  }
  return point;
}

}  // namespace ridgeline::sweep
