#include "latency/kernel/recurrence.hpp"

#include <algorithm>
#include <cstdint>

#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/cost.hpp"
#include "latency/kernel/decode_attention.hpp"
#include "latency/kernel/line_cost.hpp"
#include "latency/kernel/prefill_attention.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::kernel {
namespace {

// Read off ai-dynamo/aiconfigurator's table of gated delta nets on H100 (vLLM 0.24), heads of 128 x
// 128: update and convolution of a decode, scan and convolution of a prompt.
constexpr core::Seconds kUpdateLaunches{6.3e-6};
constexpr double kUpdateBandwidth = 0.88;
constexpr core::Seconds kScanLaunches{13.8e-6};
constexpr double kConvBandwidth = 0.67;
/// Time of one head's scan per token, on a clock of kReferenceClockGhz.
constexpr core::Seconds kScanStep{0.0470e-6};
constexpr double kReferenceClockGhz = 1.755;
constexpr double kReferenceState = 128.0 * 128.0;
constexpr double kStateBytesPer16Bit = 2.0;
/// Decay, two rank-one products and the reading of a state, two FLOPs per multiply-add.
constexpr double kFlopsPerStateElement = 6.0;

double state_elements(const model::Recurrence& shape) {
  return real(shape.heads) * real(shape.key_dim) * real(shape.value_dim);
}

/// State and taps of the convolution, read and written.
core::Bytes update_bytes(const model::Recurrence& shape) {
  constexpr double kReadAndWritten = 2.0;
  const double taps = real(std::max<std::int64_t>(shape.conv_kernel - 1, 0));
  return core::Bytes(kReadAndWritten *
                     (state_elements(shape) * model::bytes_per_element(shape.state) +
                      real(shape.conv_channels) * taps * kStateBytesPer16Bit));
}

core::Flops token_flops(const model::Recurrence& shape) {
  return core::Flops(kFlopsPerStateElement * state_elements(shape));
}

}  // namespace

DecodeLine recurrence_line(const model::Recurrence& shape, const hardware::GpuSpec& gpu) {
  return {.floor = kUpdateLaunches,
          .floor_per_sequence = {},
          .fixed = kUpdateLaunches,
          .per_sequence = update_bytes(shape) / (gpu.mem_bandwidth * kUpdateBandwidth),
          .launched_per_sequence = {},
          .per_token = {},
          .per_context_token = {},
          .kind = domain::Bottleneck::kMemory};
}

Cost recurrence_decode(const DecodeCall& call,
                       const model::Recurrence& shape,
                       const hardware::GpuSpec& gpu) {
  // What the context sum says plays no part.
  const DecodeCall seen{.sequences = call.sequences, .tokens = call.tokens};
  return line_cost(recurrence_line(shape, gpu),
                   seen,
                   token_flops(shape) * real(call.tokens),
                   update_bytes(shape) * real(call.sequences));
}

Cost recurrence_prefill(const PrefillCall& call,
                        const model::Recurrence& shape,
                        const hardware::GpuSpec& gpu) {
  const double state = real(shape.key_dim) * real(shape.value_dim) / kReferenceState;
  const double in_turn = real(shape.heads) * real(call.new_tokens) / real(gpu.num_sms);
  const core::Seconds scan = kScanStep * (kReferenceClockGhz / gpu.clock_ghz) * state *
                             std::max(real(call.longest_new), in_turn);
  const core::Bytes convolved(real(shape.conv_channels) * 2.0 * kStateBytesPer16Bit *
                              real(call.new_tokens));
  const core::Bytes bytes = convolved + update_bytes(shape) * real(call.chunks);
  const core::Seconds streamed = convolved / (gpu.mem_bandwidth * kConvBandwidth);
  return {.time = kScanLaunches + scan + streamed,
          .flops = token_flops(shape) * real(call.new_tokens),
          .bytes = bytes,
          .kind = Terms()
                      .add(domain::Bottleneck::kOverhead, kScanLaunches)
                      .add(domain::Bottleneck::kCompute, scan)
                      .add(domain::Bottleneck::kMemory, streamed)
                      .largest(),
          .losing = {},
          .side = roofline_side(
              token_flops(shape) * real(call.new_tokens), bytes, gpu.peak_bf16, gpu.mem_bandwidth)};
}

}  // namespace ridgeline::latency::kernel
