#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/time.hpp"
#include "core/units.hpp"

namespace ridgeline::domain {

/// What holds an operator up. An operator is memory-bound when its arithmetic intensity lies left
/// of the GPU's ridge point; launch gaps and CPU time are overhead.
enum class Bottleneck : std::uint8_t { kCompute, kMemory, kNetwork, kOverhead };
inline constexpr std::size_t kNumBottlenecks = 4;
inline constexpr std::array<const char*, kNumBottlenecks> kBottleneckNames = {
    "compute", "memory", "network", "overhead"};

/// Part of a prompt processed in one step; or a sequence's last token with drafts to verify.
struct PrefillChunk {
  core::Tokens past;        ///< Tokens whose KV exists before the step (computed or cached).
  core::Tokens new_tokens;  ///< Tokens processed now, at least 1.
  bool samples = true;      ///< Whether it is the last chunk, which yields a token.
  /// Drafts to verify among new_tokens: the network's choice after each of them is sampled as well.
  std::int64_t drafts = 0;

  friend bool operator==(const PrefillChunk&, const PrefillChunk&) = default;
};

/// One engine step as a step-time model sees it.
struct StepBatch {
  std::int64_t num_decodes = 0;  ///< Sequences that process exactly one token.
  core::Tokens decode_context;   ///< Sum of their KV lengths before the step.
  /// Part of all contexts that lies in KV blocks that other requests hold as well: a block with n
  /// holders counts n - 1 times. Zero where caches have windows.
  core::Tokens shared_context = {};
  /// Their single KV lengths, in running order: filled only for models that ask for it
  /// (StepTimeModel::needs_decode_lengths).
  std::span<const core::Tokens> decode_lengths;
  std::span<const PrefillChunk> prefills;

  [[nodiscard]] constexpr core::Tokens num_tokens() const {
    core::Tokens sum(num_decodes);
    for (const auto& chunk : prefills) {
      sum += chunk.new_tokens;
    }
    return sum;
  }
  /// Tokens sampled at the end of the step.
  [[nodiscard]] constexpr std::int64_t num_sampled() const {
    std::int64_t count = num_decodes;
    for (const auto& chunk : prefills) {
      count += chunk.samples ? 1 + chunk.drafts : 0;
    }
    return count;
  }
};

/// How long a step takes, exactly split by what held it up. A sum past the range of simulated time
/// is Duration::max(): no run has room for such a step.
struct StepTime {
  std::array<core::Duration, kNumBottlenecks> by_bottleneck{};  ///< GPU time; sums to gpu().
  core::Duration cpu;  ///< Host work of the step; the engine adds it (sync) or overlaps it (async).

  [[nodiscard]] constexpr core::Duration gpu() const {
    core::Duration sum;
    for (const auto part : by_bottleneck) {
      sum = core::Duration::saturating_sum(sum, part);
    }
    return sum;
  }
  [[nodiscard]] constexpr core::Duration of(Bottleneck kind) const {
    return by_bottleneck[static_cast<std::size_t>(kind)];
  }
  constexpr void add(const StepTime& other, std::int64_t times) {
    for (std::size_t kind = 0; kind < kNumBottlenecks; ++kind) {
      by_bottleneck[kind] = core::Duration::saturating_sum(
          by_bottleneck[kind],
          core::Duration::saturating_product(other.by_bottleneck[kind], times));
    }
  }
  constexpr void add(Bottleneck kind, core::Duration time) {
    // Not by index: the parts can stay in registers where the kind is known late.
    for (std::size_t i = 0; i < kNumBottlenecks; ++i) {
      by_bottleneck[i] = core::Duration::saturating_sum(
          by_bottleneck[i], static_cast<std::size_t>(kind) == i ? time : core::Duration());
    }
  }
  friend bool operator==(const StepTime&, const StepTime&) = default;
};

/// A model's step time over decode-only batches of one size, as a function of the context sum K:
/// StepTime(K) = base, plus slope * K on the part `slope_kind`, exactly, for every K in [lowest,
/// highest].
struct AffineStep {
  StepTime base;
  core::Duration slope;  ///< Per token of context.
  Bottleneck slope_kind = Bottleneck::kMemory;
  core::Tokens lowest;
  core::Tokens highest;

  [[nodiscard]] constexpr StepTime at(core::Tokens context) const {
    StepTime time = base;
    time.add(slope_kind, slope * context.value());
    return time;
  }
};

}  // namespace ridgeline::domain
