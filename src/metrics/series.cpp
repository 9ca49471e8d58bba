#include "metrics/series.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "domain/step.hpp"
#include "metrics/slo.hpp"

namespace ridgeline::metrics {

void Window::add(const Window& other) {
  running += other.running;
  kv_tokens += other.kv_tokens;
  waiting += other.waiting;
  running_min = std::min(running_min, other.running_min);
  running_max = std::max(running_max, other.running_max);
  kv_tokens_min = std::min(kv_tokens_min, other.kv_tokens_min);
  kv_tokens_max = std::max(kv_tokens_max, other.kv_tokens_max);
  for (std::size_t kind = 0; kind < domain::kNumBottlenecks; ++kind) {
    busy[kind] += other.busy[kind];
  }
  arrivals += other.arrivals;
  completions += other.completions;
  preemptions += other.preemptions;
  steps += other.steps;
  prefill_tokens += other.prefill_tokens;
  decode_tokens += other.decode_tokens;
  judged += other.judged;
  good += other.good;
  for (std::size_t metric = 0; metric < kNumMetrics; ++metric) {
    within[metric] += other.within[metric];
  }
}

void LatencyHistogram::add(const LatencyHistogram& other) {
  counts.resize(std::max(counts.size(), other.counts.size()));
  for (std::size_t bin = 0; bin < other.counts.size(); ++bin) {
    counts[bin] += other.counts[bin];
  }
}

std::int64_t LatencyHistogram::first_of(std::size_t bin) {
  return bin == 0 ? 0 : static_cast<std::int64_t>(Bins::first(bin + kFirstBin));
}

}  // namespace ridgeline::metrics
