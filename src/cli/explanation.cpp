#include "cli/explanation.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/headline.hpp"
#include "core/check.hpp"
#include "core/result.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "engine/capacity.hpp"
#include "engine/options.hpp"
#include "hardware/gpu_spec.hpp"
#include "latency/kernel/formats_in_use.hpp"
#include "model/hf_document.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"
#include "report/format.hpp"
#include "report/palette.hpp"
#include "report/tree.hpp"
#include "scenario/length.hpp"
#include "scenario/options.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::cli {
namespace {

using report::bool_node;
using report::integer_node;
using report::MapBuilder;
using report::number_node;
using report::text_node;

constexpr std::int64_t kSchemaVersion = 1;
constexpr model::Sharding kWhole{.tensor_parallel_size = 1};
constexpr std::int64_t kImageSide = 1024;

document::Node gib(core::Bytes bytes) {
  return number_node(core::as_gibibytes(bytes));
}

/// FLOP per byte at which work in a format turns from memory- to compute-bound; nothing where the
/// GPU lacks it.
std::optional<double> ridge(core::FlopsPerSecond peak, const hardware::GpuSpec& gpu) {
  return peak.value() > 0.0 ? std::optional(peak.value() / gpu.mem_bandwidth.value())
                            : std::nullopt;
}

document::Node caches_tree(const model::ModelSpec& network) {
  std::vector<document::Node> caches;
  for (const model::CacheGroup& group : model::cache_groups(network, kWhole)) {
    caches.push_back(MapBuilder()
                         .add("kind", text_node(group.kind))
                         .add("layers", integer_node(group.layers))
                         .add("window",
                              group.window > core::Tokens(0) ? integer_node(group.window.value())
                                                             : number_node(std::nullopt))
                         .add("bytes_per_token", number_node(group.bytes_per_token.value()))
                         .add("bytes_per_sequence", number_node(group.bytes_per_sequence.value()))
                         .build());
  }
  return report::list_node(std::move(caches));
}

/// What most layers have; some may differ.
document::Node precision_tree(const model::ModelSpec& network) {
  const model::Precision& precision = network.precision;
  return MapBuilder()
      .add("attention", text_node(model::name(precision.attention)))
      .add("ffn", text_node(model::name(precision.ffn)))
      .add("embedding", text_node(model::name(precision.embedding)))
      .add("lm_head", text_node(model::name(precision.lm_head.value_or(precision.embedding))))
      .add("kv_cache", text_node(model::name(precision.kv)))
      .build();
}

document::Node model_tree(const model::ModelSpec& network) {
  return MapBuilder()
      .add("name", text_node(network.name))
      .add("family", text_node(network.family))
      .add("parameters_total", number_node(model::total_parameters(network)))
      .add("parameters_active", number_node(model::active_parameters(network)))
      .add("weight_bytes", number_node(model::weight_bytes_per_rank(network, kWhole).value()))
      .add("kv_bytes_per_token",
           number_node(model::kv_bytes_per_token_per_rank(network, kWhole).value()))
      .add("state_bytes_per_sequence",
           number_node(model::state_bytes_per_rank(network, kWhole).value()))
      .add("caches", caches_tree(network))
      .add("precision", precision_tree(network))
      .add("vision_parameters", number_node(network.vision ? network.vision->parameters : 0.0))
      .add("tokens_of_a_1024x1024_image",
           network.vision ? integer_node(network.vision->tokens(kImageSide, kImageSide))
                          : number_node(std::nullopt))
      .add("draft_layers", integer_node(static_cast<std::int64_t>(network.draft_layers.size())))
      .add("num_layers", integer_node(network.num_layers()))
      .add("max_position", integer_node(network.max_position.value()))
      .build();
}

const char* name(engine::CacheLayout::Kind kind) {
  switch (kind) {
    case engine::CacheLayout::Kind::kWhole:
      return "whole";
    case engine::CacheLayout::Kind::kWindow:
      return "window";
    case engine::CacheLayout::Kind::kState:
      return "state";
  }
  RIDGELINE_CHECK(false, "a kind of cache without a name");
}

/// Tokens that the cache holds of sequences that every group keeps whole, as vLLM's log counts.
std::int64_t held_tokens(const scenario::Resolved& resolved) {
  const std::int64_t groups = std::max<std::int64_t>(1, resolved.memory.num_groups());
  return (resolved.engine.num_gpu_blocks.value() - 1) / groups * resolved.engine.block_size.value();
}

std::int64_t blocks_of_longest(const scenario::Resolved& resolved) {
  return engine::blocks_of_request(
      resolved.memory, resolved.engine.max_model_len, resolved.engine.max_num_batched_tokens);
}

/// Prompt and output together of the workload's mean request; nothing where it states no lengths.
std::optional<core::Tokens> tokens_of_request(const scenario::Resolved& resolved) {
  const scenario::WorkloadSection& workload = resolved.scenario.workload;
  if (!workload.input_len || !workload.output_len) {
    return std::nullopt;
  }
  const double tokens = scenario::mean_length(*workload.input_len) +
                        scenario::mean_length(*workload.output_len) +
                        static_cast<double>(workload.prefix_len.value_or(0));
  return core::Tokens(static_cast<std::int64_t>(std::ceil(tokens)));
}

/// Tokens of a request in decode that a window cannot give up yet beside its own: those of the next
/// step and, where the version keeps them, of the one in flight.
core::Tokens tokens_of_decode(const engine::EngineOptions& options) {
  const core::Tokens step(1 + options.num_speculative_tokens);
  const bool keeps_both = options.async_scheduling && options.profile.windows_keep_steps_in_flight;
  return keeps_both ? step * 2 : step;
}

/// Requests of so many tokens that the cache holds at once in decode, if none shares a block. A
/// prompt's chunk holds more of a window for one step, which few of many requests do at a time.
double requests_held(const scenario::Resolved& resolved, core::Tokens tokens) {
  const std::int64_t blocks =
      engine::blocks_of_request(resolved.memory, tokens, tokens_of_decode(resolved.engine));
  return static_cast<double>(resolved.engine.num_gpu_blocks.value() - 1) /
         static_cast<double>(blocks);
}

/// Requests of max_model_len that the cache holds at once.
double requests_of_longest(const scenario::Resolved& resolved) {
  const auto& engine = resolved.engine;
  return resolved.memory.num_groups() > 1 ? static_cast<double>(engine.num_gpu_blocks.value() - 1) /
                                                static_cast<double>(blocks_of_longest(resolved))
                                          : static_cast<double>(held_tokens(resolved)) /
                                                static_cast<double>(engine.max_model_len.value());
}

document::Node layouts_tree(const engine::MemoryPlan& plan) {
  std::vector<document::Node> layouts;
  for (const engine::CacheLayout& layout : plan.layouts) {
    layouts.push_back(MapBuilder()
                          .add("kind", text_node(name(layout.kind)))
                          .add("layers", integer_node(layout.layers))
                          .add("window",
                               layout.window > core::Tokens(0) ? integer_node(layout.window.value())
                                                               : number_node(std::nullopt))
                          .add("groups", integer_node(layout.groups))
                          .build());
  }
  return report::list_node(std::move(layouts));
}

document::Node memory_tree(const scenario::Resolved& resolved) {
  const auto& plan = resolved.memory;
  const auto length = tokens_of_request(resolved);
  return MapBuilder()
      .add("usable_gib", gib(plan.usable))
      .add("gpu_memory_utilization", number_node(plan.utilization))
      .add("budget_gib", gib(plan.budget))
      .add("weights_gib", gib(plan.weights))
      .add("expert_padding_gib", gib(plan.expert_padding))
      .add("position_tables_gib", gib(plan.position_tables))
      .add("activations_gib", gib(plan.activations))
      .add("non_torch_gib", gib(plan.non_torch))
      .add("cuda_graphs_gib", gib(plan.cuda_graphs))
      .add("cuda_graphs_in_budget", bool_node(plan.graphs_in_budget))
      .add("reserve_gib", gib(plan.reserve))
      .add("kv_cache_gib", gib(plan.kv_cache))
      .add("block_bytes", number_node(plan.block.value()))
      .add("block_size", integer_node(resolved.engine.block_size.value()))
      .add("num_gpu_blocks", integer_node(resolved.engine.num_gpu_blocks.value()))
      .add("kv_tokens", integer_node(held_tokens(resolved)))
      .add("sequence_state_gib", gib(plan.sequence_state))
      .add("cache_groups", layouts_tree(plan))
      .add("blocks_of_max_model_len", integer_node(blocks_of_longest(resolved)))
      .add("requests_of_workload_length",
           number_node(length ? std::optional(requests_held(resolved, *length)) : std::nullopt))
      .add("requests_of_max_model_len", number_node(requests_of_longest(resolved)))
      .build();
}

document::Node hardware_tree(const model::ModelSpec& network, const hardware::GpuSpec& gpu) {
  std::vector<document::Node> formats;
  for (const auto& format : latency::kernel::formats_in_use(network, gpu)) {
    formats.push_back(text_node(format.format));
  }
  return MapBuilder()
      .add("name", text_node(gpu.name))
      .add("full_name", text_node(gpu.full_name))
      .add("architecture", text_node(gpu.architecture))
      .add("peak_bf16_flops_per_s", number_node(gpu.peak_bf16.value()))
      .add("peak_fp8_flops_per_s", number_node(gpu.peak_fp8.value()))
      .add("peak_int8_flops_per_s", number_node(gpu.peak_int8.value()))
      .add("peak_fp4_flops_per_s", number_node(gpu.peak_fp4.value()))
      .add("mem_bandwidth_bytes_per_s", number_node(gpu.mem_bandwidth.value()))
      .add("memory_gib", gib(gpu.memory))
      .add("usable_memory_gib", gib(gpu.usable_memory))
      .add("l2_cache_bytes", number_node(gpu.l2_cache.value()))
      .add("num_sms", integer_node(gpu.num_sms))
      .add("clock_ghz", number_node(gpu.clock_ghz))
      .add("link_bandwidth_bytes_per_s", number_node(gpu.link_bandwidth.value()))
      .add("has_nvlink", report::bool_node(gpu.has_nvlink))
      .add("gpus_per_node", integer_node(gpu.gpus_per_node))
      .add("link_domain", integer_node(gpu.link_domain))
      .add("pcie_bandwidth_bytes_per_s", number_node(gpu.pcie_bandwidth.value()))
      .add("network_bandwidth_bytes_per_s", number_node(gpu.network_bandwidth.value()))
      .add("power_watts", number_node(gpu.power_watts))
      .add("datasheet_only", report::bool_node(gpu.datasheet_only))
      .add("ridge_point_bf16_flop_per_byte", number_node(ridge(gpu.peak_bf16, gpu)))
      .add("ridge_point_fp8_flop_per_byte", number_node(ridge(gpu.peak_fp8, gpu)))
      .add("ridge_point_int8_flop_per_byte", number_node(ridge(gpu.peak_int8, gpu)))
      .add("ridge_point_fp4_flop_per_byte", number_node(ridge(gpu.peak_fp4, gpu)))
      .add("formats_in_use", document::Node::list(std::move(formats), {}))
      .build();
}

/// The engine section as resolved, and what follows from it.
document::Node engine_tree(const scenario::Resolved& resolved) {
  MapBuilder tree;
  for (const auto& option : scenario::options()) {
    if (option.section() == "engine") {
      tree.add(option.key(), scenario::value_node(option, resolved.scenario));
    }
  }
  tree.add("profile", text_node(resolved.engine.profile.name));
  std::vector<document::Node> sizes;
  sizes.reserve(resolved.execution.cuda_graph_sizes.size());
  for (const std::int64_t size : resolved.execution.cuda_graph_sizes) {
    sizes.push_back(integer_node(size));
  }
  tree.add("cuda_graph_sizes", report::list_node(std::move(sizes)));
  return tree.build();
}

document::Node provenance_entry(std::string_view key,
                                document::Node value,
                                std::string_view origin,
                                std::string_view source) {
  return MapBuilder()
      .add("key", text_node(key))
      .add("value", std::move(value))
      .add("origin", text_node(origin))
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
  for (const auto& provenance : resolved.provenance) {
    const scenario::Option* option = scenario::find_option(provenance.path);
    entries.push_back(provenance_entry(provenance.path,
                                       scenario::value_node(*option, resolved.scenario),
                                       scenario::name(provenance.origin),
                                       place_text(provenance.where)));
  }
  for (const auto& patch : resolved.scenario.patches) {
    entries.push_back(provenance_entry(fmt::format("{}.{}", patch.target, patch.key),
                                       patch.value,
                                       "set",
                                       place_text(patch.value.where())));
  }
  const document::Node network = model::lift_text_config(resolved.network_document);
  for (const auto& [key, source] : resolved.network.provenance) {
    entries.push_back(provenance_entry("model." + key, value_in(network, key), "document", source));
  }
  for (const auto& [key, source] : resolved.gpu.provenance) {
    entries.push_back(provenance_entry(
        "hardware." + key, value_in(resolved.gpu_document, key), "document", source));
  }
  return report::list_node(std::move(entries));
}

/// Lines of a name and a value, aligned.
class Lines {
 public:
  void add(std::string_view text) { text_ += text; }
  void title(std::string_view text) { text_ += fmt::format("\n{}\n", text); }
  void row(std::string_view name, std::string_view value, std::string_view note = {}) {
    text_ += fmt::format("  {:<26} {:>14}{}{}\n", name, value, note.empty() ? "" : "  ", note);
  }
  [[nodiscard]] std::string finish() { return std::move(text_); }

