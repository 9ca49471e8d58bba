#pragma once

#include <cstdint>
#include <span>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"

namespace ridgeline::latency::kernel {

/// Attention priced from measurements instead of formulas (the step-time model `table`).
class MeasuredAttention {
 public:
  /// The decode kernel over all calls, at a number of sequences: base + slope * context for context
  /// sums in [lowest, highest], exactly.
  struct Piece {
    core::Duration base;
    core::Duration slope;
    std::int64_t lowest = 0;
    std::int64_t highest = 0;
  };

  MeasuredAttention() = default;
  MeasuredAttention(const MeasuredAttention&) = delete;
  MeasuredAttention& operator=(const MeasuredAttention&) = delete;
  MeasuredAttention(MeasuredAttention&&) = delete;
  MeasuredAttention& operator=(MeasuredAttention&&) = delete;
  virtual ~MeasuredAttention() = default;

  /// The piece around a context sum (from 0 to kMaxContext).
  [[nodiscard]] virtual Piece decode(std::int64_t sequences, std::int64_t context) const = 0;
  /// One call of the prefill kernel over the chunks that are not the decode kernel's.
  [[nodiscard]] virtual core::Seconds prefill(
      std::span<const domain::PrefillChunk> chunks) const = 0;
};

}  // namespace ridgeline::latency::kernel
