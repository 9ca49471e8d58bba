#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/units.hpp"
#include "document/reader.hpp"
#include "latency/kernel/kernel_model.hpp"
#include "latency/roofline/roofline_model.hpp"
#include "latency/step_time_model.hpp"
#include "latency/table/table_model.hpp"

namespace ridgeline::latency {
namespace {

std::vector<StepTimeModelEntry> all_models() {
  std::vector<StepTimeModelEntry> models = {
      {.name = "kernel",
       .summary = "sum of per-kernel times from formulas fitted on measured kernels",
       .uses = {.constants = true, .settings = true},
       .make = [](const ModelInputs& inputs) { return kernel::make_kernel_model(inputs); }},
      {.name = "kernel-vllm",
       .summary =
           "kernel with vLLM's kernels, whatever the engine: what other engines' own are worth",
       .uses = {.settings = true},
       .make = kernel::make_vllm_kernel_model},
      {.name = "table",
       .summary = "measured kernel latency, interpolated; the rest by the formulas of kernel",
       .uses = {.bench_data = true},
       .make = table::make_table_model},
  };
  for (auto& entry : roofline::entries()) {
    models.push_back(std::move(entry));
  }
  return models;
}

std::vector<StepTimeModelEntry>& known_models() {
  static std::vector<StepTimeModelEntry> models = all_models();
  return models;
}

core::Errors superfluous(const StepTimeModelEntry& entry, const ModelOptions& options) {
  core::Errors errors;
  const auto refuse = [&](bool given, bool used, const char* field) {
    if (given && !used) {
      errors.push_back(
          {.field = field,
           .message = fmt::format("would be ignored: the model '{}' reads none", entry.name),
           .where = {},
           .hint = "take it out, or choose another model with --latency"});
    }
  };
  refuse(!options.constants.empty(), entry.uses.constants, "latency.constants");
  refuse(!options.bench_data.empty(), entry.uses.bench_data, "latency.bench_data");
  refuse(!options.hardware_config.empty(), entry.uses.hardware_config, "latency.hardware_config");
  refuse(!options.lookup.empty(), entry.uses.lookup, "latency.lookup");
  refuse(!options.settings.empty(), entry.uses.settings, "latency.set");
  return errors;
}

}  // namespace

void settle_rounding(Explanation& explanation) {
  core::Seconds sum;
  for (const OperatorTime& part : explanation.parts) {
    sum += part.time;
  }
  explanation.rounding = core::Seconds(explanation.total.gpu().to_seconds()) - sum;
}

// One line per model; the first is the default.
const std::vector<StepTimeModelEntry>& step_time_models() {
  return known_models();
}

void use_step_time_model(StepTimeModelEntry entry) {
  known_models().push_back(std::move(entry));
}

const StepTimeModelEntry* find_step_time_model(const std::string& name) {
  const auto& models = step_time_models();
  const auto found = std::ranges::find(models, name, &StepTimeModelEntry::name);
  return found == models.end() ? nullptr : &*found;
}

core::Result<std::unique_ptr<StepTimeModel>> make_step_time_model(const std::string& name,
                                                                  const ModelInputs& inputs) {
  if (const StepTimeModelEntry* entry = find_step_time_model(name)) {
    if (auto errors = superfluous(*entry, inputs.options); !errors.empty()) {
      return core::fail(std::move(errors));
    }
    return entry->make(inputs);
  }
  std::vector<std::string> names;
  for (const StepTimeModelEntry& entry : step_time_models()) {
    names.push_back(entry.name);
  }
  const auto meant = document::nearest(name, names);
  return core::fail(core::Error{
      .code = core::ErrorCode::kUsage,
      .field = "latency.name",
      .message = fmt::format(
          "'{}' is not a step-time model, expected one of {}", name, fmt::join(names, ", ")),
      .where = {},
      .hint = meant ? fmt::format("did you mean '{}'?", *meant) : std::string()});
}

}  // namespace ridgeline::latency
