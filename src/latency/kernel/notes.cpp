#include "latency/kernel/notes.hpp"

#include <algorithm>
#include <string>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/reader.hpp"
#include "latency/kernel/calibration.hpp"
#include "latency/kernel/cost.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::kernel {
namespace {

bool lacks_units(model::DType format, const hardware::GpuSpec& gpu) {
  switch (format) {
    case model::DType::kFp8:
    case model::DType::kFp8Block:
    case model::DType::kMxfp8:
    case model::DType::kInt4With8Bit:
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

/// Formats of weights that the GPU expands, formats that take another's constants, and operators
/// without a table.
struct Findings {
  std::vector<std::string> formats;
  std::vector<std::string> unmeasured;
  std::vector<std::string> operators;
};

bool has_own_set(model::DType weights, bool experts, const Calibration& calibration) {
  switch (weights) {
    case model::DType::kFp8:
      return true;
    case model::DType::kFp8Block:
      return experts ? calibration.experts_8bit_block.has_value()
                     : calibration.gemm_8bit_block.has_value();
    case model::DType::kNvfp4:
      return experts ? calibration.experts_nvfp4.has_value() : calibration.gemm_nvfp4.has_value();
    case model::DType::kMxfp4:
      return experts && calibration.experts_mxfp4_mxfp8.has_value();
    default:
      return false;
  }
}

/// The format whose constants price weights of that one; empty where they were fitted on it. Tables
/// hold dense products of 16-bit and FP8 weights, and experts with narrow weights besides
/// (docs/models/kernel.md, "Your own constants").
std::string priced_as(model::DType weights,
                      bool experts,
                      const hardware::GpuSpec& gpu,
                      const Calibration& calibration) {
  const MatmulFormat format = matmul_format(weights, gpu);
  if (format.is_8bit) {
    return has_own_set(weights, experts, calibration) ? "" : "fp8";
  }
  const bool narrow = format.weight_bytes < format.activation_bytes;
  return narrow && !experts ? "bf16" : "";
}

Findings look_through(const model::ModelSpec& network,
                      const hardware::GpuSpec& gpu,
                      const model::Sharding& sharding,
                      const Calibration& calibration) {
  Findings found;
  const auto weights = [&](model::DType format, bool experts) {
    if (lacks_units(format, gpu)) {
      note_once(found.formats, model::name(format));
    } else if (const std::string as = priced_as(format, experts, gpu, calibration); !as.empty()) {
      note_once(found.unmeasured, fmt::format("{} takes those of {}", model::name(format), as));
    }
  };
  for (const model::Operator& op : model::forward_pass(network, sharding)) {
    if (const auto* gemm = std::get_if<model::Gemm>(&op.shape)) {
      weights(gemm->weights, false);
    } else if (const auto* experts = std::get_if<model::ExpertGemm>(&op.shape)) {
      weights(experts->weights, true);
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

/// A GPU whose kernels no constant was fitted on.
void note_unmeasured_gpu(const hardware::GpuSpec& gpu,
                         const Calibration& calibration,
                         core::Warnings& notes) {
  const bool is_generic = calibration.column == kGenericColumn;
  notes.push_back(
      {.code = "W-unmeasured-gpu",
       .message = fmt::format(
           "no kernel was measured on {}: it takes {}",
           gpu.name,
           is_generic ? std::string("constants fitted on other GPUs together")
                      : fmt::format("the constants of {}, {}",
                                    calibration.column,
                                    calibration.column == gpu.base ? "its base"
                                                                   : "of the same architecture")),
       .hint = "take the times as estimates, or measure its kernels "
               "(docs/guide/profile-your-gpu.md) and give --latency-constants"});
  const std::vector<std::string>& known = hardware::architectures();
  if (std::find(known.begin(), known.end(), gpu.architecture) == known.end()) {
    const auto near = document::nearest(gpu.architecture, known);
    notes.push_back({.code = "W-unknown-architecture",
                     .message = fmt::format("{}: architecture '{}' is not one of {}",
                                            gpu.name,
                                            gpu.architecture,
                                            fmt::join(known, ", ")),
                     .hint = near ? fmt::format("did you mean '{}'?", *near)
                                  : "no GPU of the catalogue is its relative"});
  }
}

}  // namespace

core::Warnings kernel_notes(const model::ModelSpec& network,
                            const hardware::GpuSpec& gpu,
                            const model::Sharding& sharding,
                            const Calibration& calibration) {
  core::Warnings notes;
  if (gpu.datasheet_only) {
    notes.push_back(
        {.code = "W-datasheet-only",
         .message = fmt::format("a bound, not an estimate: {} is priced by its datasheet alone, "
                                "every kernel at peak bandwidth or peak rate, which no real one "
                                "reaches",
                                gpu.full_name),
         .hint = "take the times as lower bounds"});
  } else if (calibration.column != gpu.name) {
    note_unmeasured_gpu(gpu, calibration, notes);
  }
  const Findings found = look_through(network, gpu, sharding, calibration);
  if (!found.formats.empty()) {
    notes.push_back(
        {.code = "W-no-units",
         .message = fmt::format("{} has no units for {}: its weights are read small and "
                                "expanded to 16 bits, and multiply at the BF16 rate",
                                gpu.name,
                                fmt::join(found.formats, ", ")),
         .hint = "vLLM does so with its Marlin kernels where it has one for the format"});
  }
  if (!found.unmeasured.empty() && !gpu.datasheet_only) {
    notes.push_back({.code = "W-unmeasured-format",
                     .message = fmt::format("no constant was fitted on these formats' kernels: {}",
                                            fmt::join(found.unmeasured, ", ")),
                     .hint = "docs/models/kernel.md says what was measured"});
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
