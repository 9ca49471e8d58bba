#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "latency/measured/lookup.hpp"
#include "latency/roofline/constants.hpp"
#include "latency/roofline/network.hpp"

namespace ridgeline::latency::roofline {

/// Which formulas: V0 and V1 know one constant MFU per phase, V2 an MFU per kernel shape.
enum class Version : std::uint8_t { kV0, kV1, kV2 };

enum class Lookup : std::uint8_t {
  kFloor,
  kInterpolate,
  kConstant,
  kLog,  ///< Between rows, in the logarithms of rows, batch and length.
};
/// How a step with prefills and decodes combines the two phases' times.
enum class Mixing : std::uint8_t { kDefault, kSmooth, kAdditive, kMax };
/// What the rows of a prefill's GEMMs are.
enum class PrefillRows : std::uint8_t { kRequests, kTokens };
/// Over which length prefill attention is counted.
enum class AttentionLength : std::uint8_t {
  kBucket,  ///< The bucket that holds the request's context.
  kActual,  ///< The context itself.
  kHybrid,  ///< The context, but no less than the smallest bucket.
};
/// FLOPs and MFU of decode attention.
enum class DecodeAttention : std::uint8_t {
  kMax,         ///< Every sequence counts as the longest.
  kSum,         ///< FLOPs summed, MFU of the batch at the longest.
  kPerRequest,  ///< FLOPs summed, each sequence's MFU that of a batch of one.
  kWeighted,    ///< FLOPs summed, MFU the FLOPs-weighted mean of the sequences' at the batch size.
  kRange,       ///< Grouped by bucket of context: per group FLOPs summed, MFU at its longest.
  /// As kRange in four groups (to 2,048, 8,192, 32,768 tokens and beyond), the MFU at the group's
  /// own number of sequences instead of the batch's.
  kRangeCount,
};
enum class TensorParallel : std::uint8_t {
  kDivide,  ///< Times of the whole shapes, divided.
  kShard,   ///< Times of one rank's shapes.
};
enum class Bandwidth : std::uint8_t {
  kOne,       ///< bwEfficiencyFactor.
  kPerPhase,  ///< prefillBwFactor, decodeBwFactor.
  kSplit,     ///< weightBwFactor for weights, kvBwFactor for scattered KV and activations.
  /// Weights 0.9 of the peak; KV and activations 0.4 to 0.7 of it, more with more requests.
  kHybrid,
};
enum class Overhead : std::uint8_t { kLegacy, kPerLayer, kNone };

/// Everything in which the snapshots of V2 differ, and what its review proposed beside.
struct Switches {
  Lookup lookup = Lookup::kInterpolate;
  Mixing mixed = Mixing::kMax;
  PrefillRows prefill_m = PrefillRows::kTokens;
  AttentionLength attention_length = AttentionLength::kActual;
  DecodeAttention decode_attention = DecodeAttention::kWeighted;
  TensorParallel tensor_parallel = TensorParallel::kDivide;
  Bandwidth bandwidth = Bandwidth::kOne;
  Overhead overhead = Overhead::kPerLayer;
  measured::ZeroRule zero_rows = measured::ZeroRule::kPublished;
  bool softmax = false;        ///< Count the softmax's FLOPs in attention.
  bool fuse_qkv = false;       ///< One GEMM for Q, K and V; sharded shapes only.
  bool per_component = false;  ///< Attention against its own KV bytes, layer by layer.
  bool gemm_floor = false;     ///< No GEMM is faster than its weights are read.
  bool lm_head = false;        ///< The last projection, over the sequences that sample.
  bool weights_once = false;   ///< In a mixed step the prefill phase reads no weights.
  ByteFactors byte_factors;
  std::int64_t min_bucket = 512;
  /// FLOPs of prefill attention are divided by this. 1.8 is InferSim's (layers/attn.py, without a
  /// reason); the tables' own definition divides by 2.
  double prefill_attention_divisor = 1.8;
  double minimum_us = 0.0;  ///< Shortest step.

  friend bool operator==(const Switches&, const Switches&) = default;
};

/// Longest bucket of V2, in tokens.
inline constexpr std::int64_t kMaxBucket = 65536;

/// A switch or constant as `--latency-set` names it, with its value in force.
struct SwitchValue {
  std::string key;
  document::Node value;
};
/// All switches, in the order of documentation.
[[nodiscard]] std::vector<SwitchValue> switch_values(const Switches& switches);
/// Names of all switches.
[[nodiscard]] std::span<const std::string_view> switch_names();
/// Sets one. Refuses values that it does not have; false when there is no such switch.
[[nodiscard]] core::Result<bool> set_switch(Switches& switches,
                                            const std::string& key,
                                            const document::Node& value);

/// Whether a constant changes any result under these formulas.
[[nodiscard]] bool has_effect(Version version,
                              const Switches& switches,
                              const Constants& constants,
                              std::string_view key);
/// Whether a switch does: some matter only beside others.
[[nodiscard]] bool switch_has_effect(const Switches& switches, std::string_view key);

/// A published state of the code.
struct Preset {
  std::string_view name;  ///< "v2-final"
  std::string_view summary;
  Version version = Version::kV2;
  std::string_view constants;  ///< Its set on an H100.
  Switches switches;
};
[[nodiscard]] std::span<const Preset> presets();
/// The preset of that name, or nullptr.
[[nodiscard]] const Preset* find_preset(std::string_view name);

}  // namespace ridgeline::latency::roofline
