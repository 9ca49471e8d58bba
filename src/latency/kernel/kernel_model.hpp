#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"
#include "latency/kernel/calibration.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/decode_attention.hpp"
#include "latency/kernel/part_memo.hpp"
#include "latency/kernel/plan.hpp"
#include "latency/kernel/prefill_attention.hpp"
#include "latency/lookup_log.hpp"
#include "latency/step_time_model.hpp"
#include "model/hardware/gpu_spec.hpp"

namespace ridgeline::latency::kernel {

/// The `kernel` step-time model: the sum of one rank's kernels, each by a formula of its shape
/// (docs/models/kernel.md). Needs no decode lengths; affine in the context sum. StepTime::cpu is 0:
/// host time is the engine's. A step without tokens takes no time.
class KernelModel final : public StepTimeModel {
 public:
  /// The inputs are checked (make_kernel_model); the GPU outlives the model.
  KernelModel(const ModelInputs& inputs, const Constants& constants);
  /// Replaces parts of the plan, as a model that has better sources than a formula does.
  using PlanEdit = std::function<void(Plan& plan, const Calibration& calibration)>;
  KernelModel(const ModelInputs& inputs, const Constants& constants, const PlanEdit& edit);

  [[nodiscard]] domain::StepTime predict(const domain::StepBatch& batch) const override;
  [[nodiscard]] domain::StepTime predict_logged(const domain::StepBatch& batch,
                                                LookupLog& log) const override;
  [[nodiscard]] bool logs() const override;
  [[nodiscard]] core::Warnings findings(const LookupLog& log) const override;
  [[nodiscard]] std::optional<domain::AffineStep> affine(std::int64_t num_decodes,
                                                         core::Tokens context) const override;
  /// Nothing for prompts so short that they are the decode kernel's.
  [[nodiscard]] std::optional<domain::AffineStep> affine_with_prompt(
      std::int64_t num_decodes, core::Tokens prompt, core::Tokens context) const override;
  [[nodiscard]] core::Tokens spared_context(core::Tokens shared) const override;
  [[nodiscard]] Explanation explain(const domain::StepBatch& batch) const override;
  [[nodiscard]] core::Warnings notes() const override { return notes_; }
  [[nodiscard]] std::vector<ModelSetting> settings() const override { return settings_; }

  /// predict() with nothing remembered: what the memory is checked and timed against.
  [[nodiscard]] domain::StepTime recompute(const domain::StepBatch& batch) const;

  /// Whether the step replays its CUDA graph in pieces, attention between them: vLLM does where a
  /// batch holds prompt chunks and is small enough for a graph.
  [[nodiscard]] bool is_piecewise(const domain::StepBatch& batch) const;
  /// What launching takes beside the kernels: nothing where one graph holds the step, attention
  /// between its pieces where it is in some, every kernel by the host where none does.
  /// `kernels` are those of the step but its decodes' attention: what the host launches meanwhile
  /// takes no time of its own.
  [[nodiscard]] core::Duration launch_gap(const domain::StepBatch& batch,
                                          core::Duration kernels) const;
  /// launch_gap() beside the batch's own kernels, for explain().
  [[nodiscard]] core::Duration launch_gap(const domain::StepBatch& batch) const;
  /// Rows that the token operators run on: the next captured graph size, if there is one.
  [[nodiscard]] std::int64_t padded(std::int64_t tokens) const;

 private:
  /// A batch as the kernels see it: short chunks are the decode kernel's.
  struct Work {
    std::int64_t tokens = 0;
    std::int64_t sampled = 0;
    DecodeCall decode;
    PrefillCall prefill;
    std::span<const domain::PrefillChunk> chunks;  ///< Chunks of the batch.
  };
  [[nodiscard]] Work work_of(const domain::StepBatch& batch) const;
  /// The decodes of a batch, without its short chunks.
  [[nodiscard]] DecodeCall decodes_of(const domain::StepBatch& batch) const;

