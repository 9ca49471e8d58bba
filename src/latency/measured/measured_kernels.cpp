#include "latency/measured/measured_kernels.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "latency/measured/kernel_tables.hpp"
#include "latency/measured/operator_tables.hpp"
#include "latency/measured/table_notes.hpp"
#include "model/hardware/gpu_spec.hpp"

namespace ridgeline::latency::measured {
namespace {

constexpr double kFlopsPerMac = 2.0;
constexpr double kSecondsPerMicrosecond = 1e-6;
/// Three decimals of an MFU are within 5 % from here on.
constexpr double kTellingMfu = 0.01;
/// A row is called an outlier when a harder one is this much faster.
constexpr double kOutlierRatio = 1.05;

double achieved(const GemmRow& row) {
  return kFlopsPerMac * static_cast<double>(row.m) * static_cast<double>(row.k) *
         static_cast<double>(row.n) / (row.latency_us * kSecondsPerMicrosecond);
}

}  // namespace

bool is_8bit_type(const std::string& dtype) {
  return dtype.starts_with("fp8") || dtype.starts_with("int8");
}

bool is_8bit_table(const GemmTable& table, const hardware::GpuSpec& gpu) {
  const double peak_16bit = gpu.peak_bf16.value();
  const double peak_8bit = std::max(gpu.peak_fp8.value(), gpu.peak_int8.value());
  if (!(peak_8bit > 0.0)) {
    return false;
  }
  std::vector<double> peaks;
  double fastest = 0.0;
  for (const GemmRow& row : table.rows()) {
    fastest = std::max(fastest, achieved(row));
    if (row.mfu >= kTellingMfu) {
      peaks.push_back(achieved(row) / row.mfu);
    }
  }
  if (peaks.empty() || fastest > peak_16bit) {
    return fastest > peak_16bit;
  }
  const auto middle = peaks.begin() + static_cast<std::ptrdiff_t>(peaks.size() / 2);
  std::ranges::nth_element(peaks, middle);
  return std::abs(*middle / peak_8bit - 1.0) < std::abs(*middle / peak_16bit - 1.0);
}

bool first_row_is_outlier(const DecodeTable& table) {
  const auto rows = table.rows();
  if (rows.empty()) {
    return false;
  }
  const DecodeRow& first = rows.front();
  return std::ranges::any_of(rows, [&](const DecodeRow& row) {
    return row.batch_size >= first.batch_size && row.kv_len >= first.kv_len &&
           row.latency_us * kOutlierRatio <= first.latency_us;
  });
}

HeadShape rank_shape(const HeadShape& shape, std::int64_t tensor_parallel_size) {
  return {.heads = std::max<std::int64_t>(1, shape.heads / tensor_parallel_size),
          .kv_heads = std::max<std::int64_t>(1, shape.kv_heads / tensor_parallel_size),
          .head_dim = shape.head_dim};
}

MeasuredKernels measured_from(const KernelTables& tables, const hardware::GpuSpec& gpu) {
  MeasuredKernels measured;
  MeasuredGemm& gemm = measured.gemms.emplace_back();
  gemm.source = tables.gemm.path();
  gemm.is_8bit = is_8bit_table(tables.gemm, gpu);
  for (const GemmRow& row : tables.gemm.rows()) {
    gemm.points.push_back({.m = row.m, .k = row.k, .n = row.n, .us = row.latency_us});
  }
  for (const PrefillTable& table : tables.prefill) {
    MeasuredPrefill& prefill = measured.prefills.emplace_back();
    prefill.source = table.path();
    prefill.shape = table.shape();
    prefill.kv_8bit = is_8bit_type(table.dtype());
    for (const PrefillRow& row : table.rows()) {
      prefill.points.push_back({.seq_len = row.seq_len, .us = row.latency_us});
    }
  }
  for (const DecodeTable& table : tables.decode) {
    MeasuredDecode& decode = measured.decodes.emplace_back();
    decode.source = table.path();
    decode.shape = rank_shape(table.key().shape, table.key().tensor_parallel_size);
    decode.kv_8bit = is_8bit_type(table.key().kv_dtype);
    decode.host_timed = true;
    const bool skip_first = first_row_is_outlier(table) && table.rows().size() > 1;
    for (const DecodeRow& row : table.rows().subspan(skip_first ? 1 : 0)) {
      decode.points.push_back(
          {.batch_size = row.batch_size, .kv_len = row.kv_len, .us = row.latency_us});
    }
  }
  return measured;
}

core::Result<MeasuredKernels> load_measured_kernels(const std::string& directory,
                                                    const hardware::GpuSpec& gpu) {
  if (holds_operator_tables(directory)) {
    return load_operator_tables(directory, gpu);
  }
  const auto tables = load_bench_data(directory, gpu.name);
  if (!tables) {
    return core::fail(tables.error());
  }
  MeasuredKernels measured = measured_from(*tables, gpu);
  const auto notes = notes_of(*tables);
  measured.notes.insert(measured.notes.end(), notes.begin(), notes.end());
  return measured;
}

}  // namespace ridgeline::latency::measured
