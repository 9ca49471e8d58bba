#include "verbs/list_choices.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cluster/admission/registry.hpp"
#include "cluster/scaling/registry.hpp"
#include "core/result.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "document/reader.hpp"
#include "engine/schedulers.hpp"
#include "latency/roofline/constants.hpp"
#include "latency/roofline/switches.hpp"
#include "latency/step_time_model.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"
#include "routing/registry.hpp"
#include "scenario/options.hpp"
#include "verbs/list_roadmap.hpp"
#include "verbs/run/registry.hpp"
#include "workload/generate/presets.hpp"
#include "workload/traces/format.hpp"

namespace ridgeline::verbs {
namespace {

using document::list_node;
using document::MapBuilder;

/// What its publication says of a network's size, with the source; null where the file has none.
document::Node published_size(const std::string& name) {
  const auto document = model::find_model_document(name);
  const document::Node* published = document ? document->find("_published") : nullptr;
  return published == nullptr ? document::Node() : *published;
}

ChoiceList list_models() {
  std::vector<Choice> entries;
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
         .facts = MapBuilder()
                      .add("hf_id", network->hf_id)
                      .add("family", network->family)
                      .add("parameters_total", total)
                      .add("parameters_active", active)
                      .add("weight_bytes", model::weight_bytes_per_rank(*network, {}).value())
                      .add("kv_bytes_per_token", kv)
                      .add("state_bytes_per_sequence", state)
                      .add("max_position", network->max_position.value())
                      .add("published", published_size(name))
                      .build()
                      .members()});
  }
  return entries;
}

ChoiceList list_gpus() {
  std::vector<Choice> entries;
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
         .facts = MapBuilder()
                      .add("architecture", gpu->architecture)
                      .add("peak_bf16_flops_per_s", gpu->peak_bf16.value())
                      .add("peak_fp8_flops_per_s", gpu->peak_fp8.value())
                      .add("peak_int8_flops_per_s", gpu->peak_int8.value())
                      .add("peak_fp4_flops_per_s", gpu->peak_fp4.value())
                      .add("mem_bandwidth_bytes_per_s", gpu->mem_bandwidth.value())
                      .add("memory_bytes", gpu->memory.value())
                      .add("usable_memory_bytes", gpu->usable_memory.value())
                      .add("l2_cache_bytes", gpu->l2_cache.value())
                      .add("num_sms", gpu->num_sms)
                      .add("clock_ghz", gpu->clock_ghz)
                      .add("link_bandwidth_bytes_per_s", gpu->link_bandwidth.value())
                      .add("has_nvlink", gpu->has_nvlink)
                      .add("gpus_per_node", gpu->gpus_per_node)
                      .add("link_domain", gpu->link_domain)
                      .add("power_watts",
                           gpu->power_watts > 0.0 ? std::optional(gpu->power_watts) : std::nullopt)
                      .add("datasheet_only", gpu->datasheet_only)
                      .build()
                      .members()});
  }
  return entries;
}

/// The constants that a roofline brings for an H100; in words those of how it is cut over GPUs and
/// of decode's bandwidth, which its review asks for.
void add_constants(const latency::roofline::Preset& preset, Choice& choice) {
  const auto values = latency::roofline::find_constant_set(std::string(preset.constants));
  if (!values) {
    return;
  }
  MapBuilder numbers;
  for (const auto& key : latency::roofline::constant_keys()) {
    if ((*values).*key.member != 0.0) {
      numbers.add(std::string(key.name), (*values).*key.member);
    }
  }
  if (values->tp_exponent > 0.0) {
    choice.summary +=
        fmt::format("; prefill by tp^{}, decode by tp^{}, decodeBwFactor {}",
                    values->tp_exponent,
                    values->decode_tp_exponent > 0.0 ? values->decode_tp_exponent : 1.0,
                    values->decode_bandwidth_factor);
  }
  choice.facts = MapBuilder()
                     .add("constants_set", preset.constants)
                     .add("constants", numbers.build())
                     .build()
                     .members();
}

ChoiceList list_latency() {
  std::vector<Choice> entries;
  for (const auto& entry : latency::step_time_models()) {
    Choice& choice = entries.emplace_back(Choice{.name = entry.name, .summary = entry.summary});
    if (const auto* preset = latency::roofline::find_preset(entry.name)) {
      add_constants(*preset, choice);
    }
  }
  return entries;
}

ChoiceList list_engines() {
  std::vector<Choice> entries;
  for (engine::EngineName& engine : engine::engine_names()) {
    entries.push_back({.name = std::move(engine.name), .summary = std::move(engine.summary)});
  }
  return entries;
}

ChoiceList list_traces() {
  std::vector<Choice> entries;
  for (const auto* format : workload::trace_formats()) {
    entries.push_back({.name = std::string(format->name), .summary = std::string(format->summary)});
  }
  return entries;
}