  /// All row operators of one kind.
  [[nodiscard]] [[gnu::noinline]] TimeByKind sum_rows(model::Rows rows, std::int64_t count) const;
  [[nodiscard]] [[gnu::noinline]] TimeByKind sum_padded(std::int64_t tokens) const;
  [[nodiscard]] TimeByKind token_part(std::int64_t tokens) const;
  [[nodiscard]] TimeByKind sampled_part(std::int64_t sampled) const;
  /// The chunks as an operator sees them: within its window.
  [[nodiscard]] PrefillCall prefill_of(const AttentionOperator& op, const Work& work) const;
  [[nodiscard]] static Cost prefill_cost(const AttentionOperator& op,
                                         const PrefillCall& call,
                                         const Work& work);
  [[nodiscard]] bool is_captured(std::int64_t tokens) const;
  /// GPU time of a step to which no attention was added yet, and of its prompts' attention.
  [[nodiscard]] static core::Duration kernel_time(const domain::StepTime& time,
                                                  const TimeByKind& prefill);
  /// launch_gap() of so many decodes.
  [[nodiscard]] core::Duration launch_gap_of_decodes(std::int64_t decodes,
                                                     core::Duration kernels) const;
  /// launch_gap() of a batch of so many tokens that holds prompt chunks.
  [[nodiscard]] core::Duration launch_gap_of_prompts(std::int64_t tokens,
                                                     core::Duration kernels) const;
  /// Prefill attention of all operators, anew or from memory where equal prompts are computed
  /// whole.
  [[nodiscard]] [[gnu::noinline]] TimeByKind sum_prefill(const Work& work) const;
  [[nodiscard]] TimeByKind prefill_part(const Work& work) const;
  [[nodiscard]] [[gnu::noinline]] static TimeByKind line_of(const AttentionOperator& op,
                                                            std::int64_t sequences);
  /// AttentionOperator::decode() of one of them.
  [[nodiscard]] core::Duration decode_part(std::size_t index, const DecodeCall& call) const;
  /// predict() where one chunk, a whole prompt for the prefill kernel, is all that stands beside
  /// decodes.
  [[nodiscard]] domain::StepTime predict_whole_prompt(const domain::StepBatch& batch) const;
  void add_attention(const TimeByKind& prefill,
                     const DecodeCall& decode,
                     domain::StepTime& time) const;
  /// Adds what attention takes over decodes near a context to a step that has none of it yet; false
  /// if that is no line.
  [[nodiscard]] bool add_decode_lines(std::int64_t num_decodes,
                                      core::Tokens context,
                                      bool is_mixed,
                                      domain::AffineStep& step) const;
  [[nodiscard]] domain::StepTime start(const TimeByKind& tokens, const TimeByKind& sampled) const;

  void explain_rows(const RowOperator& op, const Work& work, Explanation& into) const;
  void explain_attention(const AttentionOperator& op, const Work& work, Explanation& into) const;

  /// The entry of a LookupLog: the share of a step's GPU time that is uncaptured_gap_.
  static constexpr std::size_t kGapShare = 0;

  std::vector<ModelSetting> settings_;
  const hardware::GpuSpec& gpu_;
  Calibration calibration_;
  std::vector<std::int64_t> graph_sizes_;
  Plan plan_;
  core::Duration step_gap_;
  core::Duration piecewise_gap_;   ///< Over all layers.
  core::Duration uncaptured_gap_;  ///< Over all layers with experts.
  core::Duration eager_gap_;       ///< uncaptured_gap_ of eager steps; else 0.
  bool is_eager_;
  core::Duration host_prompts_;  ///< Host time of a step with prompts that no graph holds ...
  core::Duration host_decodes_;  ///< ... and of one of decodes alone.
  core::Duration host_pieces_;   ///< Host time of a step of decodes in pieces of a graph; else 0.
  bool graphs_hold_prompts_;
  core::Warnings notes_;
  PartMemo token_memo_;
  PartMemo sampled_memo_;
  /// Prefill attention of one, two, ... whole prompts of the same length, by that.
  std::vector<PartMemo> prompt_memos_;
  /// For each attention operator by sequences: the floor, the line at no context and its slope.
  std::vector<PartMemo> decode_memos_;
};

/// Whether a closed form stays within simulated time at every context up to kMaxContext, also where
/// an engine adds it up; without one, an engine prices every step by itself.
[[nodiscard]] bool is_in_range(const domain::AffineStep& step);

/// Refuses GPUs whose facts do not suffice and networks that cannot be cut so.
[[nodiscard]] core::Result<std::unique_ptr<StepTimeModel>> make_kernel_model(
    const ModelInputs& inputs);
/// The kernel model with other constants than the engine's.
[[nodiscard]] core::Result<std::unique_ptr<StepTimeModel>> make_kernel_model(
    const ModelInputs& inputs, const Constants& constants);
/// With the constants of vLLM's kernels, whatever the engine.
[[nodiscard]] core::Result<std::unique_ptr<StepTimeModel>> make_vllm_kernel_model(
    const ModelInputs& inputs);

}  // namespace ridgeline::latency::kernel
