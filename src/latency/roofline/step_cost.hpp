#pragma once

#include <algorithm>
#include <cstdint>

#include "domain/step.hpp"

namespace ridgeline::latency::roofline {

/// Work of one side of a roofline, for its arithmetic intensity.
struct Work {
  double flops = 0.0;
  double bytes = 0.0;
};

/// One phase of a step (its prefills or its decodes), or the fused whole of an additive step, with
/// both sides of its roofline. Seconds.
struct PhaseCost {
  bool present = false;
  double gemm = 0.0;
  double gemm_compute = 0.0;  ///< GEMMs right of the ridge point.
  double attention = 0.0;
  double attention_compute = 0.0;
  double weights = 0.0;  ///< Reading them.
  double dynamic = 0.0;  ///< Reading and writing KV, and activations.
  Work gemm_work;        ///< FLOPs and weight bytes.
  Work attention_work;   ///< FLOPs and dynamic bytes.
  double share = 1.0;    ///< Share of this phase's time in the step's.

  [[nodiscard]] double compute() const { return gemm + attention; }
  [[nodiscard]] double memory() const { return weights + dynamic; }
  [[nodiscard]] bool memory_wins() const { return memory() > compute(); }
  /// Nothing for a phase without requests.
  [[nodiscard]] double time() const { return present ? std::max(compute(), memory()) : 0.0; }
};

/// A step as V0 to V2 price it.
struct StepCost {
  PhaseCost prefill;
  PhaseCost decode;
  PhaseCost joint;  ///< An additive mixed step, in place of the two.
  double seconds = 0.0;
  double overhead_us = 0.0;  ///< Without communication.
  double all_reduce_us = 0.0;
  double waiting_us = 0.0;  ///< What the step lacks of the shortest that a model allows.
  double micros = 0.0;      ///< The whole step, before rounding.
  std::int64_t rounded_us = 0;
};

/// Combines two phases as V1 does (Mixing::kDefault); `prefill_tokens` and `decode_tokens` decide.
void set_default_shares(StepCost& cost, std::int64_t prefill_tokens, std::int64_t decode_tokens);

/// Adds the overheads (V1's rule) of a step: a constant that grows with the requests, prefill's,
/// and two all-reduces per layer.
struct LegacyOverhead {
  double base_us = 0.0;
  double prefill_us = 0.0;  ///< Per prefill of a step without decodes.
  double mixed_us = 0.0;    ///< Per prefill of a step with some.
};
[[nodiscard]] double legacy_overhead_us(const LegacyOverhead& constants,
                                        std::int64_t prefills,
                                        std::int64_t decodes);

/// Fills waiting_us, micros and rounded_us from the seconds and the overheads; rounds half away
/// from zero.
void finish(StepCost& cost, double minimum_us);

/// What a step-time model says of a batch, in V1's terms.
struct BatchCounts {
  std::int64_t prefills = 0;
  std::int64_t prefill_tokens = 0;
  std::int64_t decodes = 0;
};
[[nodiscard]] BatchCounts counts_of(const domain::StepBatch& batch);

}  // namespace ridgeline::latency::roofline
