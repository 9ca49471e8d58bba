#include "plan/space.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/check.hpp"
#include "core/math.hpp"
#include "core/result.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "plan/engines.hpp"
#include "plan/question.hpp"
#include "scenario/options.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "sweep/axes.hpp"
#include "sweep/point_id.hpp"
#include "workload/options.hpp"

namespace ridgeline::plan {
namespace {

using document::Node;

constexpr std::string_view kTpPath = "engine.tensor_parallel_size";
constexpr std::string_view kPpPath = "engine.pipeline_parallel_size";

/// How a setting of the space is called in a label, and those that need no name.
struct Short {
  std::string_view path;
  std::string_view prefix;
};
constexpr std::array kShorts = {Short{kTpPath, "TP"},
                                Short{kPpPath, "PP"},
                                Short{"engine.data_parallel_size", "DP"},
                                Short{"engine.max_num_batched_tokens", "mbt "},
                                Short{"engine.max_num_seqs", "seqs "},
                                Short{"engine.kv_cache_dtype", "kv "},
                                Short{"engine.enable_expert_parallel", "EP "},
                                Short{"engine.chunked_prefill_size", "chunk "},
                                Short{"engine.max_num_tokens", "mnt "},
                                Short{"engine.quantization", ""},
                                Short{"cluster.router.name", ""}};

std::string setting_text(const std::string& path, const std::string& value) {
  const auto* const known = std::ranges::find(kShorts, std::string_view(path), &Short::path);
  if (path == "engine.enable_expert_parallel") {
    return value == "true" ? "EP" : "";
  }
  if (known != kShorts.end()) {
    return fmt::format("{}{}", known->prefix, value);
  }
  const auto dot = path.rfind('.');
  return fmt::format("{} {}", path.substr(dot == std::string::npos ? 0 : dot + 1), value);
}

/// Clients whose answers all have one length march in step for ever, all their prompts at once. Of
/// those of a server that goes on for hours the answers are taken to differ by a few percent.
void fall_out_of_step(scenario::Resolved& resolved) {
  scenario::WorkloadSection& workload = resolved.workload.section;
  const auto* const length =
      workload.output_len ? std::get_if<workload::FixedLength>(&*workload.output_len) : nullptr;
  if (length == nullptr || !workload.max_concurrency || workload.request_rate || workload.trace) {
    return;
  }
  const double tokens = core::real(length->value.value());
  const auto apart = static_cast<std::int64_t>(std::ceil(tokens * kOutOfStep));
  if (apart < length->value.value()) {
    workload.output_len = workload::UniformLength{.lowest = length->value - core::Tokens(apart),
                                                  .highest = length->value + core::Tokens(apart)};
    scenario::mark_stated(resolved, "workload.output_len");
  }
}

}  // namespace

core::Result<Space> Space::read(const Question& question) {
  Space space(question);
  for (EngineQuestion& asked :
       by_engine({.base = question.base, .overrides = question.overrides, .axes = question.axes})) {
    auto axes = sweep::Axes::read(asked.axes, asked.base, asked.overrides);
    if (!axes) {
      return core::fail(core::with_field(std::move(axes).error(), "space"));
    }
    space.parts_.push_back({.asked = std::move(asked), .axes = std::move(*axes)});
  }
  return space;
}

std::int64_t Space::size() const {
  std::int64_t points = 0;
  for (const Part& part : parts_) {
    points += part.size();
  }
  return points * static_cast<std::int64_t>(question_->splits.size());
}

SpacePoint Space::point(std::int64_t ordinal) const {
  RIDGELINE_CHECK(ordinal >= 0 && ordinal < size(), "a point outside the space");
  std::int64_t left = ordinal;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    const std::int64_t points = part.size() * static_cast<std::int64_t>(question_->splits.size());
    if (left >= points) {
      left -= points;
      continue;
    }
    const auto split = static_cast<std::size_t>(left / part.size());
    const sweep::Point found = part.axes.point(left % part.size());
    SpacePoint point{.ordinal = ordinal,
                     .part = i,
                     .split = question_->splits[split],
                     .scenario = found.scenario,
                     .settings = {}};
    for (std::size_t k = 0; k < found.values.size(); ++k) {
      point.settings.emplace_back(part.axes.axes()[k].path, scenario::flow_text(found.values[k]));
    }
    return point;
  }
  return {};
}

