#pragma once

#include <string>
#include <vector>

#include "latency/measured/check_kernel.hpp"
#include "latency/measured/data_sheets.hpp"
#include "latency/measured/kernel_tables.hpp"

namespace ridgeline::latency::measured {

/// Rows of tables as the check sees them, with the FLOPs of each row by every way of counting that
/// a publisher may have meant. The names of the ways stand in the same order.

[[nodiscard]] const std::vector<std::string>& decode_countings();
[[nodiscard]] std::vector<CheckedRow> checked_rows(const DecodeTable& table,
                                                   const KnownPeaks& peaks);

[[nodiscard]] const std::vector<std::string>& prefill_countings();
[[nodiscard]] std::vector<CheckedRow> checked_rows(const PrefillTable& table,
                                                   const KnownPeaks& peaks);

[[nodiscard]] const std::vector<std::string>& gemm_countings();
[[nodiscard]] std::vector<CheckedRow> checked_rows(const GemmTable& table, const KnownPeaks& peaks);

/// The checked rows of all tables of one kind.
template <class Tables>
[[nodiscard]] std::vector<CheckedRow> all_checked_rows(const Tables& tables,
                                                       const KnownPeaks& peaks) {
  std::vector<CheckedRow> all;
  for (const auto& table : tables) {
    const auto rows = checked_rows(table, peaks);
    all.insert(all.end(), rows.begin(), rows.end());
  }
  return all;
}

}  // namespace ridgeline::latency::measured
