#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/arguments.hpp"
#include "cli/commands/verbs.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "cli/help.hpp"
#include "cli/networks_in_folder.hpp"
#include "cli/verb_outputs.hpp"
#include "core/result.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "engine/profiles.hpp"
#include "hardware/gpu_spec.hpp"
#include "latency/step_time_model.hpp"
#include "model/model_spec.hpp"
#include "report/palette.hpp"
#include "report/registry.hpp"
#include "report/result_json.hpp"
#include "report/tree.hpp"
#include "scenario/options.hpp"
#include "workload/generate/presets.hpp"
#include "workload/traces/format.hpp"

namespace ridgeline::cli {
namespace {

/// One thing that can be chosen.
struct Entry {
  std::string name;
  std::string summary;
  std::vector<document::Node::Member> facts = {};  ///< More, for programs.
};
using Entries = core::Result<std::vector<Entry>>;

/// What its publication says of a network's size, with the source; null where the file has none.
document::Node published_size(const std::string& name) {
  const auto document = model::find_model_document(name);
  const document::Node* published = document ? document->find("_published") : nullptr;
  return published == nullptr ? document::Node() : *published;
}

Entries list_models() {
  std::vector<Entry> entries;
  for (const auto& name : model::catalogue_names()) {
    const auto network = model::find_model(name);
    if (!network) {
      return core::fail(network.error());
    }
    const double total = model::total_parameters(*network);
    const double active = model::active_parameters(*network);
    const std::string used =
        active < total ? fmt::format(" ({:.4g} B active)", active / 1e9) : std::string();
    const double kv = model::kv_bytes_per_token_per_rank(*network, {}).value();
    const double state = model::state_bytes_per_rank(*network, {}).value();
    entries.push_back(
        {.name = name,
         .summary =
             fmt::format("{}, {:.4g} B parameters{}, {:.4g} KiB of cache per token, {} tokens",
                         network->family,
                         total / 1e9,
                         used,
                         kv / 1024.0,
                         network->max_position.value()),
         .facts = report::MapBuilder()
                      .add("hf_id", report::text_node(network->hf_id))
                      .add("family", report::text_node(network->family))
                      .add("parameters_total", report::number_node(total))
                      .add("parameters_active", report::number_node(active))
                      .add("weight_bytes",
                           report::number_node(model::weight_bytes_per_rank(*network, {}).value()))
                      .add("kv_bytes_per_token", report::number_node(kv))
                      .add("state_bytes_per_sequence", report::number_node(state))
                      .add("max_position", report::integer_node(network->max_position.value()))
                      .add("published", published_size(name))
                      .build()
                      .members()});
  }
  return entries;
}

Entries list_gpus() {
  std::vector<Entry> entries;
  for (const auto& name : hardware::catalogue_names()) {
    const auto gpu = hardware::find_gpu(name);
    if (!gpu) {
      return core::fail(gpu.error());
    }
    entries.push_back(
        {.name = name,
         .summary = fmt::format("{}, {:.4g} GiB, {:.4g} TB/s, {:.4g} TFLOP/s bf16{}",
                                gpu->full_name,
                                core::as_gibibytes(gpu->memory),
                                gpu->mem_bandwidth.value() / 1e12,
                                gpu->peak_bf16.value() / 1e12,
                                gpu->datasheet_only ? ", datasheet only" : ""),
         .facts =
             report::MapBuilder()
                 .add("architecture", report::text_node(gpu->architecture))
                 .add("peak_bf16_flops_per_s", report::number_node(gpu->peak_bf16.value()))
                 .add("peak_fp8_flops_per_s", report::number_node(gpu->peak_fp8.value()))
                 .add("peak_int8_flops_per_s", report::number_node(gpu->peak_int8.value()))
                 .add("peak_fp4_flops_per_s", report::number_node(gpu->peak_fp4.value()))
                 .add("mem_bandwidth_bytes_per_s", report::number_node(gpu->mem_bandwidth.value()))
                 .add("memory_bytes", report::number_node(gpu->memory.value()))
                 .add("usable_memory_bytes", report::number_node(gpu->usable_memory.value()))
                 .add("l2_cache_bytes", report::number_node(gpu->l2_cache.value()))
                 .add("num_sms", report::integer_node(gpu->num_sms))
                 .add("clock_ghz", report::number_node(gpu->clock_ghz))
                 .add("link_bandwidth_bytes_per_s",
                      report::number_node(gpu->link_bandwidth.value()))
                 .add("has_nvlink", report::bool_node(gpu->has_nvlink))
                 .add("gpus_per_node", report::integer_node(gpu->gpus_per_node))
                 .add("link_domain", report::integer_node(gpu->link_domain))
                 .add("power_watts",
                      report::number_node(gpu->power_watts > 0.0 ? std::optional(gpu->power_watts)
                                                                 : std::nullopt))
                 .add("datasheet_only", report::bool_node(gpu->datasheet_only))
                 .build()
                 .members()});
  }
  return entries;
}

Entries list_latency() {
  std::vector<Entry> entries;
  for (const auto& entry : latency::step_time_models()) {
    entries.push_back({.name = entry.name, .summary = entry.summary});
  }
  return entries;
}

Entries list_engines() {
  std::vector<Entry> entries;
  for (const auto& profile : engine::profiles()) {
    entries.push_back(
        {.name = profile.name,
         .summary = fmt::format("{}", fmt::join(engine::distinctions(profile), "; "))});
  }
  return entries;
}

Entries list_traces() {
  std::vector<Entry> entries;
  for (const auto* format : workload::trace_formats()) {
    entries.push_back({.name = std::string(format->name), .summary = std::string(format->summary)});
  }
  return entries;
}

Entries list_presets() {
  std::vector<Entry> entries;
  for (const auto& preset : workload::workload_presets()) {
    entries.push_back({.name = std::string(preset.name),
                       .summary = fmt::format("{}; from {}", preset.summary, preset.source),
                       .facts = report::MapBuilder()
                                    .add("source", report::text_node(preset.source))
                                    .build()
                                    .members()});
  }
  return entries;
}

Entries list_formats() {
  std::vector<Entry> entries;
  for (const auto& exporter : report::exporters()) {
    const std::string files = exporter.extensions.empty()
                                  ? ""
                                  : fmt::format(" ({})", fmt::join(exporter.extensions, ", "));
    entries.push_back({.name = exporter.name, .summary = exporter.summary + files});
  }
  return entries;
}

Entries list_options() {
  std::vector<Entry> entries;
  for (const auto& option : scenario::options()) {
    entries.push_back({.name = std::string(option.path), .summary = std::string(option.help)});
  }
  return entries;
}

struct Registry {
  std::string_view name;
  Entries (*list)();
};
constexpr auto kRegistries = std::to_array<Registry>({{"models", list_models},
                                                      {"gpus", list_gpus},
                                                      {"latency", list_latency},
                                                      {"engines", list_engines},
                                                      {"traces", list_traces},
                                                      {"presets", list_presets},
                                                      {"formats", list_formats},
                                                      {"options", list_options}});

std::string as_table(const std::vector<Entry>& entries, const report::TextStyle& style) {
  std::size_t width = 0;
  for (const auto& entry : entries) {
    width = std::max(width, entry.name.size());
  }
  std::string text;
  for (const auto& entry : entries) {
    text += fmt::format("{:<{}}  {}\n", entry.name, width, entry.summary);
  }
  return fitted(text, style.width);
}

std::string as_json(const std::vector<Entry>& entries) {
  std::vector<document::Node> items;
  items.reserve(entries.size());
  for (const auto& entry : entries) {
    report::MapBuilder item;
    item.add("name", report::text_node(entry.name))
        .add("summary", report::text_node(entry.summary));
    for (const document::Node::Member& fact : entry.facts) {
      item.add(fact.key, fact.value);
    }
    items.push_back(item.build());
  }
  return report::json_text(report::list_node(std::move(items)));
}

core::Error unknown_registry(const std::vector<std::string>& words) {
  std::vector<std::string> names;
  names.reserve(kRegistries.size());
  for (const auto& registry : kRegistries) {
    names.emplace_back(registry.name);
  }
  const auto near = words.empty() ? std::nullopt : document::nearest(words.front(), names);
  return {.field = "list",
          .message = fmt::format(
              "found \"{}\", expected one of: {}", fmt::join(words, " "), fmt::join(names, ", ")),
          .where = {.file = "command line"},
          .hint = near ? fmt::format("did you mean '{}'?", *near) : "ridgeline list models"};
}

}  // namespace

namespace {

std::vector<FlagSpec> list_flags() {
  std::vector<FlagSpec> flags = {{.name = "path",
                                  .value = "FOLDER",
                                  .help = "With models: the config.json files of a folder, read or "
                                          "refused, instead of the catalogue"}};
  flags.push_back(output_flag());
  for (auto& flag : manner_flags("table|json|markdown")) {
    flags.push_back(std::move(flag));
  }
  return flags;
}

ExitCode list_folder(const std::string& folder, VerbOutputs outputs, const Manners& manners) {
  const auto networks = networks_in_folder(folder);
  if (!networks) {
    return give_up(networks.error(), manners);
  }
  return outputs.put_out(
      [&](std::string_view format, const report::TextStyle& /*style*/) {
        return format == "json"       ? report::json_text(networks_tree(*networks))
               : format == "markdown" ? networks_markdown(*networks)
                                      : networks_table(*networks);
      },
      manners);
}

core::Error without_folder(std::string_view flag) {
  return {.field = std::string(flag),
          .message = "goes with the networks of a folder alone",
          .where = {.file = "command line"},
          .hint = "ridgeline list models --path FOLDER"};
}

}  // namespace

ExitCode list_command(Words words) {
  const Opening opening{.usage = "list models|gpus|latency|engines|traces|presets|formats|options",
                        .about = "Lists what there is to choose from.",
                        .flags = list_flags(),
                        .formats = {"table", "json", "markdown"}};
  Arguments arguments;
  Manners manners;
  if (const auto code = open_verb(opening, words, arguments, manners)) {
    return *code;
  }
  const auto& given = arguments.positionals;
  const auto* const registry = given.size() == 1
                                   ? std::ranges::find(kRegistries, given.front(), &Registry::name)
                                   : kRegistries.end();
  if (registry == kRegistries.end()) {
    return give_up({unknown_registry(given)}, manners);
  }
  const GivenFlag* path = arguments.find("path");
  if (path != nullptr && registry->name != "models") {
    return give_up({without_folder("--path")}, manners);
  }
  // Markdown has the networks of a folder alone.
  std::vector<std::string> formats = opening.formats;
  if (path == nullptr) {
    formats.pop_back();
  }
  auto outputs = VerbOutputs::open(arguments, manners, formats);
  if (!outputs) {
    return give_up(outputs.error(), manners);
  }
  if (path != nullptr) {
    return list_folder(path->value, std::move(*outputs), manners);
  }
  if (manners.format == "markdown") {
    return give_up({without_folder("--format markdown")}, manners);
  }
  const auto entries = registry->list();
  if (!entries) {
    return give_up(entries.error(), manners);
  }
  return outputs->put_out(
      [&](std::string_view format, const report::TextStyle& style) {
        return format == "json" ? as_json(*entries) : as_table(*entries, style);
      },
      manners);
}

}  // namespace ridgeline::cli
