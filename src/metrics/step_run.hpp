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

  /// Steps from number `from` to before `to`, all in one window.
  void add_steps(std::int64_t from, std::int64_t to, Window& window) const;
  /// Of one step the ticks from `from` to before `to`, without what counts where it ends.
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
  void note_extremes(std::int64_t from, std::int64_t to, Window& window) const;
  /// Ticks that a step's time of each kind grows by from one step to the next.
  [[nodiscard]] std::array<std::int64_t, domain::kNumBottlenecks> growths() const;

  const domain::StepRecord& record_;
};

}  // namespace ridgeline::metrics