core::Result<ResolvedSpacePoint> Space::resolve(const SpacePoint& point,
                                                std::int64_t replicas) const {
  Node document = point.scenario;
  const std::vector<scenario::Override>& overrides = parts_[point.part].asked.overrides;
  const auto set = [&](std::string_view path, std::int64_t value) {
    document = sweep::with_setting(document, path, Node::integer(value, {}));
  };
  // Tiers of KV are no gateway's: one replica has them too.
  const auto without_gateway = [](const Node& scenario) {
    constexpr std::string_view kTiers = "kv_offload";
    const Node* cluster = scenario.find("cluster");
    const Node* tiers = cluster != nullptr ? cluster->find(kTiers) : nullptr;
    const Node alone =
        tiers == nullptr
            ? Node::null({})
            : Node::map({{.key = std::string(kTiers), .value = *tiers, .where = {}}}, {});
    return sweep::with_setting(scenario, "cluster", alone);
  };
  if (point.split || replicas > 1) {
    // Ranks are instances of their own: only the engine knows how many there are.
    const auto loaded =
        scenario::read_scenario(without_gateway(document), overrides, scenario::Purpose::kRun);
    if (!loaded) {
      return core::fail(loaded.error());
    }
    const std::int64_t ranks = replicas * loaded->scenario.deployment.engine.data_parallel_size;
    set("cluster.instances", ranks * instances_of(point.split));
    if (point.split) {
      set("cluster.disaggregation.prefill_instances", ranks * point.split->prefill);
    }
  }
  if (!question_->assumed_router.empty() && (point.split || replicas > 1)) {
    document = sweep::with_setting(
        document, "cluster.router.name", Node::string(question_->assumed_router, {}));
  }
  if (!point.split && replicas == 1) {
    // A gateway in front of one replica decides nothing.
    document = without_gateway(document);
  }
  auto loaded = scenario::read_scenario(document, overrides, scenario::Purpose::kRun);
  if (!loaded) {
    return core::fail(std::move(loaded).error());
  }
  auto resolved = scenario::resolve(std::move(*loaded));
  if (!resolved) {
    return core::fail(std::move(resolved).error());
  }
  fall_out_of_step(*resolved);
  document::MapBuilder estimator;
  estimator.add("measure", "plan").add("routing", [&] {
    const auto routed = std::ranges::find(
        point.settings, "cluster.router.name", &std::pair<std::string, std::string>::first);
    return routed == point.settings.end() ? std::string() : routed->second;
  }());
  std::string id = sweep::point_id(scenario::to_node(resolved->scenario()), estimator.build());
  return ResolvedSpacePoint{.id = std::move(id), .resolved = std::move(*resolved)};
}

void Space::add_pipelines(const NetworkAndGpu& pair, std::int64_t widest) {
  const auto& [part, model, gpu] = pair;
  const EngineQuestion asked = parts_[part].asked;
  const sweep::Axes& first = parts_[part].axes;
  std::vector<Node::Member> members;
  const auto fix = [&](std::string_view path, Node value) {
    members.push_back({.key = std::string(path), .value = std::move(value), .where = {}});
  };
  for (const auto& axis : first.axes()) {
    if (axis.path == "model") {
      fix(axis.path, Node::string(model, {}));
    } else if (axis.path == "gpu") {
      fix(axis.path, Node::string(gpu, {}));
    } else if (axis.path != kTpPath && axis.path != kPpPath) {
      fix(axis.path,
          axis.derived == sweep::Derived::kNothing ? Node::list(axis.values, {})
                                                   : Node::string("auto", {}));
    }
  }
  fix(kTpPath, Node::integer(widest, {}));
  fix(kPpPath, Node::list({Node::integer(2, {}), Node::integer(4, {})}, {}));
  if (auto more =
          sweep::Axes::read(Node::map(std::move(members), {}), asked.base, asked.overrides)) {
    parts_.push_back({.asked = asked, .axes = std::move(*more)});
  }
}

std::int64_t tensor_parallel_size(const SpacePoint& point) {
  const auto found =
      std::ranges::find(point.settings, kTpPath, &std::pair<std::string, std::string>::first);
  std::int64_t size = 1;
  if (found != point.settings.end()) {
    std::from_chars(found->second.data(), found->second.data() + found->second.size(), size);
  }
  return size;
}

NetworkAndGpu network_and_gpu(const SpacePoint& point) {
  NetworkAndGpu found{point.part, {}, {}};
  for (const auto& [path, value] : point.settings) {
    if (path == "model") {
      std::get<1>(found) = value;
    } else if (path == "gpu") {
      std::get<2>(found) = value;
    }
  }
  return found;
}

std::int64_t instances_of(const std::optional<Split>& split) {
  return split ? split->prefill + split->decode : 1;
}

std::int64_t gpus_of(const scenario::Resolved& resolved, const std::optional<Split>& split) {
  return resolved.deployment->execution.sharding.gpus() * instances_of(split);
}

std::string label_of(const SpacePoint& point, const scenario::Resolved& resolved) {
  const scenario::DeploymentSection& section = resolved.deployment->section;
  std::vector<std::string> words;
  const auto varies = [&](std::string_view path) {
    return std::ranges::find(point.settings, path, &std::pair<std::string, std::string>::first) !=
           point.settings.end();
  };
  if (varies("model")) {
    words.push_back(section.model);
  }
  words.push_back(section.gpu);
  words.push_back(fmt::format("TP{}", section.engine.tensor_parallel_size));
  for (const auto& [path, value] : point.settings) {
    if (path == kEngineVersion) {
      words.push_back(value);
    }
  }
  for (const auto& [path, value] : point.settings) {
    constexpr std::array kNamed = {
        std::string_view("model"), std::string_view("gpu"), kTpPath, kEngineVersion};
    if (std::ranges::find(kNamed, path) != kNamed.end() || value == "null") {
      continue;
    }
    if (std::string text = setting_text(path, value); !text.empty()) {
      words.push_back(std::move(text));
    }
  }
  if (point.split) {
    words.push_back(fmt::format("{}P{}D", point.split->prefill, point.split->decode));
  }
  return fmt::format("{}", fmt::join(words, " "));
}

}  // namespace ridgeline::plan
