#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"

/// Steps that were measured one by one, by whichever engine.
namespace ridgeline::evidence::validate {

struct MeasuredStep {
  std::int64_t line = 0;  ///< In its file, from 1.
  double us = 0.0;
  std::int64_t num_decodes = 0;
  core::Tokens decode_context = {};
  std::vector<domain::PrefillChunk> prefills = {};

  /// As a step-time model takes it: the decodes' contexts are alike. `lengths` holds them.
  [[nodiscard]] domain::StepBatch batch(std::vector<core::Tokens>& lengths) const;
  [[nodiscard]] const char* phase() const;
  [[nodiscard]] std::int64_t sequences() const;
  [[nodiscard]] double mean_context() const;  ///< Tokens before the step, of one sequence.
};

/// The steps of a log: ours (`--steps-out`), vLLM's iteration details
/// (`--enable-logging-iteration-details`), forward-pass metrics as JSON lines, or the statistics of
/// SGLang's decode batches.
struct StepTruth {
  std::string form;       ///< "ridgeline", "vllm-iterations", "forward-pass-metrics", "sglang".
  bool with_host = true;  ///< Its times hold the host's work, not the GPU's alone.
  std::vector<MeasuredStep> steps = {};
  std::vector<std::string> assumed = {};
  std::vector<std::string> left_out = {};
};

/// Nothing of a file without any such step. `context`: tokens of each decode where a log does not
/// say them. Fails where the file cannot be read.
[[nodiscard]] core::Result<std::optional<StepTruth>> read_step_truth(const std::string& path,
                                                                     std::int64_t context);

}  // namespace ridgeline::evidence::validate
