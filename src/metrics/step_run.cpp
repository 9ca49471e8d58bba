#include "metrics/step_run.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "core/int128.hpp"
#include "domain/step.hpp"
#include "metrics/series.hpp"

namespace ridgeline::metrics {

using core::Int128;

std::int64_t StepRun::steps_within(std::int64_t ticks, std::int64_t least) const {
  std::int64_t low = least;  // That many do.
  std::int64_t high = record_.steps;
  while (low < high) {
    const std::int64_t middle = low + (high - low + 1) / 2;
    if (length(middle) <= ticks) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

std::array<std::int64_t, domain::kNumBottlenecks> StepRun::growths() const {
  std::array<std::int64_t, domain::kNumBottlenecks> growths{};
  growths[static_cast<std::size_t>(record_.growth_kind)] += record_.gpu_growth.count();
  growths[static_cast<std::size_t>(domain::Bottleneck::kOverhead)] +=
      (record_.period_growth - record_.gpu_growth).count();
  return growths;
}

void StepRun::add_steps(std::int64_t from, std::int64_t to, Window& window) const {
  count_steps(from, to, window);
  const std::int64_t ticks = length(to) - length(from);
  if (ticks == 0) [[unlikely]] {
    return;
  }
  note_extremes(from, to, window);
  window.running += Int128{requests()} * ticks;
  window.kv_tokens += Int128{kv_tokens(0)} * ticks;
  for (std::size_t kind = 0; kind < domain::kNumBottlenecks; ++kind) {
    window.busy[kind] += Int128{record_.time.by_bottleneck[kind].count()} * (to - from);
  }
  add_growth(sum_below(to) - sum_below(from), squares_below(to) - squares_below(from), window);
}

/// In the first x ticks of a step that takes p, the first kinds together get x / p of their time,
/// rounded down: parts of a step add up to it, and kinds to the ticks.
void StepRun::add_part(std::int64_t step,
                       std::int64_t from,
                       std::int64_t to,
                       Window& window) const {
  note_extremes(step, step + 1, window);
  window.running += Int128{requests()} * (to - from);
  window.kv_tokens += Int128{kv_tokens(step)} * (to - from);
  const auto growth = growths();
  const Int128 whole = period(step);
  Int128 kinds = 0;
  std::int64_t before = 0;
  for (std::size_t kind = 0; kind < domain::kNumBottlenecks; ++kind) {
    kinds += record_.time.by_bottleneck[kind].count() + growth[kind] * step;
    const auto through = static_cast<std::int64_t>(kinds * to / whole) -
                         static_cast<std::int64_t>(kinds * from / whole);
    window.busy[kind] += through - before;
    before = through;
  }
}

}  // namespace ridgeline::metrics
