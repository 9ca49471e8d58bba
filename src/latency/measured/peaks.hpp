#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace ridgeline::latency::measured {

/// One row of a table as far as its MFU goes: mfu = flops / latency / peak, each rounded by the
/// table's writer.
struct MfuRow {
  double flops = 0.0;  ///< By one convention of counting.
  double latency_us = 0.0;
  double mfu = 0.0;
  double latency_step = 0.0;  ///< The last decimal's unit; half of it is the error of rounding.
  double mfu_step = 0.0;
};

/// The last decimal of a column: the coarsest power of ten that every value is a multiple of, not
/// below 1e-12.
[[nodiscard]] double decimal_step(std::span<const double> values);

/// Peaks in TFLOP/s.
struct PeakInterval {
  double low = 0.0;
  double high = 0.0;

  [[nodiscard]] double middle() const { return (low + high) / 2.0; }
};
/// The peaks that a row's MFU may have been divided by. Without an upper end when the MFU may have
/// been 0.
[[nodiscard]] PeakInterval peaks_of(const MfuRow& row);

/// The peak that explains most rows.
struct PeakFit {
  PeakInterval peak;                     ///< Common part of all rows that agree.
  std::vector<std::size_t> disagreeing;  ///< Rows that no peak inside explains.
  std::size_t rows = 0;

  [[nodiscard]] std::size_t agreeing() const { return rows - disagreeing.size(); }
};
/// The peak that explains most rows; among several, the narrowest interval. At least one row.
[[nodiscard]] PeakFit fit_peak(std::span<const MfuRow> rows);

}  // namespace ridgeline::latency::measured
