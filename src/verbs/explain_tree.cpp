#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "engine/capacity.hpp"
#include "engine/engine_plan.hpp"
#include "latency/kernel/formats_in_use.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/hf_document.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"
#include "scenario/cache_room.hpp"
#include "scenario/deployment.hpp"
#include "scenario/digest.hpp"
#include "scenario/engine_settings.hpp"
#include "scenario/options.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "verbs/explain_facts.hpp"
#include "verbs/explain_view.hpp"
#include "verbs/run/headline.hpp"

namespace ridgeline::verbs {
namespace {

using document::integer_node;
using document::list_node;
using document::MapBuilder;
using document::number_node;
using document::text_node;

constexpr std::int64_t kExplanationSchemaVersion = 1;
constexpr std::int64_t kImageSide = 1024;

document::Node gib(core::Bytes bytes) {
  return number_node(core::as_gibibytes(bytes));
}

document::Node caches_tree(const model::ModelSpec& network) {
  return document::list_of(
      model::cache_groups(network, kWhole), [&](const model::CacheGroup& group) -> document::Node {
        return MapBuilder()
            .add("kind", group.kind)
            .add("layers", group.layers)
            .add("window",
                 group.window > core::Tokens(0) ? integer_node(group.window.value())
                                                : number_node(std::nullopt))
            .add("bytes_per_token", group.bytes_per_token.value())
            .add("bytes_per_sequence", group.bytes_per_sequence.value());
      });
}

/// What most layers have; some may differ.
document::Node precision_tree(const model::ModelSpec& network) {
  const model::Precision& precision = network.precision;
  return MapBuilder()
      .add("attention", model::name(precision.attention))
      .add("ffn", model::name(precision.ffn))
      .add("embedding", model::name(precision.embedding))
      .add("lm_head", model::name(precision.lm_head.value_or(precision.embedding)))
      .add("kv_cache", model::name(precision.kv))
      .build();
}

document::Node model_tree(const model::ModelSpec& network) {
  return MapBuilder()
      .add("name", network.name)
      .add("family", network.family)
      .add("parameters_total", model::total_parameters(network))
      .add("parameters_active", model::active_parameters(network))
      .add("weight_bytes", model::weight_bytes_per_rank(network, kWhole).value())
      .add("kv_bytes_per_token", model::kv_bytes_per_token_per_rank(network, kWhole).value())
      .add("state_bytes_per_sequence", model::state_bytes_per_rank(network, kWhole).value())
      .add("caches", caches_tree(network))
      .add("precision", precision_tree(network))
      .add("vision_parameters", network.vision ? network.vision->parameters : 0.0)
      .add("tokens_of_a_1024x1024_image",
           network.vision ? integer_node(network.vision->tokens(kImageSide, kImageSide))
                          : number_node(std::nullopt))
      .add("draft_layers", static_cast<std::int64_t>(network.draft_layers.size()))
      .add("num_layers", network.num_layers())
      .add("max_position", network.max_position.value())
      .build();
}

document::Node layouts_tree(const engine::MemoryPlan& plan) {
  return document::list_of(plan.layouts, [&](const engine::CacheLayout& layout) -> document::Node {
    return MapBuilder()
        .add("kind", kind_name(layout.kind))
        .add("layers", layout.layers)
        .add("window",
             layout.window > core::Tokens(0) ? integer_node(layout.window.value())
                                             : number_node(std::nullopt))
        .add("groups", layout.groups);
  });
}

/// As an engine that is not vLLM divides the memory.
document::Node own_memory_tree(const scenario::Deployment& deployment) {
  MapBuilder tree;
  for (const engine::MemoryLine& line : deployment.memory_lines) {
    tree.add(fmt::format("{}_gib", line.key), gib(line.bytes));
  }
  return tree.add("block_bytes", deployment.memory.block.value())
      .add("block_size", deployment.engine.block_size.value())
      .add("num_gpu_blocks", deployment.engine.num_gpu_blocks.value())
      .add("kv_tokens", scenario::held_tokens(deployment))
      .add("requests_of_max_model_len", scenario::requests_of_longest(deployment))
      .build();
}

document::Node memory_tree(const scenario::Deployment& deployment,
                           const scenario::WorkloadSection& workload) {
  if (!deployment.memory_lines.empty()) {
    return own_memory_tree(deployment);
  }
  const auto& plan = deployment.memory;
  const auto length = tokens_of_request(workload);
  return MapBuilder()
      .add("usable_gib", gib(plan.usable))
      .add("gpu_memory_utilization", plan.utilization)
      .add("budget_gib", gib(plan.budget))
      .add("weights_gib", gib(plan.weights))
      .add("expert_padding_gib", gib(plan.expert_padding))
      .add("position_tables_gib", gib(plan.position_tables))
      .add("activations_gib", gib(plan.activations))
      .add("non_torch_gib", gib(plan.non_torch))
      .add("cuda_graphs_gib", gib(plan.cuda_graphs))
      .add("cuda_graphs_in_budget", plan.graphs_in_budget)
      .add("reserve_gib", gib(plan.reserve))
      .add("kv_cache_gib", gib(plan.kv_cache))
      .add("block_bytes", plan.block.value())
      .add("block_size", deployment.engine.block_size.value())
      .add("num_gpu_blocks", deployment.engine.num_gpu_blocks.value())
      .add("kv_tokens", scenario::held_tokens(deployment))
      .add("logged_kv_tokens", scenario::logged_tokens(deployment))
      .add("sequence_state_gib", gib(plan.sequence_state))
      .add("cache_groups", layouts_tree(plan))
      .add("blocks_of_max_model_len", scenario::blocks_of_longest(deployment))
      .add("requests_of_workload_length",
           length ? std::optional(requests_held(deployment, *length)) : std::nullopt)
      .add("requests_of_max_model_len", scenario::requests_of_longest(deployment))
      .build();
}

document::Node hardware_tree(const model::ModelSpec& network, const hardware::GpuSpec& gpu) {
  std::vector<document::Node> formats;
  for (const auto& format : latency::kernel::formats_in_use(network, gpu)) {
    formats.push_back(text_node(format.format));
  }
  return MapBuilder()
      .add("name", gpu.name)
      .add("full_name", gpu.full_name)
      .add("architecture", gpu.architecture)
      .add("peak_bf16_flops_per_s", gpu.peak_bf16.value())
      .add("peak_fp8_flops_per_s", gpu.peak_fp8.value())
      .add("peak_int8_flops_per_s", gpu.peak_int8.value())
      .add("peak_fp4_flops_per_s", gpu.peak_fp4.value())
      .add("mem_bandwidth_bytes_per_s", gpu.mem_bandwidth.value())
      .add("memory_gib", gib(gpu.memory))
      .add("usable_memory_gib", gib(gpu.usable_memory))
      .add("l2_cache_bytes", gpu.l2_cache.value())
      .add("num_sms", gpu.num_sms)
      .add("clock_ghz", gpu.clock_ghz)
      .add("link_bandwidth_bytes_per_s", gpu.link_bandwidth.value())
      .add("has_nvlink", gpu.has_nvlink)
      .add("gpus_per_node", gpu.gpus_per_node)
      .add("link_domain", gpu.link_domain)
      .add("pcie_bandwidth_bytes_per_s", gpu.pcie_bandwidth.value())
      .add("network_bandwidth_bytes_per_s", gpu.network_bandwidth.value())
      .add("power_watts", gpu.power_watts)
      .add("datasheet_only", gpu.datasheet_only)
      .add("ridge_point_bf16_flop_per_byte", ridge(gpu.peak_bf16, gpu))
      .add("ridge_point_fp8_flop_per_byte", ridge(gpu.peak_fp8, gpu))
      .add("ridge_point_int8_flop_per_byte", ridge(gpu.peak_int8, gpu))
      .add("ridge_point_fp4_flop_per_byte", ridge(gpu.peak_fp4, gpu))
      .add("formats_in_use", document::Node::list(std::move(formats), {}))
      .build();
}

/// The engine section as resolved, and what follows from it.
document::Node engine_tree(const scenario::Resolved& resolved) {
  MapBuilder tree;
  const scenario::Scenario scenario = resolved.scenario();
  for (const auto& option : scenario::options()) {
    if (option.section() == "engine" && scenario::applies(option, scenario.deployment.engine)) {
      tree.add(option.key(), scenario::value_node(option, scenario));
    }
  }
  const bool is_vllm = resolved.deployment->engine.own == nullptr;
  tree.add("profile",
           is_vllm ? resolved.deployment->engine.profile.name : scenario.deployment.engine.version);
  std::vector<document::Node> sizes;
  sizes.reserve(resolved.deployment->execution.cuda_graph_sizes.size());
  for (const std::int64_t size : resolved.deployment->execution.cuda_graph_sizes) {
    sizes.push_back(integer_node(size));
  }
  tree.add("cuda_graph_sizes", list_node(std::move(sizes)));
  return tree.build();
}

document::Node provenance_entry(std::string_view key,
                                document::Node value,
                                std::string_view origin,
                                std::string_view source) {
  return MapBuilder()
      .add("key", key)
      .add("value", std::move(value))
      .add("origin", origin)
      .add("source", source.empty() ? document::Node() : text_node(source))
      .build();
}

/// What a document says of a key; null for what it does not state. A fact of a GPU may stand beside
/// its source: {value, source}.
document::Node value_in(const document::Node& document, std::string_view key) {
  const document::Node* value = document.find(key);
  if (value != nullptr && value->is_map() && value->find("source") != nullptr &&
      value->find("value") != nullptr) {
    value = value->find("value");
  }
  return value == nullptr ? document::Node() : *value;
}

document::Node provenance_tree(const scenario::Resolved& resolved) {
  std::vector<document::Node> entries;
  const scenario::Scenario scenario = resolved.scenario();
  const scenario::Deployment& deployment = *resolved.deployment;
  for (const auto& provenance : resolved.provenance) {
    const scenario::Option* option = scenario::find_option(provenance.path);
    if (!scenario::applies(*option, scenario.deployment.engine)) {
      continue;
    }
    entries.push_back(provenance_entry(provenance.path,
                                       scenario::value_node(*option, scenario),
                                       scenario::name(provenance.origin),
                                       place_text(provenance.where)));
  }
  for (const auto& patch : deployment.section.patches) {
    entries.push_back(provenance_entry(fmt::format("{}.{}", patch.target, patch.key),
                                       patch.value,
                                       "set",
                                       place_text(patch.value.where())));
  }
  const document::Node network = model::lift_text_config(deployment.network_document);
  for (const auto& [key, source] : deployment.network.provenance) {
    entries.push_back(provenance_entry("model." + key, value_in(network, key), "document", source));
  }
  for (const auto& [key, source] : deployment.gpu.provenance) {
    entries.push_back(provenance_entry(
        "hardware." + key, value_in(deployment.gpu_document, key), "document", source));
  }
  return list_node(std::move(entries));
}

/// What each pool holds; the rest of the document is the first one's.
document::Node pools_explained(const scenario::Resolved& resolved) {
  std::vector<document::Node> pools;
  for (const scenario::ResolvedPool& pool : resolved.pools) {
    const scenario::Deployment& own = *pool.deployment;
    pools.push_back(MapBuilder()
                        .add("name", pool.section.name)
                        .add("instances", pool.section.instances)
                        .add("deployment", deployment_text(own))
                        .add("model", model_tree(own.network))
                        .add("memory", memory_tree(own, resolved.workload.section))
                        .add("hardware", hardware_tree(own.network, own.gpu))
                        .build());
  }
  return list_node(std::move(pools));
}

document::Node config_tree(const scenario::Resolved& resolved) {
  scenario::Scenario scenario = resolved.scenario();
  if (!resolved.pools.empty()) {
    scenario::Servers servers = scenario::as_servers(resolved.pools);
    scenario.deployment = std::move(servers.common);
    scenario.run.cluster.pools = std::move(servers.pools);
  }
  return scenario::to_node(scenario);
}

}  // namespace

document::Node explanation_tree(const scenario::Resolved& resolved) {
  return MapBuilder()
      .add("schema_version", kExplanationSchemaVersion)
      .add("deployment", deployment_text(*resolved.deployment))
      .add("model", model_tree(resolved.deployment->network))
      .add("memory", memory_tree(*resolved.deployment, resolved.workload.section))
      .add("hardware", hardware_tree(resolved.deployment->network, resolved.deployment->gpu))
      .add("engine", engine_tree(resolved))
      .add("pools", pools_explained(resolved))
      .add("config", config_tree(resolved))
      .add("scenario_digest", scenario::scenario_digest(resolved.scenario()))
      .add("provenance", provenance_tree(resolved))
      .add("warnings", resolved.warnings)
      .build();
}

}  // namespace ridgeline::verbs
