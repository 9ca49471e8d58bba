#include "lab/studies/table_statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "latency/measured/kernel_tables.hpp"

namespace ridgeline::studies {
namespace {

constexpr double kFlopsPerPair = 4.0;  ///< QK^T and AV, a multiplication and an addition each.

double count_of(std::int64_t value) {
  return static_cast<double>(value);
}

}  // namespace

double quantile(std::vector<double> values, double share) {
  if (values.empty()) {
    return 0.0;
  }
  std::ranges::sort(values);
  const double rank = std::ceil(share * static_cast<double>(values.size()));
  return values[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

double gemm_flops(const latency::measured::GemmRow& row) {
  return 2.0 * count_of(row.m) * count_of(row.k) * count_of(row.n);
}

double prefill_flops(const latency::measured::HeadShape& shape,
                     const latency::measured::PrefillRow& row) {
  const double tokens = count_of(row.seq_len);
  return kFlopsPerPair * count_of(shape.heads) * count_of(shape.head_dim) * tokens * tokens / 2.0;
}

double decode_flops(const latency::measured::DecodeTable& table,
                    const latency::measured::DecodeRow& row) {
  const auto& key = table.key();
  return kFlopsPerPair * count_of(key.shape.heads) / count_of(key.tensor_parallel_size) *
         count_of(key.shape.head_dim) * count_of(row.batch_size) * count_of(row.kv_len);
}

double decode_kv_bytes(const latency::measured::DecodeTable& table,
                       const latency::measured::DecodeRow& row) {
  constexpr double kKeysAndValues = 2.0;
  constexpr double kBytesOf16Bits = 2.0;
  const auto& key = table.key();
  return kKeysAndValues * kBytesOf16Bits * count_of(key.shape.kv_heads) /
         count_of(key.tensor_parallel_size) * count_of(key.shape.head_dim) *
         count_of(row.batch_size) * count_of(row.kv_len);
}

}  // namespace ridgeline::studies
