#pragma once

#include <cstdint>

#include "core/ids.hpp"
#include "engine/options.hpp"

namespace ridgeline::engine {

/// How many of `drafts` drafts the network accepts at a request's `draw`-th verification (from 0):
/// those before the first that a draw against the acceptance curve rejects. A function of the
/// options' seed, the request and the draw alone, so that every engine sees the same.
[[nodiscard]] std::int64_t accepted_drafts(const EngineOptions& options,
                                           core::RequestId request,
                                           std::int64_t draw,
                                           std::int64_t drafts);

/// Tokens per verification to expect of that many drafts: 1 + a1 + a1 a2 + ..., the next token and
/// each draft with the probability that it and all before it are accepted.
[[nodiscard]] double expected_tokens(const EngineOptions& options, std::int64_t drafts);

}  // namespace ridgeline::engine
