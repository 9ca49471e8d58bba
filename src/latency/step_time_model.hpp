#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "domain/draft_level.hpp"
#include "domain/step.hpp"
#include "latency/lookup_log.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"

namespace ridgeline::latency {

/// How the drafting network goes through a step's drafts.
struct DraftChain {
  std::int64_t passes = 0;    ///< One behind another; 0: one for each draft.
  std::int64_t branches = 1;  ///< Rows of a sequence in each but the first: a tree of drafts.
  /// Sequences whose drafts the step verifies draft in it (SGLang); else all that sample (vLLM).
  bool of_verified = false;
  bool is_block = false;  ///< One pass, with a row for each draft besides the step's tokens.
};

/// What drafts tokens that a later step verifies, as far as GPU time depends on it.
struct Speculation {
  std::string method;  ///< vLLM's word: "ngram", "draft_model", "eagle", "eagle3" or "mtp".
  std::int64_t num_speculative_tokens = 0;
  /// Drafts by the number of requests in the step; empty: always num_speculative_tokens.
  std::vector<domain::DraftLevel> levels = {};
  std::shared_ptr<const model::ModelSpec> draft = {};  ///< The drafting network; none for n-grams.
  model::Sharding draft_sharding = {};
  DraftChain chain = {};
};

/// Which kernel multiplies experts (vLLM's --moe-backend); automatic: the one that vLLM takes by
/// itself. Marlin's and Triton's tell for weights of 4 bits, DeepGEMM's for FP8 in blocks.
enum class MoeBackend : std::uint8_t { kAuto, kMarlin, kTriton, kDeepGemm };

/// Which kernels the engine takes, where it has a choice.
struct KernelChoice {
  MoeBackend moe_backend = MoeBackend::kAuto;
  /// The all-reduce adds the residual and computes the norm after it (FlashInfer's; vLLM's pass
  /// fuse_allreduce_rms); absent: where the engine's version does so by itself.
  std::optional<bool> fuse_allreduce_rms = std::nullopt;
  /// Attention writes its rows quantised for the product after it (vLLM's pass fuse_attn_quant).
  bool fuse_attn_quant = false;
  /// DeepGEMM multiplies dense weights of FP8 in blocks (VLLM_USE_DEEP_GEMM); absent: where the
  /// engine's version does so by itself.
  std::optional<bool> deep_gemm = std::nullopt;
  /// NCCL exchanges messages of all sizes (vLLM's --disable-custom-all-reduce).
  bool disable_custom_all_reduce = false;
  /// Messages beyond vLLM's own kernels go through symmetric memory up to symm_mem_limit()
  /// (VLLM_ALLREDUCE_USE_SYMM_MEM).
  bool symm_mem_all_reduce = false;
  /// FP32 products run on tensor cores, as TF32 (VLLM_FLOAT32_MATMUL_PRECISION=high).
  bool fp32_as_tf32 = false;
  /// Prompts are random tokens, not text: a router sends them to some experts far more often.
  bool random_tokens = false;
};

/// Weights of a rank that stay in the host's memory.
struct HostWeights {
  core::Bytes bytes;
  core::Bytes spared;  ///< What that frees on the GPU: buffers for copies take a part.
  double share = 0.0;  ///< What they are of the layers' weights.
  core::BytesPerSecond bandwidth;
  bool copied = false;  ///< Each step copies them all ahead of their turn; else kernels read there.
};

/// How the engine executes a step, as far as GPU time depends on it.
struct Execution {
  model::Sharding sharding;
  /// The engine whose kernels run, as the registry of schedulers names it, or a profile of vLLM's:
  /// "sglang", "vllm@0.24"; empty: vLLM's of the tables.
  std::string engine = {};
  KernelChoice kernels = {};
  /// Token counts with a captured CUDA graph, ascending: a step of up to the last is padded to the
  /// next size. Empty: nothing is padded.
  std::vector<std::int64_t> cuda_graph_sizes;
  /// Whether graphs hold steps with prompts too, in pieces around the attention.
  bool graphs_hold_prompts = true;
  /// Whether graphs of decodes alone are in pieces as well.
  bool graphs_in_pieces = false;
  /// The host launches every kernel of every step (--enforce-eager). `cuda_graph_sizes` are then
  /// those of the same server with graphs: a step takes at least as long as it would with them.
  bool enforce_eager = false;
  std::optional<Speculation> speculation = {};
  std::optional<HostWeights> host_weights = {};
};

/// One operator's share of a step, for people.
struct OperatorTime {
  std::string name;   ///< "qkv_proj"
  std::string phase;  ///< "prefill", "decode" or "step" (shared by both)
  std::string shape;  ///< "128x4096x6144"
  std::int64_t calls = 1;
  core::Flops flops;  ///< All calls together.
  core::Bytes bytes;
  core::Seconds time;
  domain::Bottleneck bottleneck = domain::Bottleneck::kMemory;
  std::string source;              ///< What priced it: "kernel", a table's file, ...
  std::optional<double> distance;  ///< Distance of a table look-up, in its own units.
  /// Multiplied beside `flops`, for rows that only fill a kernel's tiles; where it is known.
  core::Flops padding = {};
  /// Both sides of the maximum that `time` is made of, where the model knows them.
  std::optional<core::Seconds> compute = {};
  std::optional<core::Seconds> memory = {};
  core::Bytes weights = {};             ///< In `bytes`: those of weights.
  core::Bytes kv = {};                  ///< In `bytes`: those of attention.
  std::optional<double> mfu = {};       ///< That a table gave, or a constant.
  std::optional<std::size_t> row = {};  ///< The table's nearest row: its line in the file.
};

/// A step taken apart. The parts and `rounding` sum to the predicted GPU time.
struct Explanation {
  domain::StepTime total;
  std::vector<OperatorTime> parts;
  std::vector<OperatorTime> hidden;  ///< The losing sides where a model takes a maximum.
  core::Seconds rounding;
};

/// Makes `rounding` what the parts lack of the total.
void settle_rounding(Explanation& explanation);

/// A constant or switch of a step-time model, by name.
struct ModelSetting {
  std::string key;  ///< "perLayerOverhead", "mixed"
  document::Node value;
};

/// What a scenario says to its step-time model beyond the name (`latency: {...}`). A model refuses
/// what it has no use for.
struct ModelOptions {
  std::string constants = {};   ///< File of fitted constants; empty: the built-in ones.
  std::string bench_data = {};  ///< Folder of measured kernel tables; empty: none.
  std::string hardware_config =
      {};                   ///< A hardware_config.json of the original simulator; empty: none.
  std::string lookup = {};  ///< "floor" or "interp"; empty: the model's own.
  std::vector<ModelSetting> settings = {};
};

/// Predicts how long a step takes on the GPU. Pure: same batch, same answer; const and thread-safe,
/// so that any number of runs may share a model. Keeps no request state and knows no scheduling:
/// the engine composes GPU and CPU time.
class StepTimeModel {
 public:
  virtual ~StepTimeModel() = default;

