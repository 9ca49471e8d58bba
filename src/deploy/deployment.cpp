#include "deploy/deployment.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/result.hpp"
#include "deploy/bench.hpp"
#include "deploy/layout.hpp"
#include "deploy/statement.hpp"
#include "deploy/targets.hpp"
#include "document/document.hpp"
#include "document/json_writer.hpp"
#include "document/node_builder.hpp"
#include "document/node_json.hpp"
#include "document/yaml_writer.hpp"

namespace ridgeline::deploy {
namespace {

using document::list_node;
using document::MapBuilder;
using document::text_node;

using document::Node;

constexpr std::int64_t kPredictionSchemaVersion = 1;

std::string prediction_text(const Input& input, const Layout& layout) {
  std::vector<Node> roles;
  for (const Role& role : layout.roles) {
    roles.push_back(MapBuilder()
                        .add("role", role.name)
                        .add("replicas", role.replicas)
                        .add("gpus_per_replica", role.gpus)
                        .add("num_gpu_blocks", role.deployment->engine.num_gpu_blocks.value()));
  }
  MapBuilder tree;
  tree.add("schema_version", kPredictionSchemaVersion)
      .add("ridgeline", input.ridgeline)
      .add("scenario_digest", layout.scenario_digest)
      .add("plan_digest", input.plan_digest.empty() ? Node() : text_node(input.plan_digest))
      .add("network", layout.network)
      .add("gpu", layout.roles.front().deployment->gpu.name)
      .add("gpus", layout.gpus())
      .add("engine", layout.engine + "@" + layout.engine_version)
      .add("roles", list_node(std::move(roles)))
      .add("capacity_rps", input.capacity_rps ? Node::real(*input.capacity_rps, {}) : Node())
      .add("predicted", input.prediction);
  document::JsonWriter json;
  document::write(tree.build(), json);
  return json.text() + "\n";
}

/// Files that two targets share are one; those of one name say the same.
void put_file(std::vector<File>& files, File file) {
  const auto same = std::ranges::find(files, file.name, &File::name);
  if (same == files.end()) {
    files.push_back(std::move(file));
    return;
  }
  RIDGELINE_CHECK(same->text == file.text, file.name);
}

}  // namespace

File scenario_file(const scenario::Resolved& resolved, std::string_view digest) {
  return {.name = "scenario.yaml",
          .text = fmt::format("# The scenario of this deployment{}{}.\n# Run: ridgeline "
                              "run scenario.yaml\n{}",
                              digest.empty() ? "" : ", digest ",
                              digest,
                              document::yaml_text(stated_scenario(resolved)))};
}

core::Result<std::vector<File>> deployment_files(const Input& input,
                                                 std::span<const Target* const> targets) {
  RIDGELINE_CHECK(!targets.empty(), "a deployment is for some target");
  std::vector<File> files;
  std::vector<Layout> layouts;
  core::Errors errors;
  for (const Target* target : targets) {
    auto layout = layout_of(input, target->abilities);
    if (!layout) {
      errors.insert(errors.end(), layout.error().begin(), layout.error().end());
      continue;
    }
    for (File& file : target->write(*layout)) {
      put_file(files, std::move(file));
    }
    layouts.push_back(std::move(*layout));
  }
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  const Layout& layout = layouts.front();
  files.push_back(scenario_file(input.resolved, layout.scenario_digest));
  files.push_back({.name = "prediction.json", .text = prediction_text(input, layout)});
  if (std::string bench = bench_text(input, layout); !bench.empty()) {
    files.push_back({.name = "bench.sh", .text = std::move(bench), .is_script = true});
  }
  return files;
}

std::string_view common_router(std::span<const Target* const> targets) {
  for (const std::string_view router : targets.front()->abilities.routers) {
    if (std::ranges::all_of(targets, [&](const Target* target) {
          const auto& own = target->abilities.routers;
          return std::ranges::find(own, router) != own.end();
        })) {
      return router;
    }
  }
  return {};
}

}  // namespace ridgeline::deploy
