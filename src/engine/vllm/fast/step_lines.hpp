#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "engine/options.hpp"
#include "latency/step_time_model.hpp"

namespace ridgeline::engine::vllm::fast {

/// The times of batches of decodes, alone or with one whole prompt. Each line of the model is asked
/// for once; the batches on a line are counted, and total() splits their time by bottleneck.
class StepLines {
 public:
  /// The time of a batch of `decodes` decodes whose context is within lowest ... highest. The
  /// members that each batch reads stand in one cache line.
  struct alignas(64) Line {
    core::Tokens lowest{1};
    core::Tokens highest{0};
    core::Duration base;  ///< GPU time without context.
    core::Duration slope;
    core::Duration cpu;  ///< Host time, with the engine's own.
    std::int64_t batches = 0;
    core::Tokens context;  ///< Sum over these batches.
    std::int32_t decodes = -1;
    std::int32_t prompt = 0;  ///< Tokens of the whole prompt in the same batch.

    [[nodiscard]] bool holds(core::Tokens at) const { return at >= lowest && at <= highest; }
    [[nodiscard]] core::Duration gpu(core::Tokens at) const { return base + slope * at.value(); }
    void count(std::int64_t more, core::Tokens their_context) {
      batches += more;
      context += their_context;
    }
  };

  StepLines(const latency::StepTimeModel& model, const HostTime& host)
      : model_(model), host_(host) {}

  /// The line for this context, valid until the next call; null if the model has none.
  Line* at(std::int64_t decodes, core::Tokens context) {
    const auto index = static_cast<std::size_t>(decodes);
    if (index < alone_.lines.size() && alone_.lines[index].holds(context)) [[likely]] {
      return &alone_.lines[index];
    }
    return ask(decodes, context);
  }

  /// The line for a batch with one whole prompt. Null at the first call with this pair of decodes
  /// and prompt: a line that is used once costs more than it saves.
  Line* at(std::int64_t decodes, std::int64_t prompt, core::Tokens context) {
    const std::size_t place =
        (static_cast<std::size_t>(decodes) + static_cast<std::size_t>(prompt) * kSpread) %
        kPromptLines;
    const auto seen = static_cast<std::uint32_t>(decodes ^ (prompt << kPromptBits));
    if (seen_[place] != seen) {
      seen_[place] = seen;
      return nullptr;
    }
    if (with_prompt_.lines.empty()) [[unlikely]] {
      with_prompt_.resize(kPromptLines);
    }
    Line& line = with_prompt_.lines[place];
    if (line.decodes == decodes && line.prompt == prompt && line.holds(context)) [[likely]] {
      return &line;
    }
    return ask(line, decodes, prompt, context);
  }

  /// The line's time by bottleneck, without the engine's own host time.
  [[nodiscard]] const domain::AffineStep& step_of(const Line& line) const {
    return line.prompt > 0 ? with_prompt_.step_of(line) : alone_.step_of(line);
  }

  /// The model answers otherwise from now on: no line is valid any more.
  void forget() {
    settled_ = total();
    alone_ = {};
    with_prompt_ = {};
    seen_ = {};
  }

  /// The time of all batches counted, without the engine's waits for the host.
  [[nodiscard]] domain::StepTime total() const {
    domain::StepTime sum = settled_;
    for (const Kept* const kept : {&alone_, &with_prompt_}) {
      for (const Line& line : kept->lines) {
        add(line, kept->step_of(line), sum);
      }
    }
    return sum;
  }

 private:
  /// The number of pairs of decodes and prompt that are remembered: a power of two.
  static constexpr std::size_t kPromptLines = 256;
  /// Spreads prompts of similar lengths over the places: odd, and large against their differences.
  static constexpr std::size_t kSpread = 0x9E3B;

  /// Shift that tells most pairs at one place apart.
  static constexpr int kPromptBits = 12;

  struct Kept {
    std::vector<Line> lines;
    std::vector<domain::AffineStep> steps;  ///< The rarely read part of each line.

    void resize(std::size_t size) {
      lines.resize(size);
      steps.resize(size);
    }
    [[nodiscard]] const domain::AffineStep& step_of(const Line& line) const {
      return steps[static_cast<std::size_t>(&line - lines.data())];
    }
    void set(Line& line, const domain::AffineStep& step, const HostTime& host) {
      steps[static_cast<std::size_t>(&line - lines.data())] = step;
      const std::int64_t sequences = line.decodes + (line.prompt > 0 ? 1 : 0);
      line.lowest = step.lowest;
      line.highest = step.highest;
      line.base = step.base.gpu();
      line.slope = step.slope;
      line.cpu = host.of(sequences, step.base.cpu);
    }
  };

  static void add(const Line& line, const domain::AffineStep& step, domain::StepTime& sum) {
    sum.add(step.base, line.batches);
    sum.add(step.slope_kind, step.slope * line.context.value());
    sum.cpu += line.cpu * line.batches;
  }
  /// Adds a line's batches to settled_ and clears it for another pair.
  void settle(const Kept& kept, Line& line, std::int64_t decodes, std::int64_t prompt) {
    add(line, kept.step_of(line), settled_);
    line = {};
    line.decodes = static_cast<std::int32_t>(decodes);
    line.prompt = static_cast<std::int32_t>(prompt);
  }
  [[gnu::noinline]] Line* ask(std::int64_t decodes, core::Tokens context) {
    const auto index = static_cast<std::size_t>(decodes);
    if (index >= alone_.lines.size()) {
      alone_.resize(std::max(index + 1, 2 * alone_.lines.size()));
    }
    Line& line = alone_.lines[index];
    settle(alone_, line, decodes, 0);
    const auto step = model_.affine(decodes, context);
    if (!step || context < step->lowest || context > step->highest) {
      return nullptr;
    }
    alone_.set(line, *step, host_);
    return &line;
  }
  [[gnu::noinline]] Line* ask(Line& line,
                              std::int64_t decodes,
                              std::int64_t prompt,
                              core::Tokens context) {
    settle(with_prompt_, line, decodes, prompt);
    if (line.decodes != decodes || line.prompt != prompt) {
      return nullptr;  // The numbers do not fit 32 bits.
    }
    const auto step = model_.affine_with_prompt(decodes, core::Tokens(prompt), context);
    if (!step || context < step->lowest || context > step->highest) {
      return nullptr;
    }
    with_prompt_.set(line, *step, host_);
    return &line;
  }

  const latency::StepTimeModel& model_;
  const HostTime& host_;
  Kept alone_;        ///< By number of decodes.
  Kept with_prompt_;  ///< By a hash of decodes and prompt; one pair per place.
  std::array<std::uint32_t, kPromptLines> seen_{};  ///< The pair asked for last, by place.
  domain::StepTime settled_;                        ///< Batches of lines that have been replaced.
};

}  // namespace ridgeline::engine::vllm::fast
