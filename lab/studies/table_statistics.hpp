#pragma once

#include <string>
#include <vector>

#include "document/document.hpp"
#include "latency/measured/kernel_tables.hpp"

namespace ridgeline::studies {

/// The value below which a share of the values lies (nearest rank); 0 of none.
[[nodiscard]] double quantile(std::vector<double> values, double share);

/// FLOPs of one measured call, as its table counts them: a GEMM's multiplications and additions;
/// causal attention of a prompt with half of the square; one rank's query heads in decode.
[[nodiscard]] double gemm_flops(const latency::measured::GemmRow& row);
[[nodiscard]] double prefill_flops(const latency::measured::HeadShape& shape,
                                   const latency::measured::PrefillRow& row);
[[nodiscard]] double decode_flops(const latency::measured::DecodeTable& table,
                                  const latency::measured::DecodeRow& row);
/// Bytes of keys and values that one rank reads, 16 bits each.
[[nodiscard]] double decode_kv_bytes(const latency::measured::DecodeTable& table,
                                     const latency::measured::DecodeRow& row);

}  // namespace ridgeline::studies
