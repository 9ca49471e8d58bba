#include "latency/kernel/line_cost.hpp"

#include <algorithm>
#include <cstdint>

#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/kernel/cost.hpp"
#include "latency/kernel/decode_attention.hpp"
#include "latency/kernel/prefill_attention.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::kernel {

Cost line_cost(const DecodeLine& line,
               const DecodeCall& call,
               core::Flops flops,
               core::Bytes bytes) {
  const core::Seconds all = line.fixed + line.per_sequence * real(call.sequences) +
                            line.per_token * real(call.tokens) +
                            line.slope(call.sequences, call.is_mixed) *
                                real(call.context + line.padding(call.sequences, call.is_mixed));
  const core::Seconds launched = line.fixed + line.launched_per_sequence * real(call.sequences);
  const core::Seconds touched = line.per_token * real(call.tokens);
  const domain::Bottleneck kind =
      Terms()
          .add(domain::Bottleneck::kOverhead, launched)
          .add(domain::Bottleneck::kMemory, touched)
          .add(line.limit(call.sequences, call.is_mixed), all - launched - touched)
          .largest();
  return above_floor(
      line.floor + line.floor_per_sequence * real(call.sequences), all, kind, flops, bytes);
}

DecodeCall within_window(const DecodeCall& call, std::int64_t window) {
  if (window == 0 || call.sequences == 0) {
    return call;
  }
  DecodeCall limited = call;
  const double most = real(window) * real(call.sequences);
  if (real(call.context) > most) {
    limited.context = window * call.sequences;
    limited.pairs = std::min(call.pairs, real(window) * real(call.tokens));
  }
  return limited;
}

void add_within_window(PrefillCall& call, const domain::PrefillChunk& chunk, std::int64_t window) {
  const std::int64_t tokens = chunk.new_tokens.value();
  const std::int64_t past = chunk.past.value();
  if (window == 0 || past + tokens <= window) {
    call.add(chunk);
    return;
  }
  // The first tokens still see everything, the others a whole window.
  const std::int64_t growing = std::clamp<std::int64_t>(window - past, 0, tokens);
  ++call.chunks;
  call.new_tokens += tokens;
  call.kv_tokens += std::min(past, window) + tokens;
  call.longest = std::max(call.longest, window);
  call.longest_new = std::max(call.longest_new, tokens);
  call.pairs +=
      real(growing) * (real(past) + real(growing) / 2.0) + real(tokens - growing) * real(window);
}

}  // namespace ridgeline::latency::kernel
