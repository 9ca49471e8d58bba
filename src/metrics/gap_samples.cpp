#include "metrics/gap_samples.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "core/check.hpp"
#include "metrics/order_search.hpp"
#include "metrics/samples.hpp"
#include "metrics/summary.hpp"
#include "statistics/moments.hpp"
#include "statistics/quantile_sketch.hpp"

namespace ridgeline::metrics {

void GapSamples::close() {
  statistics::ArithmeticRun run = std::exchange(open_, kNone);
  if (percentiles_ == Percentiles::kSketch) {
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
  return percentiles_ == Percentiles::kSketch ? sketch_.fingerprint() : moments_.fingerprint();
}

std::optional<Distribution> GapSamples::distribution_ms() {
  close();
  if (percentiles_ == Percentiles::kSketch) {
    return metrics::distribution_ms(sketch_);
  }
  return metrics::distribution_ms(moments_, [this](const auto& visit) {
    constexpr std::array<std::size_t, kNumColumns> kAll = {kFirst, kGrowth, kCount, kRepeat};
    runs_.for_each_block(kAll, [&visit](const auto& columns) {
      visit({.first = columns[kFirst],
             .growth = columns[kGrowth],
             .count = columns[kCount],
             .repeat = columns[kRepeat]});
    });
  });
}

}  // namespace ridgeline::metrics
