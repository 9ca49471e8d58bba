#pragma once

#include <optional>

namespace ridgeline::metrics {

/// What the GPUs drew, in watts of one GPU. `low` and `high` are equal where its own law is known.
struct PowerSummary {
  double mean = 0.0;  ///< Over the run's duration, with the time between steps.
  double low = 0.0;
  double high = 0.0;
  std::optional<double> decode;                   ///< In steps, but for what prompts add to them.
  std::optional<double> prefill;                  ///< In the time that prompts add.
  double idle = 0.0;                              ///< Between steps.
  bool own_law = false;                           ///< The GPU's own law was measured.
  std::optional<double> joules_per_output_token;  ///< All GPUs together.
};

}  // namespace ridgeline::metrics
