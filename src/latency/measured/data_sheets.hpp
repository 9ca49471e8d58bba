#pragma once

#include <string>

#include "latency/measured/peaks.hpp"

namespace ridgeline::latency::measured {

/// What is known of a GPU's dense peaks, in TFLOP/s; 0: nothing.
struct KnownPeaks {
  std::string gpu;  ///< Catalogue name, empty when it has none.
  double bf16 = 0.0;
  double fp8 = 0.0;
  double eight_bit = 0.0;  ///< The greater of FP8 and INT8.

  /// The most that any kernel of these tables can reach.
  [[nodiscard]] double most() const { return bf16 > eight_bit ? bf16 : eight_bit; }
};
[[nodiscard]] KnownPeaks known_peaks(const std::string& gpu);

/// Data sheets are printed with three or four digits: a peak within a thousandth of one is that
/// one.
[[nodiscard]] bool is_peak(const PeakInterval& found, double of_data_sheet);

/// Whether a rate is more than a peak, which may be 0 for one that is not known.
[[nodiscard]] bool is_above(double tflops, double peak_tflops);

/// The data sheets of the catalogue that give a peak found in a table, in words: "the dense BF16
/// peak of h20". Those of `gpu` come first; others are named only for an interval that is narrow
/// enough to tell them apart. Empty where no data sheet does.
[[nodiscard]] std::string data_sheets_of(const PeakInterval& found, const std::string& gpu);

}  // namespace ridgeline::latency::measured
