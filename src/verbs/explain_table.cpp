#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text.hpp"
#include "core/units.hpp"
#include "deploy/read.hpp"
#include "engine/capacity.hpp"
#include "engine/engine_plan.hpp"
#include "latency/kernel/formats_in_use.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"
#include "report/format.hpp"
#include "report/palette.hpp"
#include "report/table/sheet.hpp"
#include "report/table/table.hpp"
#include "scenario/cache_room.hpp"
#include "scenario/deployment.hpp"
#include "scenario/digest.hpp"
#include "scenario/options.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "verbs/explain_facts.hpp"
#include "verbs/explain_view.hpp"
#include "verbs/run/headline.hpp"

namespace ridgeline::verbs {
namespace {

std::string gib_text(core::Bytes bytes) {
  return fmt::format("{:.2f} GiB", core::as_gibibytes(bytes));
}

/// Where a network keeps more than one plain KV cache.
void cache_lines(const model::ModelSpec& network, report::Sheet& sheet) {
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
      sheet.fact(fmt::format("  {}", group.kind),
                 fmt::format("{:.6g} KiB", group.bytes_per_token.value() / 1024.0),
                 note);
    }
    if (group.bytes_per_sequence.value() > 0.0) {
      sheet.fact(fmt::format("  {}, per sequence", group.kind),
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

/// As an engine that is not vLLM divides the memory.
void own_memory_lines(const scenario::Deployment& deployment, report::Sheet& sheet) {
  sheet.gap().row("memory of each GPU");
  for (const engine::MemoryLine& line : deployment.memory_lines) {
    sheet.fact(line.label, gib_text(line.bytes), line.note);
  }
  sheet.fact("KV bytes per token",
             fmt::format("{:.6g} KiB",
                         deployment.memory.block.value() / 1024.0 /
                             static_cast<double>(deployment.engine.block_size.value())));
  sheet.fact("tokens",
             report::grouped(scenario::held_tokens(deployment)),
             fmt::format("in pages of {}", deployment.engine.block_size.value()));
  sheet.fact("requests of max_model_len",
             report::significant(scenario::requests_of_longest(deployment)));
}

void memory_lines(const scenario::Deployment& deployment,
                  const scenario::WorkloadSection& workload,
                  report::Sheet& sheet) {
  if (!deployment.memory_lines.empty()) {
    own_memory_lines(deployment, sheet);
    return;
  }
  const auto& plan = deployment.memory;
  const auto& engine = deployment.engine;
  sheet.gap().row("memory of each GPU");
  sheet.fact("usable", gib_text(plan.usable));
  sheet.fact(
      "budget", gib_text(plan.budget), fmt::format("gpu_memory_utilization {}", plan.utilization));
  sheet.fact("- weights",
             gib_text(plan.weights),
             plan.expert_padding > core::Bytes(0)
                 ? fmt::format("of which {} pad the experts", gib_text(plan.expert_padding))
                 : "");
  sheet.fact("- activations",
             gib_text(plan.activations),
             "peak of the profile run: max_num_batched_tokens, max_num_seqs");
  sheet.fact("- position tables", gib_text(plan.position_tables));
  sheet.fact("- non-torch", gib_text(plan.non_torch), "CUDA libraries, communication");
  if (plan.graphs_in_budget) {
    sheet.fact("- CUDA graphs", gib_text(plan.cuda_graphs));
  }
  if (plan.sequence_state > core::Bytes(0)) {
    sheet.fact(
        "- windows", gib_text(plan.sequence_state), "beside compressed caches, max_num_seqs");
  }
  sheet.fact("= KV cache", gib_text(plan.kv_cache));
  if (!plan.graphs_in_budget) {
    sheet.fact("CUDA graphs", gib_text(plan.cuda_graphs), "on top of the budget in this version");
  }
  sheet.fact("num_gpu_blocks",
             report::grouped(engine.num_gpu_blocks.value()),
             fmt::format("of {} tokens", engine.block_size.value()));
  if (plan.num_groups() > 1) {
    for (const engine::CacheLayout& layout : plan.layouts) {
      sheet.fact(fmt::format("  {}", kind_name(layout.kind)),
                 report::counted(layout.groups, "group"),
                 fmt::format("{}{}",
                             report::counted(layout.layers, "layer"),
                             layout.window > core::Tokens(0)
                                 ? fmt::format(", last {} tokens", layout.window.value())
                                 : ""));
    }
    if (engine.enable_prefix_caching && engine.prefix_cache_retention_interval &&
        engine::mixes_windows(engine.cache_groups)) {
      sheet.fact(
          "  retention interval",
          report::grouped(engine.prefix_cache_retention_interval->value()),
          fmt::format(
              "cached prefixes end where prompts end or part{}",
              engine.prefix_cache_retention_interval->value() > 0 ? ", or at its multiples" : ""));
    }
  }
  sheet.fact("block", fmt::format("{:.6g} KiB", plan.block.value() / 1024.0));
  sheet.fact("tokens",
             report::grouped(scenario::logged_tokens(deployment)),
             fmt::format("\"KV cache size\" of its log; {} of whole sequences",
                         report::grouped(scenario::held_tokens(deployment))));
  sheet.fact("requests of max_model_len",
             report::significant(scenario::requests_of_longest(deployment)));
  if (const auto length = tokens_of_request(workload)) {
    const double held = requests_held(deployment, *length);
    sheet.fact(fmt::format("requests of {} tokens", report::grouped(length->value())),
               report::significant(held),
               held > static_cast<double>(engine.max_num_seqs)
                   ? fmt::format("input_len and output_len; max_num_seqs {} is less, and binds",
                                 engine.max_num_seqs)
                   : std::string("input_len and output_len, in decode"));
  }
}

/// What one deployment is and holds.
void deployment_lines(const scenario::Deployment& deployment,
                      const scenario::WorkloadSection& workload,
                      report::Sheet& sheet) {
  const auto& network = deployment.network;
  const auto& gpu = deployment.gpu;
  sheet.gap().row("network");
  sheet.fact("family", network.family);
  sheet.fact("parameters", fmt::format("{:.4g} B", model::total_parameters(network) / 1e9));
  sheet.fact("active per token", fmt::format("{:.4g} B", model::active_parameters(network) / 1e9));
  sheet.fact("weights",
             gib_text(model::weight_bytes_per_rank(network, kWhole)),
             fmt::format("{}{}", model::name(network.precision.ffn), quantisation_source(network)));
  sheet.fact("KV cache per token",
             fmt::format("{:.6g} KiB",
                         model::kv_bytes_per_token_per_rank(network, kWhole).value() / 1024.0),
             model::name(network.precision.kv));
  cache_lines(network, sheet);
  sheet.gap().row("GPU");
  const auto formats = latency::kernel::formats_in_use(network, gpu);
  for (const auto& [format, peak] : formats) {
    sheet.fact("peak " + format,
               fmt::format("{} TFLOP/s", report::significant(peak.value() / 1e12)));
  }
  sheet.fact("memory bandwidth", fmt::format("{:.4g} TB/s", gpu.mem_bandwidth.value() / 1e12));
  for (const auto& [format, peak] : formats) {
    sheet.fact("ridge point " + format,
               fmt::format("{:.4g} FLOP/B", ridge(peak, gpu).value_or(0.0)),
               "below it work is memory-bound");
  }
  memory_lines(deployment, workload, sheet);
}

}  // namespace

std::string explanation_table(const scenario::Resolved& resolved, const report::TextStyle& style) {
  const scenario::WorkloadSection& workload = resolved.workload.section;
  report::Sheet sheet("Scenario");
  for (const auto& warning : resolved.warnings) {
    if (warning.code == deploy::kReadAs) {
      sheet.row(fmt::format("read as {}", report::printable(warning.message, style.ascii))).gap();
    }
  }
  if (resolved.pools.empty()) {
    sheet.row(core::escaped(deployment_text(*resolved.deployment)));
    deployment_lines(*resolved.deployment, workload, sheet);
  }
  for (const scenario::ResolvedPool& pool : resolved.pools) {
    if (&pool != &resolved.pools.front()) {
      sheet.gap();
    }
    sheet.row(fmt::format("pool {}: {} of {}",
                          core::escaped(pool.section.name),
                          report::counted(pool.section.instances, "instance"),
                          core::escaped(deployment_text(*pool.deployment))));
    deployment_lines(*pool.deployment, workload, sheet);
  }
  sheet.gap().row("settings that are not built-in defaults");
  const scenario::Scenario scenario = resolved.scenario();
  for (const auto& provenance : resolved.provenance) {
    if (provenance.origin != scenario::Provenance::Origin::kDefault) {
      const scenario::Option* option = scenario::find_option(provenance.path);
      sheet.fact(
          provenance.path,
          scenario::value_text(*option, scenario),
          fmt::format("{} {}", scenario::name(provenance.origin), place_text(provenance.where)));
    }
  }
  sheet.gap()
      .row("scenario")
      .fact("digest", scenario::scenario_digest(scenario), "of all settings, as they hold");
  for (const auto& warning : resolved.warnings) {
    if (warning.code == deploy::kReadAs) {
      continue;  // The first line.
    }
    sheet.gap().drawn(fmt::format("{} {}: {}\n  {}\n",
                                  style.palette.paint(style.palette.warn, "warning"),
                                  warning.code,
                                  report::printable(warning.message, style.ascii),
                                  report::printable(warning.hint, style.ascii)));
  }
  return sheet.render(report::Face::kTerminal, style);
}

}  // namespace ridgeline::verbs
