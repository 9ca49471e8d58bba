#include "model/operators.hpp"

#include <algorithm>
#include <cstdint>
#include <variant>

#include "core/check.hpp"
#include "core/math.hpp"
#include "core/units.hpp"

namespace ridgeline::model {
namespace {

/// Norm weights and biases stay in 16 bits in every published checkpoint, quantised ones included.
constexpr double kUnquantisedBytes = 2.0;

using core::real;

/// What one call stores: elements in the operator's own format, and elements that are never
/// quantised.
struct Stored {
  double elements = 0.0;
  double bytes_each = 0.0;
  double unquantised = 0.0;
};

Stored stored(const Gemm& gemm) {
  if (gemm.tied) {
    return {};
  }
  return {.elements = real(gemm.k) * real(gemm.n),
          .bytes_each = bytes_per_element(gemm.weights),
          .unquantised = gemm.bias ? real(gemm.n) : 0.0};
}

Stored stored(const ExpertGemm& moe) {
  // Every matrix but the last gives rows of the expert's width.
  const double biases = real(moe.matrices - 1) * real(moe.width) + real(moe.hidden);
  return {.elements =
              real(moe.matrices) * real(moe.experts_on_rank) * real(moe.hidden) * real(moe.width),
          .bytes_each = bytes_per_element(moe.weights),
          .unquantised = moe.bias ? real(moe.experts_on_rank) * biases : 0.0};
}

Stored stored(const Embedding& embedding) {
  return {.elements = real(embedding.vocab) * real(embedding.width),
          .bytes_each = bytes_per_element(embedding.weights)};
}

Stored stored(const Norm& norm) {
  return {.unquantised = real(norm.width)};
}

Stored stored(const Resident& resident) {
  return {.elements = resident.elements, .bytes_each = bytes_per_element(resident.weights)};
}

Stored stored(const Attention& /*shape*/) {
  return {};
}
Stored stored(const LatentAttention& /*shape*/) {
  return {};
}
Stored stored(const CompressedAttention& /*shape*/) {
  return {};
}
Stored stored(const Indexer& /*shape*/) {
  return {};
}
Stored stored(const Recurrence& /*shape*/) {
  return {};
}
Stored stored(const AllToAll& /*shape*/) {
  return {};
}
Stored stored(const LayerElementwise& /*shape*/) {
  return {};
}
Stored stored(const AllReduce& /*shape*/) {
  return {};
}
Stored stored(const Sampling& /*shape*/) {
  return {};
}

Stored stored(const Operator& op) {
  return std::visit([](const auto& shape) { return stored(shape); }, op.shape);
}

}  // namespace

double bytes_per_element(DType type) {
  switch (type) {
    case DType::kFp32:
      return 4.0;
    case DType::kBf16:
    case DType::kFp16:
      return 2.0;
    case DType::kFp8:
    case DType::kFp8Block:
    case DType::kInt8:
      return 1.0;
    case DType::kInt4:
    case DType::kInt4With8Bit:
      return 0.5 + 2.5 / 128.0;
    case DType::kMxfp4:
      return 0.5 + 1.0 / 32.0;
    case DType::kNvfp4:
    case DType::kNvfp4WeightOnly:
      return 0.5 + 1.0 / 16.0;
    case DType::kMxfp8:
      return 1.0 + 1.0 / 32.0;
    case DType::kFp8WeightOnly:
    case DType::kInt8WeightOnly:
      return 1.0;
    case DType::kInt4Group32:
      return 0.5 + 2.0 / 32.0;
  }
  RIDGELINE_CHECK(false, "a number format without a size");
}

const char* name(DType type) {
  switch (type) {
    case DType::kFp32:
      return "fp32";
    case DType::kBf16:
      return "bf16";
    case DType::kFp16:
      return "fp16";
    case DType::kFp8:
      return "fp8";
    case DType::kFp8Block:
      return "fp8 in blocks";
    case DType::kInt8:
      return "int8";
    case DType::kInt4:
      return "int4";
    case DType::kMxfp4:
      return "mxfp4";
    case DType::kNvfp4:
      return "nvfp4";
    case DType::kMxfp8:
      return "mxfp8";
    case DType::kFp8WeightOnly:
      return "fp8 weights";
    case DType::kInt8WeightOnly:
      return "int8 weights";
    case DType::kNvfp4WeightOnly:
      return "nvfp4 weights";
    case DType::kInt4Group32:
      return "int4 in groups of 32";
    case DType::kInt4With8Bit:
      return "int4 by 8 bits";
  }
  RIDGELINE_CHECK(false, "a number format without a name");
}

double parameters(const Operator& op) {
  const Stored one = stored(op);
  return real(op.calls) * (one.elements + one.unquantised);
}

core::Bytes weight_bytes(const Operator& op) {
  const Stored one = stored(op);
  return core::Bytes(real(op.calls) *
                     (one.elements * one.bytes_each + one.unquantised * kUnquantisedBytes));
}

const char* name(AllToAllBackend backend) {
  switch (backend) {
    case AllToAllBackend::kAllGatherReduceScatter:
      return "allgather_reducescatter";
    case AllToAllBackend::kDeepEpHighThroughput:
      return "deepep_high_throughput";
    case AllToAllBackend::kDeepEpLowLatency:
      return "deepep_low_latency";
  }
  RIDGELINE_CHECK(false, "an all-to-all backend without a name");
}

double AllToAll::copies() const {
  const double others = real(ranks - 1);
  switch (backend) {
    case AllToAllBackend::kAllGatherReduceScatter:
      return others;
    case AllToAllBackend::kDeepEpLowLatency:
      return real(experts_per_token) * others / real(ranks);
    case AllToAllBackend::kDeepEpHighThroughput:
      break;
  }
  // A rank that holds experts / ranks of them is missed by k distinct choices with probability
  // prod over i < k of (experts - held - i) / (experts - i).
  const double held = real(experts) / real(ranks);
  double missed = 1.0;
  for (std::int64_t i = 0; i < experts_per_token; ++i) {
    missed *= std::max(0.0, real(experts - i) - held) / real(experts - i);
  }
  return others * (1.0 - missed);
}

namespace {

/// Bytes that one call caches.
struct Cached {
  double per_token = 0.0;
  double per_sequence = 0.0;
};

Cached cached(const Attention& shape) {
  if (!shape.has_cache) {
    return {};
  }
  return {.per_token = real(shape.kv_heads) * real(shape.head_dim + shape.values()) *
                       bytes_per_element(shape.kv)};
}

Cached cached(const LatentAttention& shape) {
  return {.per_token = real(shape.rank + shape.rope) * bytes_per_element(shape.kv)};
}

Cached cached(const CompressedAttention& shape) {
  const double entry = real(shape.head_dim) * bytes_per_element(shape.kv);
  return {.per_token = shape.ratio > 0 ? entry / real(shape.ratio) : 0.0,
          .per_sequence = real(shape.window) * entry};
}

Cached cached(const Indexer& shape) {
  // FP8 keys with one 32-bit scale (DeepSeek-V3.2's inference code).
  constexpr double kScaleBytes = 4.0;
  return {.per_token = (real(shape.head_dim) + kScaleBytes) / real(shape.ratio)};
}

Cached cached(const Recurrence& shape) {
  constexpr double kConvBytes = 2.0;
  return {.per_sequence = real(shape.heads) * real(shape.key_dim) * real(shape.value_dim) *
                              bytes_per_element(shape.state) +
                          real(shape.conv_channels) *
                              real(std::max<std::int64_t>(shape.conv_kernel - 1, 0)) * kConvBytes};
}

template <class Other>
Cached cached(const Other& /*shape*/) {
  return {};
}

Cached cached(const Operator& op) {
  return std::visit([](const auto& shape) { return cached(shape); }, op.shape);
}

}  // namespace

core::BytesPerToken kv_bytes_per_token(const Operator& op) {
  return core::BytesPerToken(real(op.calls) * cached(op).per_token);
}

core::Bytes state_bytes_per_sequence(const Operator& op) {
  return core::Bytes(real(op.calls) * cached(op).per_sequence);
}

}  // namespace ridgeline::model
