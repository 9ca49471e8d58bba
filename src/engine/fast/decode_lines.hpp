#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "engine/options.hpp"
#include "latency/step_time_model.hpp"

namespace ridgeline::engine::fast {

/// What batches of decodes alone take, by their number: the model's lines, asked for once, and how
/// many batches were taken on each. How their time splits up is added up when somebody asks.
class DecodeLines {
 public:
  /// The time of a batch of some decodes with a context within step.lowest ... step.highest.
  struct Line {
    domain::AffineStep step;
    core::Duration base;  ///< GPU time without context.
    core::Duration cpu;   ///< Host time, with the engine's own.
    std::int64_t batches = 0;
    core::Tokens context;  ///< Of all those batches together.

    [[nodiscard]] core::Duration gpu(core::Tokens at) const {
      return base + step.slope * at.value();
    }
    void count(std::int64_t more, core::Tokens their_context) {
      batches += more;
      context += their_context;
    }
  };

  DecodeLines(const latency::StepTimeModel& model, const HostTime& host)
      : model_(model), host_(host) {}

  /// The line through this context, valid until the next call; nothing if the model has none.
  Line* at(std::int64_t decodes, core::Tokens context) {
    const auto index = static_cast<std::size_t>(decodes);
    if (index < lines_.size()) [[likely]] {
      std::optional<Line>& kept = lines_[index];
      if (kept && context >= kept->step.lowest && context <= kept->step.highest) [[likely]] {
        return &*kept;
      }
    }
    return ask(decodes, context);
  }

  /// Of all batches counted, without the engine's waiting for the host.
  [[nodiscard]] domain::StepTime total() const {
    domain::StepTime sum = settled_;
    for (const std::optional<Line>& line : lines_) {
      if (line) {
        add(*line, sum);
      }
    }
    return sum;
  }

 private:
  static void add(const Line& line, domain::StepTime& sum) {
    sum.add(line.step.base, line.batches);
    sum.add(line.step.slope_kind, line.step.slope * line.context.value());
    sum.cpu += line.cpu * line.batches;
  }
  [[gnu::noinline]] Line* ask(std::int64_t decodes, core::Tokens context) {
    const auto index = static_cast<std::size_t>(decodes);
    if (index >= lines_.size()) {
      lines_.resize(std::max(index + 1, 2 * lines_.size()));
    }
    std::optional<Line>& kept = lines_[index];
    if (kept) {
      add(*kept, settled_);
      kept.reset();
    }
    const auto step = model_.affine(decodes, context);
    if (!step || context < step->lowest || context > step->highest) {
      return nullptr;
    }
    kept = Line{.step = *step,
                .base = step->base.gpu(),
                .cpu = step->base.cpu + host_.per_step + host_.per_sequence * decodes,
                .batches = 0,
                .context = {}};
    return &*kept;
  }

  const latency::StepTimeModel& model_;
  HostTime host_;
  std::vector<std::optional<Line>> lines_;  ///< By number of decodes.
  domain::StepTime settled_;                ///< Of lines that have been replaced.
};

}  // namespace ridgeline::engine::fast
