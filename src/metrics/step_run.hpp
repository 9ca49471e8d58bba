#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/int128.hpp"
#include "domain/record.hpp"
#include "domain/step.hpp"
#include "metrics/series.hpp"

namespace ridgeline::metrics {

/// The steps of a record as sums over any of them: what each adds to the windows of a series, the
/// same however steps were put together in records.
class StepRun {
 public:
  /// `record` outlives it.
  explicit StepRun(const domain::StepRecord& record) : record_(record) {}

  /// From the start of the first step to the end of the first `steps` of them, in ticks.
  [[nodiscard]] std::int64_t length(std::int64_t steps) const {
    return record_.period.count() * steps +
           record_.period_growth.count() * (steps * (steps - 1) / 2);
  }
  [[nodiscard]] std::int64_t period(std::int64_t step) const {
    return record_.period.count() + record_.period_growth.count() * step;
  }
  /// How many of the first steps, at least `least`, end within `ticks` of the start.
  [[nodiscard]] std::int64_t steps_within(std::int64_t ticks, std::int64_t least) const;

  [[nodiscard]] std::int64_t steps() const { return record_.steps; }

  /// All steps, which take `ticks`, at least 1, and lie in one window: add_steps() in fewer
  /// instructions, as nearly every record comes here.
  void add_all(std::int64_t ticks, Window& window) const {
    const std::int64_t steps = record_.steps;
    // What steps have beyond the first of them, weighted with their ticks, is less than the product
    // of these two: in 64 bits, in which sums may wrap on the way to it.
    constexpr std::int64_t kFewSteps = std::int64_t{1} << 20;
    constexpr std::int64_t kFewTicks = std::int64_t{1} << 43;
    if (steps >= kFewSteps || ticks >= kFewTicks) [[unlikely]] {
      add_steps(0, steps, window);
      return;
    }
    count_steps(0, steps, window);
    note_extremes(0, steps, window);
    window.running += core::Int128{requests()} * ticks;
    core::Int128 kv = core::Int128{kv_tokens(0)} * ticks;
    for (std::size_t kind = 0; kind < domain::kNumBottlenecks; ++kind) {
      window.busy[kind] += core::Int128{record_.time.by_bottleneck[kind].count()} * steps;
    }
    if (steps > 1) {
      const std::int64_t numbers = sum_below(steps);
      add_growing_time(numbers, window);
      const auto sum = static_cast<std::uint64_t>(numbers);
      const std::uint64_t squares = sum * static_cast<std::uint64_t>(2 * steps - 1) / 3;
      const auto weighted = static_cast<std::int64_t>(
          static_cast<std::uint64_t>(record_.period.count()) * sum +
          static_cast<std::uint64_t>(record_.period_growth.count()) * squares);
      kv += core::Int128{record_.num_decodes} * weighted;
    }
    window.kv_tokens += kv;
  }
  /// Steps from number `from` to before `to`, all in one window.
  void add_steps(std::int64_t from, std::int64_t to, Window& window) const;
  /// Adds the ticks of one step from `from` to before `to`, without what counts where it ends.
  void add_part(std::int64_t step, std::int64_t from, std::int64_t to, Window& window) const;
  /// What counts where a step ends.
  void count_steps(std::int64_t from, std::int64_t to, Window& window) const {
    const std::int64_t steps = to - from;
    window.steps += steps;
    window.prefill_tokens += record_.prefill_tokens.value() * steps;
    window.decode_tokens += record_.num_decodes * steps;
  }

 private:
  /// Requests of each batch.
  [[nodiscard]] std::int64_t requests() const { return record_.num_decodes + record_.num_prefills; }
  /// Tokens whose KV the batch holds when the step ends.
  [[nodiscard]] std::int64_t kv_tokens(std::int64_t step) const {
    return (record_.decode_context - record_.shared_context + record_.prefill_context +
            record_.prefill_tokens)
               .value() +
           record_.num_decodes * (step + 1);
  }
  /// 0 + 1 + ... below `n`, and of the squares.
  static constexpr std::int64_t sum_below(std::int64_t n) { return n * (n - 1) / 2; }
  static constexpr core::Int128 squares_below(std::int64_t n) {
    return core::Int128{n} * (n - 1) * (core::Int128{2} * n - 1) / 6;
  }
  /// What steps have beyond as many of the first one, of the sum of their numbers and of the
  /// squares of these: step i takes p + g i ticks and holds num_decodes times i tokens more.
  void add_growth(std::int64_t numbers, core::Int128 squares, Window& window) const {
    add_growing_time(numbers, window);
    const core::Int128 weighted = core::Int128{record_.period.count()} * numbers +
                                  core::Int128{record_.period_growth.count()} * squares;
    window.kv_tokens += core::Int128{record_.num_decodes} * weighted;
  }
  void add_growing_time(std::int64_t numbers, Window& window) const {
    window.busy[static_cast<std::size_t>(record_.growth_kind)] +=
        core::Int128{record_.gpu_growth.count()} * numbers;
    window.busy[static_cast<std::size_t>(domain::Bottleneck::kOverhead)] +=
        core::Int128{(record_.period_growth - record_.gpu_growth).count()} * numbers;
  }
  /// Few steps are the least or the greatest of their window.
  void note_extremes(std::int64_t from, std::int64_t to, Window& window) const {
    if (requests() < window.running_min) [[unlikely]] {
      window.running_min = requests();
    }
    if (requests() > window.running_max) [[unlikely]] {
      window.running_max = requests();
    }
    if (kv_tokens(from) < window.kv_tokens_min) [[unlikely]] {
      window.kv_tokens_min = kv_tokens(from);
    }
    if (kv_tokens(to - 1) > window.kv_tokens_max) [[unlikely]] {
      window.kv_tokens_max = kv_tokens(to - 1);
    }
  }
  /// Ticks that a step's time of each kind grows by from one step to the next.
  [[nodiscard]] std::array<std::int64_t, domain::kNumBottlenecks> growths() const;

  const domain::StepRecord& record_;
};

}  // namespace ridgeline::metrics
