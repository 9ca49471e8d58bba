#include "latency/kernel/notes.hpp"

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::kernel {
namespace {

bool lacks_units(model::DType format, const hardware::GpuSpec& gpu) {
  switch (format) {
    case model::DType::kFp8:
    case model::DType::kMxfp8:
      return gpu.peak_fp8.value() <= 0.0;
    case model::DType::kInt8:
      return gpu.peak_int8.value() <= 0.0;
    case model::DType::kNvfp4:
    case model::DType::kMxfp4:
      return gpu.peak_fp4.value() <= 0.0;
    default:
      return false;
  }
}

void note_once(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    names.push_back(name);
  }
}

/// Formats of weights that the GPU expands, and operators without a table.
struct Findings {
  std::vector<std::string> formats;
  std::vector<std::string> operators;
};

Findings look_through(const model::ModelSpec& network,
                      const hardware::GpuSpec& gpu,
                      const model::Sharding& sharding) {
  Findings found;
  const auto weights = [&](model::DType format) {
    if (lacks_units(format, gpu)) {
      note_once(found.formats, model::name(format));
    }
  };
  for (const model::Operator& op : model::forward_pass(network, sharding)) {
    if (const auto* gemm = std::get_if<model::Gemm>(&op.shape)) {
      weights(gemm->weights);
    } else if (const auto* experts = std::get_if<model::ExpertGemm>(&op.shape)) {
      weights(experts->weights);
    } else if (std::holds_alternative<model::CompressedAttention>(op.shape)) {
      note_once(found.operators, "compressed attention");
    } else if (std::holds_alternative<model::Indexer>(op.shape)) {
      note_once(found.operators, "the indexer of sparse attention");
    } else if (std::holds_alternative<model::AllToAll>(op.shape)) {
      note_once(found.operators, "the exchange between data-parallel ranks");
    }
  }
  return found;
}

}  // namespace

core::Warnings kernel_notes(const model::ModelSpec& network,
                            const hardware::GpuSpec& gpu,
                            const model::Sharding& sharding) {
  core::Warnings notes;
  if (gpu.datasheet_only) {
    notes.push_back(
        {.code = "W-datasheet-only",
         .message = fmt::format("{} is priced by its datasheet alone: every kernel runs at "
                                "peak bandwidth or peak rate, which no real one does",
                                gpu.full_name),
         .hint = "take the times as lower bounds"});
  }
  const Findings found = look_through(network, gpu, sharding);
  if (!found.formats.empty()) {
    notes.push_back(
        {.code = "W-no-units",
         .message = fmt::format("{} has no units for {}: its weights are read small and "
                                "expanded to 16 bits, and multiply at the BF16 rate",
                                gpu.name,
                                fmt::join(found.formats, ", ")),
         .hint = "vLLM does so with its Marlin kernels where it has one for the format"});
  }
  if (!found.operators.empty() && !gpu.datasheet_only) {
    notes.push_back(
        {.code = "W-unfitted",
         .message = fmt::format("priced by formulas that no measured table was fitted on: {}",
                                fmt::join(found.operators, ", ")),
         .hint = "docs/models/kernel.md says which constants they take"});
  }
  return notes;
}

}  // namespace ridgeline::latency::kernel
