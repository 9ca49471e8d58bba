#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/kernel/measured_attention.hpp"
#include "latency/measured/measured_kernels.hpp"
#include "latency/measured/surfaces.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::table {

/// Which tables stand for a rank's attention.
struct AttentionTables {
  const measured::MeasuredDecode* decode = nullptr;
  std::vector<const measured::MeasuredPrefill*> prefill;  ///< Tables of the nearest head dimension.
};
/// Decode: the nearest bytes per KV token, then the nearest query heads. Prefill: all tables of the
/// nearest head dimension and, of each head count, the nearest KV heads. KV caches of other width
/// only where there is none of the right one. There is at least one of each.
[[nodiscard]] AttentionTables choose_tables(const measured::MeasuredKernels& measured,
                                            const model::Attention& shape);

/// One layer kind's attention from tables. Contexts are scaled by KV bytes to those of the table's
/// heads, so that the context sum is what counts.
class TableAttention final : public kernel::MeasuredAttention {
 public:
  TableAttention(const AttentionTables& chosen,
                 const model::Attention& shape,
                 std::int64_t calls,
                 core::Tokens short_chunk,
                 core::BytesPerSecond kv_bandwidth);

  [[nodiscard]] Piece decode(std::int64_t sequences, std::int64_t context) const override;
  [[nodiscard]] core::Seconds prefill(std::span<const domain::PrefillChunk> chunks) const override;
  [[nodiscard]] const std::string& decode_source() const { return decode_source_; }
  [[nodiscard]] const std::string& prefill_source() const { return prefill_source_; }

  [[nodiscard]] const measured::DecodeSurface& decode_surface() const { return surface_; }
  [[nodiscard]] const measured::PrefillCurve& prefill_curve() const { return curve_; }

 private:
  [[nodiscard]] std::int64_t knot(std::int64_t sequences, std::size_t tick) const;
  [[nodiscard]] core::Duration at_knot(const measured::DecodeSurface::Place& place,
                                       std::size_t tick) const;

  measured::DecodeSurface surface_;
  measured::PrefillCurve curve_;
  std::string decode_source_;
  std::string prefill_source_;
  std::int64_t calls_;
  std::vector<double> ticks_;  ///< The table's contexts, as ones of equal bytes in our heads.
  core::Tokens short_chunk_;
  core::Seconds kv_token_;  ///< Least time to read one token's keys and values.
};

}  // namespace ridgeline::latency::table