ChoiceList list_routers() {
  std::vector<Choice> entries;
  for (const auto& router : routing::routers()) {
    std::vector<document::Node> parameters;
    for (const auto& parameter : router.table()) {
      parameters.push_back(MapBuilder()
                               .add("name", parameter.name)
                               .add("kind", parameter.kind())
                               .add("default", parameter.default_text())
                               .add("help", parameter.help)
                               .add("source", parameter.source)
                               .build());
    }
    entries.push_back({.name = std::string(router.name),
                       .summary = fmt::format("{}; as {}", router.summary, router.source),
                       .facts = MapBuilder()
                                    .add("source", router.source)
                                    .add("parameters", list_node(std::move(parameters)))
                                    .build()
                                    .members()});
  }
  return entries;
}

/// All admission choices of a gateway, each with its option.
ChoiceList list_admission() {
  std::vector<Choice> entries;
  const auto add = [&](std::string_view option, const auto& all) {
    for (const auto& one : all) {
      entries.push_back({.name = std::string(one.name),
                         .summary = fmt::format("{}; as {}", one.summary, one.source),
                         .facts = MapBuilder()
                                      .add("option", option)
                                      .add("source", one.source)
                                      .add("simulated", one.make != nullptr)
                                      .build()
                                      .members()});
    }
  };
  add("admission", admission::policies());
  add("saturation-detector", admission::detectors());
  add("fairness-policy", admission::fairness_policies());
  return entries;
}

ChoiceList list_autoscalers() {
  std::vector<Choice> entries;
  for (const auto& scaler : scaling::scalers()) {
    entries.push_back({.name = std::string(scaler.name),
                       .summary = fmt::format("{}; as {}", scaler.summary, scaler.source),
                       .facts = MapBuilder().add("source", scaler.source).build().members()});
  }
  return entries;
}

ChoiceList list_presets() {
  std::vector<Choice> entries;
  for (const auto& preset : workload::workload_presets()) {
    entries.push_back({.name = std::string(preset.name),
                       .summary = fmt::format("{}; from {}", preset.summary, preset.source),
                       .facts = MapBuilder().add("source", preset.source).build().members()});
  }
  return entries;
}

ChoiceList list_formats() {
  std::vector<Choice> entries;
  for (const auto& exporter : exporters()) {
    const std::string files = exporter.extensions.empty()
                                  ? ""
                                  : fmt::format(" ({})", fmt::join(exporter.extensions, ", "));
    entries.push_back({.name = exporter.name, .summary = exporter.summary + files});
  }
  return entries;
}

ChoiceList list_options() {
  std::vector<Choice> entries;
  for (const auto& option : scenario::options()) {
    entries.push_back({.name = std::string(option.path), .summary = std::string(option.help)});
  }
  return entries;
}

constexpr auto kChoiceKinds = std::to_array<ChoiceKind>({{"models", list_models},
                                                         {"gpus", list_gpus},
                                                         {"latency", list_latency},
                                                         {"engines", list_engines},
                                                         {"traces", list_traces},
                                                         {"presets", list_presets},
                                                         {"routers", list_routers},
                                                         {"admission", list_admission},
                                                         {"autoscalers", list_autoscalers},
                                                         {"formats", list_formats},
                                                         {"options", list_options},
                                                         {"roadmap", list_roadmap}});

}  // namespace

std::span<const ChoiceKind> choice_kinds() {
  return kChoiceKinds;
}

core::Result<const ChoiceKind*> find_choice_kind(std::span<const std::string> words) {
  if (words.size() == 1) {
    const auto* const kind = std::ranges::find(kChoiceKinds, words.front(), &ChoiceKind::name);
    if (kind != kChoiceKinds.end()) {
      return kind;
    }
  }
  std::vector<std::string> names;
  names.reserve(kChoiceKinds.size());
  for (const auto& known : kChoiceKinds) {
    names.emplace_back(known.name);
  }
  const auto near = words.empty() ? std::nullopt : document::nearest(words.front(), names);
  return core::fail(core::Error{
      .field = "list",
      .message = fmt::format(
          "found \"{}\", expected one of: {}", fmt::join(words, " "), fmt::join(names, ", ")),
      .where = {.file = "command line"},
      .hint = near ? fmt::format("did you mean '{}'?", *near) : "ridgeline list models"});
}

std::vector<std::string> known_values(std::string_view flag) {
  std::vector<std::string> names;
  if (flag == "model") {
    return model::catalogue_names();
  }
  if (flag == "gpu") {
    return hardware::catalogue_names();
  }
  if (flag == "latency" || flag == "compare") {
    for (const latency::StepTimeModelEntry& entry : latency::step_time_models()) {
      names.emplace_back(entry.name);
    }
  } else if (flag == "engine-version") {
    for (engine::EngineName& engine : engine::engine_names()) {
      names.push_back(std::move(engine.name));
    }
  } else if (flag == "to") {
    for (const workload::TraceFormat* format : workload::trace_formats()) {
      if (format->make_writer != nullptr) {
        names.emplace_back(format->name);
      }
    }
  }
  return names;
}

document::Node choices_tree(const std::vector<Choice>& choices) {
  std::vector<document::Node> items;
  items.reserve(choices.size());
  for (const auto& entry : choices) {
    MapBuilder item;
    item.add("name", entry.name).add("summary", entry.summary);
    for (const document::Node::Member& fact : entry.facts) {
      item.add(fact.key, fact.value);
    }
    items.push_back(item.build());
  }
  return list_node(std::move(items));
}

}  // namespace ridgeline::verbs
