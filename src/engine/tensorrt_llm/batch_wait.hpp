#pragma once

#include <cstdint>

#include "engine/tensorrt_llm/micro_batch.hpp"

namespace ridgeline::engine::tensorrt_llm {

/// Batch waiting (py_executor.py: _waiting_requests): contexts wait beside generations until the
/// step has enough tokens, or has waited for long enough. Off with zeros.
class BatchWait {
 public:
  /// `most_iterations`: batch_wait_timeout_iters; `enough_tokens`: batch_wait_max_tokens_ratio of
  /// max_num_tokens.
  BatchWait(std::int64_t most_iterations, double enough_tokens, std::int64_t tokens_per_step)
      : most_iterations_(most_iterations),
        enough_tokens_(enough_tokens),
        tokens_per_step_(tokens_per_step) {}

  /// Takes the contexts out of a step that waits; it has `members` generations besides.
  void apply(MicroBatch& batch, std::int64_t members = 0);

 private:
  std::int64_t most_iterations_;
  double enough_tokens_;
  std::int64_t tokens_per_step_;
  std::int64_t iterations_ = 0;  ///< Waited so far.
};

}  // namespace ridgeline::engine::tensorrt_llm
