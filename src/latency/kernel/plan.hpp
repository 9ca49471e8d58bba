#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/time.hpp"
#include "domain/step.hpp"
#include "latency/kernel/calibration.hpp"
#include "latency/kernel/cost.hpp"
#include "latency/kernel/decode_attention.hpp"
#include "latency/kernel/measured_attention.hpp"
#include "latency/kernel/prefill_attention.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency::kernel {

/// An operator whose time depends on a number of rows only: the step's padded tokens, or the
/// sequences that sample.
struct RowOperator {
  std::string name;
  std::int64_t calls = 1;
  model::Rows rows = model::Rows::kTokens;
  std::string source;
  std::function<Cost(std::int64_t rows)> cost;  ///< Cost of one call.
  std::function<std::string(std::int64_t rows)> shape;
};

/// What depends on sequences and their contexts, over equal layers: attention, its indexer, a
/// recurrence. The decode part is a line in the context sum, in integer picoseconds over all calls,
/// so that a step and a closed form over many steps are the same sums.
struct AttentionOperator {
  std::string name;
  std::int64_t calls = 1;
  std::size_t position = 0;  ///< Index of the row operator that it runs before.
  core::Seconds fixed;       ///< This and the next two as in DecodeLine, times the calls.
  core::Seconds per_sequence;
  core::Seconds per_token;
  domain::Bottleneck side = domain::Bottleneck::kMemory;
  core::Duration fixed_floor;
  core::Seconds floor_per_sequence;
  core::Duration per_context_token;
  std::optional<BlockWaves> blocks = std::nullopt;  ///< Instead of per_context_token.
  /// Tokens of one sequence's context that count; 0: all. The step knows only their sum: sequences
  /// are taken to be equally long.
  std::int64_t window = 0;
  std::function<Cost(const DecodeCall& call)> decode_cost;    ///< Cost of one call.
  std::function<Cost(const PrefillCall& call)> prefill_cost;  ///< Cost of one call.
  std::string decode_source;
  std::string prefill_source;
  std::shared_ptr<const MeasuredAttention> measured;  ///< Takes the place of line and costs' time.

  /// Least time of a call over that many sequences.
  [[nodiscard]] core::Duration floor(std::int64_t sequences) const;

  /// The line at no context.
  [[nodiscard]] core::Duration base(std::int64_t sequences, std::int64_t tokens) const;
  /// Slope of the line per token of context, over that many sequences.
  [[nodiscard]] core::Duration slope(std::int64_t sequences, bool is_mixed = false) const;
  /// Padding in a step with prompts: tokens that count beside the context sum.
  [[nodiscard]] std::int64_t padding(std::int64_t sequences, bool is_mixed) const {
    return blocks && is_mixed ? blocks->padding_beside_prompts(sequences) : 0;
  }
  /// All calls: floor or line, whichever is longer.
  [[nodiscard]] core::Duration decode(const DecodeCall& call) const;
  /// The smallest context sum at which a line of that base and slope is no longer below that floor;
  /// above kMaxContext when it never is.
  [[nodiscard]] static std::int64_t crossing(core::Duration floor,
                                             core::Duration base,
                                             core::Duration slope);
  /// Largest context sum of so many sequences that counts.
  [[nodiscard]] std::int64_t most_context(std::int64_t sequences) const;
};

/// A forward pass, priced on one GPU, ready to be evaluated.
struct Plan {
  std::vector<RowOperator> rows;  ///< In order of execution.
  std::vector<AttentionOperator> attention;
  /// With experts that quantise their activations, where StepConstants::uncaptured_expert_gap
  /// holds.
  std::int64_t gap_layers = 0;
  core::Seconds host_experts;  ///< What experts take beside launches, in both host times below.
  core::Seconds host_prompts;  ///< Host time of a step with prompts that no graph holds.
  core::Seconds host_decodes;  ///< Host time of such a step of decodes alone.
};

/// `calibration` and `gpu` outlive the plan. Sequences have so many tokens each in a step, which
/// follow each other: those that verify drafts.
[[nodiscard]] Plan make_plan(const model::ModelSpec& network,
                             const model::Sharding& sharding,
                             const Calibration& calibration,
                             const hardware::GpuSpec& gpu,
                             const KernelChoice& choice = {},
                             std::int64_t tokens_in_a_row = 1,
                             const std::optional<HostWeights>& host = {});

/// All calls, in simulated time; Duration::max() where that has no room for them.
[[nodiscard]] core::Duration all_calls(core::Seconds one_call, std::int64_t calls);

/// Largest sum of contexts that a closed form covers: 2^32 tokens of KV cache are hundreds of
/// terabytes. Above it, every step is priced by itself.
inline constexpr std::int64_t kMaxContext = std::int64_t{1} << 32;

}  // namespace ridgeline::latency::kernel
