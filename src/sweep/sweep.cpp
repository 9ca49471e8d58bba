#include "sweep/sweep.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/digest.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "sweep/axes.hpp"
#include "sweep/axis_values.hpp"
#include "sweep/point_id.hpp"

namespace ridgeline::sweep {
namespace {

constexpr std::string_view kAxesKey = "axes";
constexpr std::string_view kMeasureKey = "measure";
/// Points that are tried before the scenario itself counts as wrong (ours: spread over the sweep,
/// they meet each value of an axis of up to 64).
constexpr std::int64_t kTriedPoints = 64;
constexpr std::int64_t kStoreSchema = 1;

/// A file of a sweep taken apart.
struct Parts {
  std::vector<document::Node::Member> scenario;
  std::vector<document::Node::Member> axes;
  core::Location axes_at;
  std::optional<std::string> measure;
};

core::Result<Parts> parts_of(const SweepWords& words) {
  Parts parts;
  parts.axes_at = {.file = "command line"};
  if (!words.file && !words.document) {
    return parts;
  }
  const auto document = words.document ? core::Result<document::Node>(*words.document)
                                       : document::read_document(*words.file);
  if (!document) {
    return core::fail(document.error());
  }
  if (!document->is_map()) {
    return core::fail(core::Error{.message = fmt::format("found {}, expected a map of settings and "
                                                         "`axes`",
                                                         document->describe()),
                                  .where = {.file = document->where().file}});
  }
  for (const auto& member : document->members()) {
    if (member.key == kAxesKey) {
      if (!member.value.is_map()) {
        return core::fail(core::Error{.field = std::string(kAxesKey),
                                      .message = fmt::format("found {}, expected a map of keys and "
                                                             "what each takes",
                                                             member.value.describe()),
                                      .where = member.value.where(),
                                      .hint = "axes: {engine.max_num_seqs: [64, 128]}"});
      }
      parts.axes = member.value.members();
      parts.axes_at = member.where;
    } else if (member.key == kMeasureKey) {
      if (!member.value.is_string()) {
        return core::fail(core::Error{
            .field = std::string(kMeasureKey),
            .message = fmt::format("found {}, expected run or capacity", member.value.describe()),
            .where = member.value.where()});
      }
      parts.measure = member.value.as_string();
    } else {
      parts.scenario.push_back(member);
    }
  }
  return parts;
}

/// Takes what a file has at a path, dotted or nested, out of a map of axes. What flags of the same
/// name said stays: two of them are a slip.
void take_away(std::vector<document::Node::Member>& axes,
               std::string_view path,
               const std::string& flags) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    document::Node::Member& member = axes[i];
    if (member.where.file == flags) {
      continue;
    }
    if (member.key == path) {
      axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(i));
      return;
    }
    if (member.value.is_map() && path.starts_with(member.key + ".")) {
      std::vector<document::Node::Member> below = member.value.members();
      take_away(below, path.substr(member.key.size() + 1), flags);
      member.value = document::Node::map(std::move(below), member.value.where());
    }
  }
}

/// A flag wins over the file.
core::Result<void> lay_flags(const SweepWords& words, Parts& parts) {
  for (const std::string& text : words.axes) {
    auto member = axis_of_flag(text);
    if (!member) {
      return core::fail(std::move(member).error());
    }
    take_away(parts.axes, member->key, member->where.file);
    parts.axes.push_back(std::move(*member));
  }
  return {};
}

document::Node axes_node(const Axes& axes) {
  document::MapBuilder map;
  for (const Axis& axis : axes.axes()) {
    map.add(axis.path, document::Node::list(axis.values, {}));
  }
  return map.build();
}

}  // namespace

core::Result<Sweep> read_sweep(const SweepWords& words) {
  auto parts = parts_of(words);
  if (!parts) {
    return core::fail(std::move(parts).error());
  }
  if (auto laid = lay_flags(words, *parts); !laid) {
    return core::fail(std::move(laid).error());
  }
  auto axes = Axes::read(document::Node::map(std::move(parts->axes), parts->axes_at),
                         document::Node::map(std::move(parts->scenario), {}),
                         words.overrides);
  if (!axes) {
    return core::fail(std::move(axes).error());
  }
  Sweep sweep(std::move(*axes));
  sweep.measure_ = words.measure ? *words.measure : parts->measure.value_or("run");
  sweep.overrides_ = words.overrides;
  if (auto found = sweep.find_scenario(); !found) {
    return core::fail(std::move(found).error());
  }
  return sweep;
}

/// Points that are refused are results; a scenario of which every point is refused is a slip.
core::Result<void> Sweep::find_scenario() {
  core::Errors first;
  const std::int64_t tries = std::min(kTriedPoints, size());
  for (std::int64_t i = 0; i < tries; ++i) {
    const Point point = axes_.point(i * size() / tries);
    auto loaded = scenario::read_scenario(point.scenario, overrides_, scenario::Purpose::kRun);
    if (loaded) {
      scenario_ = scenario::to_node(loaded->scenario);
      return {};
    }
    if (first.empty()) {
      first = std::move(loaded).error();
    }
  }
  return core::fail(std::move(first));
}

std::string Sweep::digest(const document::Node& estimator) const {
  core::Digest digest;
  digest.add(std::string_view("ridgeline sweep 1"));
  digest.add(std::string_view(one_line(scenario_)));
  digest.add(std::string_view(one_line(estimator)));
  digest.add(std::string_view(one_line(axes_node(axes_))));
  digest.add(size());
  // What is left out decides which point an ordinal is.
  for (std::int64_t i = 0; i < size(); ++i) {
    digest.add(axes_.combination(i));
  }
  return digest.hex();
}

document::Node Sweep::description(const document::Node& estimator, std::string_view version) const {
  return document::MapBuilder()
      .add("schema_version", kStoreSchema)
      .add("digest", digest(estimator))
      .add("version", version)
      .add("points", size())
      .add("estimator", estimator)
      .add("axes", axes_node(axes_))
      .add("scenario", scenario_);
}

ResolvedPoint Sweep::resolve(const Point& point, const document::Node& estimator) const {
  auto loaded = scenario::read_scenario(point.scenario, overrides_, scenario::Purpose::kRun);
  if (!loaded) {
    return {.id = point_id(point.scenario, estimator),
            .resolved = core::fail(std::move(loaded).error()),
            .scenario = point.scenario};
  }
  document::Node stated = scenario::to_node(loaded->scenario);
  auto resolved = scenario::resolve(std::move(*loaded));
  document::Node canonical = resolved ? scenario::to_node(resolved->scenario()) : std::move(stated);
  std::string id = point_id(canonical, estimator);
  return {.id = std::move(id), .resolved = std::move(resolved), .scenario = std::move(canonical)};
}

}  // namespace ridgeline::sweep
