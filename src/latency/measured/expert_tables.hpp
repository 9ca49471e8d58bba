#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "latency/measured/kernel_tables.hpp"

namespace ridgeline::latency::measured {

/// Experts of one rank over the tokens routed to them, in InferSim's
/// `grouped_gemm/{prefill,decode}/<gpu>/data.csv`: two grouped GEMMs, into twice the intermediate
/// width (gate and up together) and back.
struct GroupedGemmRow {
  std::int64_t experts = 0;  ///< Experts of the whole network.
  std::int64_t gpus = 0;
  std::int64_t local_experts = 0;
  std::int64_t experts_per_token = 0;
  std::int64_t hidden = 0;
  std::int64_t intermediate = 0;
  std::int64_t tokens_per_gpu = 0;     ///< Prompt tokens or sequences of one GPU.
  std::int64_t tokens_per_expert = 0;  ///< On average, rounded.
  double up_us = 0.0;
  double up_mfu = 0.0;
  double down_us = 0.0;
  double down_mfu = 0.0;
  int line = 0;  ///< In its file, from 1.
};

class GroupedGemmTable {
 public:
  GroupedGemmTable() = default;
  GroupedGemmTable(std::string path, std::vector<GroupedGemmRow> rows);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::span<const GroupedGemmRow> rows() const { return rows_; }  ///< In file order.

 private:
  std::string path_;
  std::vector<GroupedGemmRow> rows_;
};

/// `prefill` says how the column of a GPU's tokens is named: seq_len_per_gpu or batch_size_per_gpu.
[[nodiscard]] Reading<GroupedGemmTable> read_grouped_gemm_table(std::string_view text,
                                                                const std::string& path,
                                                                bool prefill);

/// Heads of latent attention, as names of InferSim's `mla/` files give them: "128-128-64" of
/// prefill are heads, width of a head without and with rotation; "128-512-64" of decode have the
/// latent's width instead, since its queries are brought there.
struct LatentShape {
  std::int64_t heads = 0;
  std::int64_t width = 0;  ///< Width of values, and of queries and keys without rotation.
  std::int64_t rotated = 0;

  /// FLOPs of one query over one key and value, all heads: QK^T over both widths and AV over one,
  /// a multiplication and an addition each.
  [[nodiscard]] double flops_per_pair() const {
    return 2.0 * static_cast<double>(heads) * static_cast<double>(2 * width + rotated);
  }
};

}  // namespace ridgeline::latency::measured
