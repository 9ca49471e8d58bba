#include "latency/measured/check_rows.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "latency/measured/check_kernel.hpp"
#include "latency/measured/data_sheets.hpp"
#include "latency/measured/kernel_tables.hpp"
#include "latency/measured/measured_kernels.hpp"

namespace ridgeline::latency::measured {
namespace {

double as_double(std::int64_t count) {
  return static_cast<double>(count);
}

/// Query, key and value widths of a pair of tokens.
double pair_width(const HeadShape& shape) {
  return as_double(shape.heads) * as_double(shape.head_dim);
}

double most_of(const KnownPeaks& peaks, const std::string& dtype) {
  return is_8bit_type(dtype) ? peaks.most() : peaks.bf16;
}

}  // namespace

const std::vector<std::string>& decode_countings() {
  static const std::vector<std::string> kNames = {
      "query heads of a rank", "query heads of the network", "KV heads of a rank"};
  return kNames;
}

std::vector<CheckedRow> checked_rows(const DecodeTable& table, const KnownPeaks& peaks) {
  const auto rank = rank_shape(table.key().shape, table.key().tensor_parallel_size);
  std::vector<CheckedRow> rows;
  for (const DecodeRow& row : table.rows()) {
    const double pairs = as_double(row.batch_size) * as_double(row.kv_len);
    const double queries = 4.0 * pairs * pair_width(rank);
    rows.push_back({.file = table.path(),
                    .line = row.line,
                    .what = fmt::format("batch {}, kv {}", row.batch_size, row.kv_len),
                    .latency_us = row.latency_us,
                    .mfu = row.mfu,
                    .flops = {queries,
                              4.0 * pairs * pair_width(table.key().shape),
                              queries * as_double(rank.kv_heads) / as_double(rank.heads)},
                    .most_tflops = most_of(peaks, table.key().dtype)});
  }
  return rows;
}

const std::vector<std::string>& prefill_countings() {
  static const std::vector<std::string> kNames = {
      "causal half, query heads", "dense, query heads", "causal half, KV heads"};
  return kNames;
}

std::vector<CheckedRow> checked_rows(const PrefillTable& table, const KnownPeaks& peaks) {
  const double kv_share = as_double(table.shape().kv_heads) / as_double(table.shape().heads);
  std::vector<CheckedRow> rows;
  for (const PrefillRow& row : table.rows()) {
    const double dense =
        4.0 * pair_width(table.shape()) * as_double(row.seq_len) * as_double(row.seq_len);
    rows.push_back({.file = table.path(),
                    .line = row.line,
                    .what = fmt::format("length {}", row.seq_len),
                    .latency_us = row.latency_us,
                    .mfu = row.mfu,
                    .flops = {dense / 2.0, dense, dense * kv_share / 2.0},
                    .most_tflops = most_of(peaks, table.dtype())});
  }
  return rows;
}

const std::vector<std::string>& gemm_countings() {
  static const std::vector<std::string> kNames = {"2 m k n"};
  return kNames;
}

std::vector<CheckedRow> checked_rows(const GemmTable& table, const KnownPeaks& peaks) {
  std::vector<CheckedRow> rows;
  for (const GemmRow& row : table.rows()) {
    // The file does not say its format.
    rows.push_back({.file = table.path(),
                    .line = row.line,
                    .what = fmt::format("m {}, k {}, n {}", row.m, row.k, row.n),
                    .latency_us = row.latency_us,
                    .mfu = row.mfu,
                    .flops = {2.0 * as_double(row.m) * as_double(row.k) * as_double(row.n)},
                    .most_tflops = peaks.most()});
  }
  return rows;
}

}  // namespace ridgeline::latency::measured
