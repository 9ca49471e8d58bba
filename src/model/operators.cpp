#include "model/operators.hpp"

#include <cstdint>
#include <variant>

#include "core/check.hpp"
#include "core/units.hpp"

namespace ridgeline::model {
namespace {

/// Norm weights and biases stay in 16 bits in every published checkpoint, quantised ones included.
constexpr double kUnquantisedBytes = 2.0;
/// Gate, up and down.
constexpr double kMatricesPerExpert = 3.0;
/// Keys and values.
constexpr double kKvPair = 2.0;

double real(std::int64_t count) {
  return static_cast<double>(count);
}

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
  return {.elements =
              kMatricesPerExpert * real(moe.experts_on_rank) * real(moe.hidden) * real(moe.width),
          .bytes_each = bytes_per_element(moe.weights)};
}

Stored stored(const Embedding& embedding) {
  return {.elements = real(embedding.vocab) * real(embedding.width),
          .bytes_each = bytes_per_element(embedding.weights)};
}

Stored stored(const Norm& norm) {
  return {.unquantised = real(norm.width)};
}

Stored stored(const Attention& /*shape*/) {
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
    case DType::kInt8:
      return 1.0;
    case DType::kInt4:
      return 0.5;
    case DType::kMxfp4:
      return 0.5 + 1.0 / 32.0;
    case DType::kNvfp4:
      return 0.5 + 1.0 / 16.0;
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
    case DType::kInt8:
      return "int8";
    case DType::kInt4:
      return "int4";
    case DType::kMxfp4:
      return "mxfp4";
    case DType::kNvfp4:
      return "nvfp4";
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

core::BytesPerToken kv_bytes_per_token(const Operator& op) {
  const auto* attention = std::get_if<Attention>(&op.shape);
  if (attention == nullptr) {
    return {};
  }
  return core::BytesPerToken(real(op.calls) * kKvPair * real(attention->kv_heads) *
                             real(attention->head_dim) * bytes_per_element(attention->kv));
}

}  // namespace ridgeline::model
