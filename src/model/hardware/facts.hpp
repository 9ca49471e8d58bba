#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"
#include "model/hardware/gpu_spec.hpp"

namespace ridgeline::hardware {

/// The keys of a GPU's file whose values differ between two GPUs. Names, `base` and
/// `datasheet_only` are not compared.
[[nodiscard]] std::vector<std::string> differing_facts(const GpuSpec& gpu, const GpuSpec& other);

/// Facts that look like a slip in copying a datasheet (W-odd-gpu): a value below a quarter of the
/// smallest of the catalogue's GPUs or above four times the largest, a narrower format that is
/// slower than BF16, and a peak that is far above what GPUs of the same architecture do per SM and
/// clock, as a peak with sparsity is.
[[nodiscard]] core::Warnings odd_facts(const GpuSpec& gpu);

}  // namespace ridgeline::hardware
