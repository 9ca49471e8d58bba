#include "metrics/gap_samples.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/statistics/moments.hpp"
#include "core/statistics/quantile_sketch.hpp"
#include "metrics/fine_counts.hpp"
#include "metrics/order_search.hpp"
#include "metrics/samples.hpp"
#include "metrics/summary.hpp"

namespace ridgeline::metrics {

void GapSamples::close() {
  statistics::ArithmeticRun run = std::exchange(open_, kNone);
  if (percentiles_ != Percentiles::kExact) {
    sketch_.add(run);
    return;
  }
  moments_.add(run);
  if (run.count == 0 || run.repeat == 0) {
    return;
  }
  if (run.growth < 0) {
    run.first += run.growth * (run.count - 1);
    run.growth = -run.growth;
  }
  RIDGELINE_CHECK(run.first >= 0, "a negative gap between tokens");
  runs_.push_back({run.first, run.growth, run.count, run.repeat});
}

statistics::Fingerprint GapSamples::fingerprint() {
  close();
  return percentiles_ != Percentiles::kExact ? sketch_.fingerprint() : moments_.fingerprint();
}

std::optional<Distribution> GapSamples::distribution_ms(std::vector<double>* curve) {
  close();
  if (percentiles_ != Percentiles::kExact) {
    if (curve != nullptr) {
      *curve = quantiles_ms(sketch_);
    }
    return metrics::distribution_ms(sketch_);
  }
  FineCounts counts;
  bool counted = curve == nullptr;
  const auto distribution = metrics::distribution_ms(moments_, [&](const auto& visit) {
    constexpr std::array<std::size_t, kNumColumns> kAll = {kFirst, kGrowth, kCount, kRepeat};
    runs_.for_each_block(kAll, [&](const auto& columns) {
      const RunBlock block = {.first = columns[kFirst],
                              .growth = columns[kGrowth],
                              .count = columns[kCount],
                              .repeat = columns[kRepeat]};
      if (!counted) {
        counts.add(block);
      }
      visit(block);
    });
    counted = true;
  });
  if (curve != nullptr && distribution) {
    *curve = counts.quantiles_ms(*distribution);
  }
  return distribution;
}

}  // namespace ridgeline::metrics
