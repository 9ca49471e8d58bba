#pragma once

#include <cstdint>

#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/kernel/cost.hpp"
#include "latency/kernel/decode_attention.hpp"
#include "latency/kernel/prefill_attention.hpp"

namespace ridgeline::latency::kernel {

/// One decode call by a line and a floor, with the work it does: what operators of this shape
/// report.
[[nodiscard]] Cost line_cost(const DecodeLine& line,
                             const DecodeCall& call,
                             core::Flops flops,
                             core::Bytes bytes);

/// `call` as attention sees it that reads at most `window` tokens of a sequence; 0: all of them.
[[nodiscard]] DecodeCall within_window(const DecodeCall& call, std::int64_t window);
/// A chunk's share of a prefill call that reads at most `window` tokens before each new one; with
/// no window, PrefillCall::add.
void add_within_window(PrefillCall& call, const domain::PrefillChunk& chunk, std::int64_t window);

}  // namespace ridgeline::latency::kernel