 private:
  std::string text_;
};

std::string gib_text(core::Bytes bytes) {
  return fmt::format("{:.2f} GiB", core::as_gibibytes(bytes));
}

/// Where a network keeps more than one plain KV cache.
void cache_lines(const model::ModelSpec& network, Lines& lines) {
  const std::vector<model::CacheGroup> groups = model::cache_groups(network, kWhole);
  if (groups.size() < 2 && (groups.empty() || groups.front().kind == "full")) {
    return;
  }
  for (const model::CacheGroup& group : groups) {
    std::string note = report::counted(group.layers, "layer");
    if (group.window > core::Tokens(0)) {
      note += fmt::format(", last {} tokens", group.window.value());
    }
    if (group.bytes_per_token.value() > 0.0) {
      lines.row(fmt::format("  {}", group.kind),
                fmt::format("{:.6g} KiB", group.bytes_per_token.value() / 1024.0),
                note);
    }
    if (group.bytes_per_sequence.value() > 0.0) {
      lines.row(fmt::format("  {}, per sequence", group.kind),
                fmt::format("{:.4g} MiB", group.bytes_per_sequence.value() / (1024.0 * 1024.0)),
                note);
    }
  }
}

/// Where a network's quantisation stands: ", config.json:12", or the file beside it.
std::string quantisation_source(const model::ModelSpec& network) {
  for (const auto& [key, source] : network.provenance) {
    if (key == "quantization_config" && !source.starts_with("data/")) {
      return ", " + source;
    }
  }
  return {};
}

void memory_lines(const scenario::Resolved& resolved, Lines& lines) {
  const auto& plan = resolved.memory;
  const auto& engine = resolved.engine;
  lines.title("memory of each GPU");
  lines.row("usable", gib_text(plan.usable));
  lines.row(
      "budget", gib_text(plan.budget), fmt::format("gpu_memory_utilization {}", plan.utilization));
  lines.row("- weights",
            gib_text(plan.weights),
            plan.expert_padding > core::Bytes(0)
                ? fmt::format("of which {} pad the experts", gib_text(plan.expert_padding))
                : "");
  lines.row("- activations",
            gib_text(plan.activations),
            "peak of the profile run: max_num_batched_tokens, max_num_seqs");
  lines.row("- position tables", gib_text(plan.position_tables));
  lines.row("- non-torch", gib_text(plan.non_torch), "CUDA libraries, communication");
  if (plan.graphs_in_budget) {
    lines.row("- CUDA graphs", gib_text(plan.cuda_graphs));
  }
  if (plan.sequence_state > core::Bytes(0)) {
    lines.row("- windows", gib_text(plan.sequence_state), "beside compressed caches, max_num_seqs");
  }
  lines.row("= KV cache", gib_text(plan.kv_cache));
  if (!plan.graphs_in_budget) {
    lines.row("CUDA graphs", gib_text(plan.cuda_graphs), "on top of the budget in this version");
  }
  lines.row("num_gpu_blocks",
            report::grouped(engine.num_gpu_blocks.value()),
            fmt::format("of {} tokens", engine.block_size.value()));
  if (plan.num_groups() > 1) {
    for (const engine::CacheLayout& layout : plan.layouts) {
      lines.row(fmt::format("  {}", name(layout.kind)),
                report::counted(layout.groups, "group"),
                fmt::format("{}{}",
                            report::counted(layout.layers, "layer"),
                            layout.window > core::Tokens(0)
                                ? fmt::format(", last {} tokens", layout.window.value())
                                : ""));
    }
  }
  lines.row("block", fmt::format("{:.6g} KiB", plan.block.value() / 1024.0));
  const std::int64_t tokens = held_tokens(resolved);
  lines.row("tokens", report::grouped(tokens));
  lines.row("requests of max_model_len", report::significant(requests_of_longest(resolved)));
  if (const auto length = tokens_of_request(resolved)) {
    const double held = requests_held(resolved, *length);
    lines.row(fmt::format("requests of {} tokens", report::grouped(length->value())),
              report::significant(held),
              held > static_cast<double>(engine.max_num_seqs)
                  ? fmt::format("input_len and output_len; max_num_seqs {} is less, and binds",
                                engine.max_num_seqs)
                  : std::string("input_len and output_len, in decode"));
  }
}

}  // namespace

