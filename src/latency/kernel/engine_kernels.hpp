#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "core/units.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/step_time_model.hpp"

/// Engines whose kernels differ from vLLM's, which the tables measure (data/latency/engines.yaml).
namespace ridgeline::latency::kernel {

/// Kernels of networks whose classes the engine's own rules name.
struct FamilyKernels {
  std::vector<std::string> families;    ///< model_type of their config.json.
  std::vector<std::string> kernels;     ///< As EngineKernels::kernels, after these.
  std::vector<ModelSetting> step = {};  ///< As EngineKernels::step, after these.
};

/// What an engine's servers do otherwise.
struct EngineKernels {
  std::string name;  ///< As Execution::engine says it.
  /// Sets of GEMMs whose activations are quantised by the kernel before, so that a call begins as
  /// fast as one in 16 bit: names of Column's members.
  std::vector<std::string> fused_quantisation;
  /// What of each kernel's fixed time the kernel before hides (programmatic dependent launch), by
  /// architecture.
  std::vector<std::pair<std::string, core::Seconds>> overlapped;
  /// Its library takes the best tile for an 8-bit GEMM, as for one in 16 bit, where vLLM's takes it
  /// by rows.
  bool best_8bit_tiles = false;
  /// Times the rows that experts compute and move in the tables, whose tokens are spread mildly.
  std::optional<double> uneven_experts = std::nullopt;
  bool takes_deep_gemm = false;    ///< For dense FP8 in blocks, where nothing else is said.
  bool fuses_all_reduce = false;   ///< Its all-reduce computes the norm after it.
  std::vector<ModelSetting> step;  ///< As ModelOptions::settings.
  /// Measured kernels that it takes in place of kernel.yaml's, by their names in
  /// kernel_sets.yaml; a later one comes before an earlier one.
  std::vector<std::string> kernels;
  std::vector<FamilyKernels> by_family;
};

/// What each kernel source of the tables was fitted to (data/latency/kernel_sets.yaml).
struct KernelSet {
  std::string name;
  std::vector<Column> columns;
};

/// Reads such a file; `file` names it in errors.
[[nodiscard]] core::Result<std::vector<EngineKernels>> read_engine_kernels(std::string_view text,
                                                                           const std::string& file);
[[nodiscard]] core::Result<std::vector<KernelSet>> read_kernel_sets(std::string_view text,
                                                                    const std::string& file);

/// What that engine does otherwise: of vLLM's versions ("vllm@0.18.1") the last not above it;
/// nullptr where nothing is said of it.
[[nodiscard]] const EngineKernels* kernels_of(std::string_view engine);
/// The compiled-in constants as the engine of that name has them for networks of that family:
/// builtin_constants() where none is said to differ.
[[nodiscard]] const Constants& constants_of_engine(std::string_view engine,
                                                   std::string_view family = {});
[[nodiscard]] bool takes_deep_gemm(std::string_view engine);
[[nodiscard]] bool fuses_all_reduce(std::string_view engine);

/// `base` as those kernels have it, with the columns of their sets before its own.
[[nodiscard]] core::Result<Constants> with_kernels(const Constants& base,
                                                   const EngineKernels& kernels,
                                                   std::vector<Column> columns = {});

}  // namespace ridgeline::latency::kernel
