#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "latency/roofline/switches.hpp"

namespace ridgeline::latency::roofline {
namespace {

constexpr std::string_view kFinalSet = "h100-final";

/// The first published V2 (commit f28954dc): a prefill's GEMMs have a row per request, and its
/// attention one query token per request.
constexpr Switches seed() {
  Switches s;
  s.lookup = Lookup::kFloor;
  s.mixed = Mixing::kDefault;
  s.prefill_m = PrefillRows::kRequests;
  s.attention_length = AttentionLength::kBucket;
  s.decode_attention = DecodeAttention::kMax;
  s.overhead = Overhead::kLegacy;
  s.softmax = true;
  return s;
}

/// Commit 8bea3d46: V1's overheads gone.
constexpr Switches h5(Mixing mixed) {
  Switches s = seed();
  s.overhead = Overhead::kPerLayer;
  s.mixed = mixed;
  return s;
}

constexpr Switches shard(bool fuse_qkv, bool per_component) {
  Switches s = h5(Mixing::kDefault);
  s.softmax = false;
  s.tensor_parallel = TensorParallel::kShard;
  s.fuse_qkv = fuse_qkv;
  s.per_component = per_component;
  return s;
}

/// Token counts in prefill, lookups between rows.
constexpr Switches h29() {
  Switches s = h5(Mixing::kDefault);
  s.lookup = Lookup::kInterpolate;
  s.softmax = false;
  s.prefill_m = PrefillRows::kTokens;
  return s;
}

constexpr Switches h33(DecodeAttention decode) {
  Switches s = h29();
  s.attention_length = AttentionLength::kActual;
  s.mixed = Mixing::kMax;
  s.decode_attention = decode;
  return s;
}

/// Commit 487017bc.
constexpr Switches final_state() {
  Switches s = h33(DecodeAttention::kWeighted);
  s.gemm_floor = true;
  s.minimum_us = 1.0;
  return s;
}

constexpr auto kPresets = std::to_array<Preset>({
    {"v0", "the first roofline: constant MFU, phases added", Version::kV0, "8f29ee0c-h100", {}},
    {"v1", "calibrated roofline of 16 constants", Version::kV1, "69352f6f-h100", {}},
    {"v1-c6e7cf5e", "v1 with the constants of that commit", Version::kV1, "c6e7cf5e-h100", {}},
    {"v1-006cae82", "v1 with the constants of that commit", Version::kV1, "006cae82-h100", {}},
    {"v2-seed", "MFU tables, as first published", Version::kV2, kFinalSet, seed()},
    {"v2-h5-default",
     "v2 with the phases of a mixed step weighted",
     Version::kV2,
     kFinalSet,
     h5(Mixing::kDefault)},
    {"v2-h5-smoothwa",
     "v2 with the phases of a mixed step weighted by tokens",
     Version::kV2,
     kFinalSet,
     h5(Mixing::kSmooth)},
    {"v2-h5-additive",
     "v2 with one GEMM of both phases, attention added",
     Version::kV2,
     kFinalSet,
     h5(Mixing::kAdditive)},
    {"v2-tpsplit", "v2 with one rank's GEMM shapes", Version::kV2, kFinalSet, shard(false, false)},
    {"v2-tpsplit-fuseqkv",
     "v2-tpsplit with Q, K and V in one GEMM",
     Version::kV2,
     kFinalSet,
     shard(true, false)},
    {"v2-tpsplit-percomponent",
     "v2-tpsplit with attention against its KV bytes",
     Version::kV2,
     kFinalSet,
     shard(false, true)},
    {"v2-h29",
     "v2 with prefill's GEMMs by tokens, look-ups between rows",
     Version::kV2,
     kFinalSet,
     h29()},
    {"v2-h33",
     "v2 with lengths as they are, the slower phase wins",
     Version::kV2,
     kFinalSet,
     h33(DecodeAttention::kSum)},
    {"v2-h33-perreq",
     "v2-h33 with every decode's MFU that of a batch of one",
     Version::kV2,
     kFinalSet,
     h33(DecodeAttention::kPerRequest)},
    {"v2-final",
     "v2 as it was shipped: MFU weighted by FLOPs, GEMMs no faster than their weights",
     Version::kV2,
     kFinalSet,
     final_state()},
});

}  // namespace

std::span<const Preset> presets() {
  return kPresets;
}

const Preset* find_preset(std::string_view name) {
  const auto* const preset = std::ranges::find(kPresets, name, &Preset::name);
  return preset == kPresets.end() ? nullptr : preset;
}

}  // namespace ridgeline::latency::roofline
