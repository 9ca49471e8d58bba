#include "engine/loop/step_times.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/units.hpp"
#include "domain/step.hpp"

namespace ridgeline::engine {
namespace {

bool holds(const std::optional<domain::AffineStep>& line, core::Tokens context) {
  return line && context >= line->lowest && context <= line->highest;
}

}  // namespace

const domain::AffineStep* StepTimes::line(std::int64_t decodes, core::Tokens context) {
  const auto index = static_cast<std::size_t>(decodes);
  if (index >= alone_.size()) {
    alone_.resize(index + 1);
  }
  auto& line = alone_[index];
  if (!holds(line, context)) {
    line = model_.affine(decodes, context);
  }
  return holds(line, context) ? &*line : nullptr;
}

/// A line that is used once costs more than it saves: it is asked for at the second step like it.
const domain::AffineStep* StepTimes::line_with_prompt(std::int64_t decodes,
                                                      core::Tokens prompt,
                                                      core::Tokens context) {
  constexpr std::size_t kKept = 256;
  constexpr std::size_t kSpread = 0x9E3B;  // Odd, and large against differences between prompts.
  with_prompt_.resize(kKept);
  WithPrompt& kept = with_prompt_[(static_cast<std::size_t>(decodes) +
                                   static_cast<std::size_t>(prompt.value()) * kSpread) %
                                  kKept];
  if (kept.decodes != decodes || kept.prompt != prompt) {
    kept = {.decodes = decodes, .prompt = prompt};
    return nullptr;
  }
  if (!holds(kept.line, context)) {
    kept.line = model_.affine_with_prompt(decodes, prompt, context);
  }
  return holds(kept.line, context) ? &*kept.line : nullptr;
}

domain::StepTime StepTimes::of(const domain::StepBatch& batch) {
  if (!keeps_lines_ || batch.prefills.size() > 1) {
    return model_.predict(batch);
  }
  const core::Tokens spared = batch.shared_context > core::Tokens(0)
                                  ? model_.spared_context(batch.shared_context)
                                  : core::Tokens(0);
  const core::Tokens context = batch.decode_context - spared;
  const domain::AffineStep* on = nullptr;
  if (context < core::Tokens(0)) {
    return model_.predict(batch);
  }
  if (batch.prefills.empty()) {
    on = line(batch.num_decodes, context);
  } else if (const domain::PrefillChunk& chunk = batch.prefills.front();
             chunk.past == core::Tokens(0) && chunk.samples && chunk.drafts == 0) {
    on = line_with_prompt(batch.num_decodes, chunk.new_tokens, context);
  }
  return on != nullptr ? on->at(context) : model_.predict(batch);
}

void StepTimes::forget() {
  alone_.clear();
  with_prompt_.clear();
}

}  // namespace ridgeline::engine