  [[nodiscard]] virtual domain::StepTime predict(const domain::StepBatch& batch) const = 0;

  /// predict(), with what the prediction met added to the log of the run.
  [[nodiscard]] virtual domain::StepTime predict_logged(const domain::StepBatch& batch,
                                                        LookupLog& log) const {
    static_cast<void>(log);
    return predict(batch);
  }
  /// Whether predict_logged() ever notes anything: where not, a run calls predict() directly.
  [[nodiscard]] virtual bool logs() const { return false; }

  /// The GPU time of a step in each stage of a pipeline, in order; they sum to predict().gpu().
  /// While one stage works on a step, the others may work on others.
  [[nodiscard]] virtual std::vector<core::Duration> stages(const domain::StepBatch& batch) const {
    return {predict(batch).gpu()};
  }

  /// The step time of every decode-only batch of `num_decodes` sequences with a context sum near
  /// `context`, in closed form; it equals predict() there, bit for bit. Nothing if the model is not
  /// affine in the context sum: it is then stepped one by one.
  [[nodiscard]] virtual std::optional<domain::AffineStep> affine(std::int64_t num_decodes,
                                                                 core::Tokens context) const {
    static_cast<void>(num_decodes);
    static_cast<void>(context);
    return std::nullopt;
  }

  /// affine() for steps of `num_decodes` decodes, perhaps none, with a prompt of `prompt` tokens
  /// beside them that is computed whole: one chunk, with nothing computed before it, that samples.
  [[nodiscard]] virtual std::optional<domain::AffineStep> affine_with_prompt(
      std::int64_t num_decodes, core::Tokens prompt, core::Tokens context) const {
    static_cast<void>(num_decodes);
    static_cast<void>(prompt);
    static_cast<void>(context);
    return std::nullopt;
  }

  /// By how much less context predict() takes decodes to have where so much of it is shared
  /// (StepBatch::shared_context); no further than to none. affine() knows nothing of sharing: it is
  /// asked at what is left.
  [[nodiscard]] virtual core::Tokens spared_context(core::Tokens shared) const {
    static_cast<void>(shared);
    return {};
  }

  /// Whether predict() reads StepBatch::decode_lengths.
  [[nodiscard]] virtual bool needs_decode_lengths() const { return false; }

  /// Every part of a step. Slow; for `step`, `explain` and logs.
  [[nodiscard]] virtual Explanation explain(const domain::StepBatch& batch) const = 0;

  /// The settings in force (ModelOptions::settings), with what the model brought itself.
  [[nodiscard]] virtual std::vector<ModelSetting> settings() const { return {}; }
  /// What a user should know of how the model was built: settings without effect, facts of the
  /// network that it does not price.
  [[nodiscard]] virtual core::Warnings notes() const { return {}; }
  /// What the predictions of a run met, in words: look-ups outside a table or without a row, a
  /// constant that decides the answer. `log` was written by this model.
  [[nodiscard]] virtual core::Warnings findings(const LookupLog& log) const {
    static_cast<void>(log);
    return {};
  }
};

/// What a model is built from. References outlive the model.
struct ModelInputs {
  const model::ModelSpec& network;
  const hardware::GpuSpec& gpu;
  const Execution& execution;
  ModelOptions options = {};
};

/// One line of the registry (latency/registry.cpp): a step-time model that `latency: {name: ...}`
/// can choose.
struct StepTimeModelEntry {
  /// Which of ModelOptions it reads: the rest would be ignored, and is refused.
  struct Uses {
    bool constants = false;
    bool bench_data = false;
    bool hardware_config = false;
    bool lookup = false;
    bool settings = false;
  };
  std::string name;
  std::string summary;
  Uses uses;
  std::function<core::Result<std::unique_ptr<StepTimeModel>>(const ModelInputs& inputs)> make;
};
[[nodiscard]] const std::vector<StepTimeModelEntry>& step_time_models();
/// A further model. For main(), before anything is read.
void use_step_time_model(StepTimeModelEntry entry);
/// The model of that name, or nullptr.
[[nodiscard]] const StepTimeModelEntry* find_step_time_model(const std::string& name);
/// Unknown names list the nearest; options that the model does not read are refused.
[[nodiscard]] core::Result<std::unique_ptr<StepTimeModel>> make_step_time_model(
    const std::string& name, const ModelInputs& inputs);

}  // namespace ridgeline::latency
