#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"

namespace ridgeline::verbs {

/// One step's work as the flags of `step` give it. Owns what a StepBatch only points at.
struct BatchText {
  std::vector<core::Tokens> decodes;  ///< KV lengths before the step.
  std::vector<domain::PrefillChunk> prefills;

  [[nodiscard]] domain::StepBatch batch() const;
};

/// Reads `--decode CTX[xCOUNT],...` and `--prefill PAST+NEW[xCOUNT],...`; either may be empty, not
/// both. Every malformed item is noted.
[[nodiscard]] core::Result<BatchText> parse_batch(std::string_view decode,
                                                  std::string_view prefill,
                                                  bool samples);

/// Makes every decode of the batch a verification of `drafts` drafts, as an engine forms it; 0
/// changes nothing.
[[nodiscard]] BatchText with_drafts(BatchText text, std::int64_t drafts);

}  // namespace ridgeline::verbs
