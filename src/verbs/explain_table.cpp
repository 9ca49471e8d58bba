#include <cstdint>
#include <string>
#include <string_view>
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

/// Lines of a name and a value, aligned.
class Lines {
 public:
  void add(std::string_view text) { text_ += text; }
  void title(std::string_view text) { text_ += fmt::format("\n{}\n", text); }
  void row(std::string_view name, std::string_view value, std::string_view note = {}) {
    text_ += fmt::format("  {:<26} {:>14}{}{}\n",
                         name,
                         core::escaped(value),
                         note.empty() ? "" : "  ",
                         core::escaped(note));
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

/// As an engine that is not vLLM divides the memory.
void own_memory_lines(const scenario::Deployment& deployment, Lines& lines) {
  lines.title("memory of each GPU");
  for (const engine::MemoryLine& line : deployment.memory_lines) {
    lines.row(line.label, gib_text(line.bytes), line.note);
  }
  lines.row("KV bytes per token",
            fmt::format("{:.6g} KiB",
                        deployment.memory.block.value() / 1024.0 /
                            static_cast<double>(deployment.engine.block_size.value())));
  lines.row("tokens",
            report::grouped(scenario::held_tokens(deployment)),
            fmt::format("in pages of {}", deployment.engine.block_size.value()));
  lines.row("requests of max_model_len",
            report::significant(scenario::requests_of_longest(deployment)));
}

void memory_lines(const scenario::Deployment& deployment,
                  const scenario::WorkloadSection& workload,
                  Lines& lines) {
  if (!deployment.memory_lines.empty()) {
    own_memory_lines(deployment, lines);
    return;
  }
  const auto& plan = deployment.memory;
  const auto& engine = deployment.engine;
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
      lines.row(fmt::format("  {}", kind_name(layout.kind)),
                report::counted(layout.groups, "group"),
                fmt::format("{}{}",
                            report::counted(layout.layers, "layer"),
                            layout.window > core::Tokens(0)
                                ? fmt::format(", last {} tokens", layout.window.value())
                                : ""));
    }
    if (engine.enable_prefix_caching && engine.prefix_cache_retention_interval &&
        engine::mixes_windows(engine.cache_groups)) {
      lines.row(
          "  retention interval",
          report::grouped(engine.prefix_cache_retention_interval->value()),
          fmt::format(
              "cached prefixes end where prompts end or part{}",
              engine.prefix_cache_retention_interval->value() > 0 ? ", or at its multiples" : ""));
    }
  }
  lines.row("block", fmt::format("{:.6g} KiB", plan.block.value() / 1024.0));
  lines.row("tokens",
            report::grouped(scenario::logged_tokens(deployment)),
            fmt::format("\"KV cache size\" of its log; {} of whole sequences",
                        report::grouped(scenario::held_tokens(deployment))));
  lines.row("requests of max_model_len",
            report::significant(scenario::requests_of_longest(deployment)));
  if (const auto length = tokens_of_request(workload)) {
    const double held = requests_held(deployment, *length);
    lines.row(fmt::format("requests of {} tokens", report::grouped(length->value())),
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
                      Lines& lines) {
  const auto& network = deployment.network;
  const auto& gpu = deployment.gpu;
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
  memory_lines(deployment, workload, lines);
}

}  // namespace

std::string explanation_table(const scenario::Resolved& resolved, const report::TextStyle& style) {
  const scenario::WorkloadSection& workload = resolved.workload.section;
  Lines lines;
  for (const auto& warning : resolved.warnings) {
    if (warning.code == deploy::kReadAs) {
      lines.add(fmt::format("read as {}\n\n", report::printable(warning.message, style.ascii)));
    }
  }
  if (resolved.pools.empty()) {
    lines.add(core::escaped(deployment_text(*resolved.deployment)) + '\n');
    deployment_lines(*resolved.deployment, workload, lines);
  }
  for (const scenario::ResolvedPool& pool : resolved.pools) {
    lines.add(fmt::format("{}pool {}: {} of {}\n",
                          &pool == &resolved.pools.front() ? "" : "\n",
                          core::escaped(pool.section.name),
                          report::counted(pool.section.instances, "instance"),
                          core::escaped(deployment_text(*pool.deployment))));
    deployment_lines(*pool.deployment, workload, lines);
  }
  lines.title("settings that are not built-in defaults");
  const scenario::Scenario scenario = resolved.scenario();
  for (const auto& provenance : resolved.provenance) {
    if (provenance.origin != scenario::Provenance::Origin::kDefault) {
      const scenario::Option* option = scenario::find_option(provenance.path);
      lines.row(
          provenance.path,
          scenario::value_text(*option, scenario),
          fmt::format("{} {}", scenario::name(provenance.origin), place_text(provenance.where)));
    }
  }
  lines.title("scenario");
  lines.row("digest", scenario::scenario_digest(scenario), "of all settings, as they hold");
  for (const auto& warning : resolved.warnings) {
    if (warning.code == deploy::kReadAs) {
      continue;  // The first line.
    }
    lines.add(fmt::format("\n{} {}: {}\n  {}\n",
                          style.palette.paint(style.palette.warn, "warning"),
                          warning.code,
                          report::printable(warning.message, style.ascii),
                          report::printable(warning.hint, style.ascii)));
  }
  return lines.finish();
}

}  // namespace ridgeline::verbs