document::Node explanation_tree(const scenario::Resolved& resolved) {
  return MapBuilder()
      .add("schema_version", integer_node(kSchemaVersion))
      .add("deployment", text_node(deployment_text(resolved)))
      .add("model", model_tree(resolved.network))
      .add("memory", memory_tree(resolved))
      .add("hardware", hardware_tree(resolved.network, resolved.gpu))
      .add("engine", engine_tree(resolved))
      .add("config", scenario::to_node(resolved.scenario))
      .add("provenance", provenance_tree(resolved))
      .add("warnings", report::warnings_tree(resolved.warnings))
      .build();
}

std::string explanation_table(const scenario::Resolved& resolved, const report::TextStyle& style) {
  const auto& network = resolved.network;
  const auto& gpu = resolved.gpu;
  Lines lines;
  lines.add(deployment_text(resolved) + '\n');
  lines.title("network");
  lines.row("family", network.family);
  lines.row("parameters", fmt::format("{:.4g} B", model::total_parameters(network) / 1e9));
  lines.row("active per token", fmt::format("{:.4g} B", model::active_parameters(network) / 1e9));
  lines.row("weights",
            gib_text(model::weight_bytes_per_rank(network, kWhole)),
            fmt::format("{}{}", model::name(network.precision.ffn), quantisation_source(network)));
  lines.row("KV cache per token",
            fmt::format("{:.6g} KiB",
                        model::kv_bytes_per_token_per_rank(network, kWhole).value() / 1024.0),
            model::name(network.precision.kv));
  cache_lines(network, lines);
  lines.title("GPU");
  const auto formats = latency::kernel::formats_in_use(network, gpu);
  for (const auto& [format, peak] : formats) {
    lines.row("peak " + format,
              fmt::format("{} TFLOP/s", report::significant(peak.value() / 1e12)));
  }
  lines.row("memory bandwidth", fmt::format("{:.4g} TB/s", gpu.mem_bandwidth.value() / 1e12));
  for (const auto& [format, peak] : formats) {
    lines.row("ridge point " + format,
              fmt::format("{:.4g} FLOP/B", ridge(peak, gpu).value_or(0.0)),
              "below it work is memory-bound");
  }
  memory_lines(resolved, lines);
  lines.title("settings that are not built-in defaults");
  for (const auto& provenance : resolved.provenance) {
    if (provenance.origin != scenario::Provenance::Origin::kDefault) {
      const scenario::Option* option = scenario::find_option(provenance.path);
      lines.row(
          provenance.path,
          scenario::value_text(*option, resolved.scenario),
          fmt::format("{} {}", scenario::name(provenance.origin), place_text(provenance.where)));
    }
  }
  for (const auto& warning : resolved.warnings) {
    lines.add(fmt::format("\n{} {}: {}\n  {}\n",
                          style.palette.paint(style.palette.warn, "warning"),
                          warning.code,
                          warning.message,
                          warning.hint));
  }
  return lines.finish();
}

}  // namespace ridgeline::cli
