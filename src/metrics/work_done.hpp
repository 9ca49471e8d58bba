#pragma once

#include <cstdint>

#include "core/int128.hpp"
#include "domain/record.hpp"

namespace ridgeline::metrics {

/// What the requests of a run had the engine compute, in sums. Work that is done again after a
/// preemption or in a later attempt is not in them.
struct WorkDone {
  std::int64_t prompts = 0;         ///< Computed to their end.
  std::int64_t prompt_tokens = 0;   ///< Prompt tokens computed: without those found in the cache.
  std::int64_t decode_tokens = 0;   ///< Generated after a request's first.
  core::Int128 decode_context = 0;  ///< KV tokens that those steps read, one sum over all.
  /// What a warm-up adds to a summary's output tokens and duration.
  std::int64_t warmup_output_tokens = 0;
  double warmup_s = 0.0;

  void add(const domain::RequestRecord& record) {
    const std::int64_t decodes = record.output_tokens.value() - 1;
    if (decodes < 0) {
      return;
    }
    prompts += 1;
    prompt_tokens += (record.prompt_tokens - record.cached_tokens).value();
    decode_tokens += decodes;
    // The k-th of them reads the prompt and k - 1 tokens of the answer, and writes its own.
    decode_context += core::Int128{decodes} * (record.prompt_tokens.value() * 2 + decodes - 1) / 2;
  }
};

}  // namespace ridgeline::metrics
