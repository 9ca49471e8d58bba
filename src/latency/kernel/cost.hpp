#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/math.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::kernel {

using core::real;

/// The terms of an operator's formula, each under what it waits for. The largest names what holds
/// the operator up.
class Terms {
 public:
  Terms& add(domain::Bottleneck kind, core::Seconds time) {
    by_kind_[static_cast<std::size_t>(kind)] += time;
    return *this;
  }
  /// Adds the larger side of a hard maximum alone.
  Terms& add_larger(domain::Bottleneck a,
                    core::Seconds time_a,
                    domain::Bottleneck b,
                    core::Seconds time_b) {
    return time_a < time_b ? add(b, time_b) : add(a, time_a);
  }
  /// The largest term; among equals, the first in the order of Bottleneck.
  [[nodiscard]] domain::Bottleneck largest() const {
    return static_cast<domain::Bottleneck>(std::max_element(by_kind_.begin(), by_kind_.end()) -
                                           by_kind_.begin());
  }

 private:
  std::array<core::Seconds, domain::kNumBottlenecks> by_kind_{};
};

/// The side of a hard maximum that did not decide.
struct LosingSide {
  core::Seconds time;
  domain::Bottleneck kind = domain::Bottleneck::kOverhead;
};

/// One call of one operator on one rank.
struct Cost {
  core::Seconds time;
  core::Flops flops;  ///< Matrix products; the few of element-wise kernels are not counted.
  core::Bytes bytes;  ///< To and from GPU memory; of an exchange, its message.
  domain::Bottleneck kind = domain::Bottleneck::kMemory;
  std::optional<LosingSide> losing;
  /// What a run's totals count it as, where that is not `kind`: the side of the roofline on which
  /// its work lies, which does not change with the length of a context.
  std::optional<domain::Bottleneck> side = std::nullopt;
  /// Multiplied beside `flops`, for rows that only fill tiles; as 16-bit products.
  core::Flops padding = {};
  /// Both sides, of products whose time is made of them.
  std::optional<core::Seconds> compute = std::nullopt;
  std::optional<core::Seconds> memory = std::nullopt;
  core::Bytes weights = {};  ///< In `bytes`: those of weights.

  [[nodiscard]] domain::Bottleneck counted_as() const { return side.value_or(kind); }
};

inline constexpr double kBytesPer16Bit = 2.0;

/// How a GPU multiplies matrices whose weights have some format. Formats that it has no units for
/// are expanded to 16 bit on the fly: their weights are read small, their activations and products
/// are 16 bit.
struct MatmulFormat {
  double weight_bytes = 2.0;
  double activation_bytes = 2.0;
  core::FlopsPerSecond peak;
  bool is_8bit = false;           ///< Products are 8-bit, so activations are quantised first.
  const char* products = "bf16";  ///< What is multiplied, whose dense rate `peak` is.
};
[[nodiscard]] MatmulFormat matmul_format(model::DType weights, const hardware::GpuSpec& gpu);

/// A soft maximum: (a^q + b^q)^(1/q) for a, b >= 0. The sum at q = 1, the plain maximum as q grows.
[[nodiscard]] core::Seconds soft_max(core::Seconds a, core::Seconds b, double exponent);

/// Whether a GPU's kernels load through their threads: from Hopper on, a unit of its own copies
/// whole tiles (NVIDIA H100 whitepaper, Tensor Memory Accelerator). vLLM's attention there is
/// FlashAttention 2, and its NVLink switches do not add up (third generation of NVSwitch).
[[nodiscard]] bool is_before_hopper(const hardware::GpuSpec& gpu);

/// What kernels of these constants stream; `Constants` has bandwidth_efficiency and before_hopper,
/// and may have what a multiprocessor works through at most.
template <class Constants>
core::BytesPerSecond streaming_rate(const Constants& constants, const hardware::GpuSpec& gpu) {
  core::BytesPerSecond rate =
      gpu.mem_bandwidth *
      (constants.bandwidth_efficiency * (is_before_hopper(gpu) ? constants.before_hopper : 1.0));
  if constexpr (requires { constants.multiprocessor; }) {
    if (constants.multiprocessor) {
      rate = std::min(rate, *constants.multiprocessor * real(gpu.num_sms));
    }
  }
  return rate;
}

/// What limits streaming_rate(): memory, or compute where the multiprocessors work through less.
template <class Constants>
domain::Bottleneck streaming_limit(const Constants& constants, const hardware::GpuSpec& gpu) {
  if constexpr (requires { constants.multiprocessor; }) {
    Constants unlimited = constants;
    unlimited.multiprocessor.reset();
    if (streaming_rate(constants, gpu) < streaming_rate(unlimited, gpu)) {
      return domain::Bottleneck::kCompute;
    }
  }
  return domain::Bottleneck::kMemory;
}

/// Memory left of the ridge point of a GPU with that peak, where bytes take longer than FLOPs at
/// the datasheet's rates; compute elsewhere.
[[nodiscard]] domain::Bottleneck roofline_side(core::Flops flops,
                                               core::Bytes bytes,
                                               core::FlopsPerSecond peak,
                                               core::BytesPerSecond bandwidth);

/// Work of `kind` that takes `worked`, but never less than `floor`: launches and waiting. The side
/// of the maximum that does not decide is the losing one.
[[nodiscard]] Cost above_floor(core::Seconds floor,
                               core::Seconds worked,
                               domain::Bottleneck kind,
                               core::Flops flops,
                               core::Bytes bytes);

}  // namespace ridgeline::latency::kernel
