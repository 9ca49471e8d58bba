#include "latency/kernel/launches.hpp"

#include <cstdint>
#include <span>
#include <variant>

#include "latency/kernel/cost.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::kernel {
namespace {

/// Kernels of one call of each operator.
struct Launches {
  const hardware::GpuSpec& gpu;
  bool decodes_alone = false;

  /// Rows are quantised by a kernel of their own.
  [[nodiscard]] std::int64_t quantisation(model::DType weights) const {
    return matmul_format(weights, gpu).is_8bit ? 1 : 0;
  }

  std::int64_t operator()(const model::Gemm& shape) const {
    return 1 + quantisation(shape.weights);
  }
  /// Top-k, sorting pairs by expert (two), gate-up, activation, down, weighted sum.
  std::int64_t operator()(const model::ExpertGemm& shape) const {
    constexpr std::int64_t kKernels = 7;
    return kKernels + 2 * quantisation(shape.weights);
  }
  /// The kernel, and what it prepares or merges.
  std::int64_t operator()(const model::Attention& /*shape*/) const { return 2; }
  /// Rotation, cache write, gathering the past, rebuilding and splitting keys and values, joining
  /// (three), padding, attention of past and chunk, merging (two), the way back.
  std::int64_t operator()(const model::LatentAttention& /*shape*/) const { return kLatent; }
  std::int64_t operator()(const model::CompressedAttention& /*shape*/) const { return kLatent; }
  /// Norm, rotation, quantisation and cache write of queries and keys, logits, top-k.
  std::int64_t operator()(const model::Indexer& /*shape*/) const { return 9; }
  /// Splitting and joining (four), convolution, gates, two norms, the scan's sums, products, solve,
  /// states and outputs (seven), states in and out (three), gated norm. Decodes: splitting (two),
  /// convolution, gates, the state's update, gated norm.
  std::int64_t operator()(const model::Recurrence& /*shape*/) const {
    return decodes_alone ? 6 : 20;
  }
  std::int64_t operator()(const model::AllReduce& shape) const { return shape.ranks > 1 ? 1 : 0; }
  std::int64_t operator()(const model::AllToAll& shape) const { return shape.ranks > 1 ? 1 : 0; }
  /// Two residuals, rotation, cache write, activation.
  std::int64_t operator()(const model::LayerElementwise& /*shape*/) const { return 5; }
  std::int64_t operator()(const model::Norm& /*shape*/) const { return 1; }
  std::int64_t operator()(const model::Sampling& /*shape*/) const { return 1; }
  std::int64_t operator()(const model::Embedding& /*shape*/) const { return 1; }
  std::int64_t operator()(const model::Resident& /*shape*/) const { return 0; }

  static constexpr std::int64_t kLatent = 14;
};

}  // namespace

Launched launches(std::span<const model::Operator> operators, const hardware::GpuSpec& gpu) {
  Launched sum;
  for (const model::Operator& op : operators) {
    sum.with_prompts += op.calls * std::visit(Launches{.gpu = gpu}, op.shape);
    sum.decodes += op.calls * std::visit(Launches{.gpu = gpu, .decodes_alone = true}, op.shape);
  }
  return sum;
}

}  // namespace ridgeline::latency::kernel
