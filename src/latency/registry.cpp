#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/reader.hpp"
#include "core/result.hpp"
#include "latency/kernel/kernel_model.hpp"
#include "latency/step_time_model.hpp"

namespace ridgeline::latency {

// One line per model; the first is the default.
const std::vector<StepTimeModelEntry>& step_time_models() {
  static const std::vector<StepTimeModelEntry> kModels = {
      {.name = "kernel",
       .summary = "sum of per-kernel times from formulas fitted on measured kernels",
       .make = kernel::make_kernel_model},
  };
  return kModels;
}

core::Result<std::unique_ptr<StepTimeModel>> make_step_time_model(const std::string& name,
                                                                  const ModelInputs& inputs) {
  std::vector<std::string> names;
  for (const StepTimeModelEntry& entry : step_time_models()) {
    if (entry.name == name) {
      return entry.make(inputs);
    }
    names.push_back(entry.name);
  }
  const auto meant = core::nearest(name, names);
  return core::fail(core::Error{
      .code = core::ErrorCode::kUsage,
      .field = "latency.name",
      .message = fmt::format(
          "'{}' is not a step-time model, expected one of {}", name, fmt::join(names, ", ")),
      .where = {},
      .hint = meant ? fmt::format("did you mean '{}'?", *meant) : std::string()});
}

}  // namespace ridgeline::latency
