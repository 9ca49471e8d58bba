#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/time.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "domain/step.hpp"
#include "latency/kernel/constants.hpp"
#include "latency/kernel/kernel_model.hpp"
#include "latency/step_time_model.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"
#include "support/paths.hpp"

namespace ridgeline::latency::kernel {

/// The first published constants, frozen: the golden values are of them.
inline const Constants& first_constants() {
  static const Constants kConstants = [] {
    const auto file = test::source_dir() / "lab" / "data" / "kernel_first.yaml";
    return read_constants(document::read_file(file.string()).value(), file.string()).value();
  }();
  return kConstants;
}

}  // namespace ridgeline::latency::kernel

/// GPUs and networks built by hand, so that the model is tested apart from the catalogues.
namespace ridgeline::latency::fixtures {

/// Facts of the datasheets, as the golden values assume them.
inline hardware::GpuSpec gpu(const std::string& name) {
  hardware::GpuSpec spec;
  spec.name = name;
  spec.has_nvlink = true;
  const auto set = [&spec](const char* architecture,
                           double bf16,
                           double fp8,
                           double bandwidth,
                           std::int64_t sms,
                           double link,
                           double clock) {
    spec.architecture = architecture;
    spec.peak_bf16 = core::FlopsPerSecond(bf16);
    spec.peak_fp8 = core::FlopsPerSecond(fp8);
    spec.mem_bandwidth = core::BytesPerSecond(bandwidth);
    spec.num_sms = sms;
    spec.link_bandwidth = core::BytesPerSecond(link);
    spec.clock_ghz = clock;
  };
  if (name == "a100-80gb") {
    set("ampere", 312e12, 0.0, 2.039e12, 108, 300e9, 1.41);
  } else if (name == "h200") {
    set("hopper", 989e12, 1979e12, 4.8e12, 132, 450e9, 1.755);
  } else if (name == "b200") {
    set("blackwell", 2250e12, 4500e12, 8e12, 148, 900e9, 1.965);
  } else if (name == "l40s") {
    set("ada", 362e12, 733e12, 0.864e12, 142, 32e9, 2.52);
    spec.has_nvlink = false;
  } else {
    set("hopper", 989e12, 1979e12, 3.35e12, 132, 450e9, 1.755);
  }
  return spec;
}

inline model::ModelSpec dense(std::int64_t layers,
                              std::int64_t hidden,
                              model::AttentionSpec attention,
                              std::int64_t width,
                              std::int64_t vocab) {
  model::ModelSpec spec;
  spec.name = "test network";
  spec.hidden_size = hidden;
  spec.vocab_size = vocab;
  spec.max_position = core::Tokens(131072);
  spec.layers = {{.count = layers, .attention = attention, .ffn = model::DenseFfn{.width = width}}};
  return spec;
}

// Facts of the published config.json files; sampling of their generation_config.json.
inline model::ModelSpec llama_2_7b() {
  auto spec = dense(32, 4096, {.heads = 32, .kv_heads = 32, .head_dim = 128}, 11008, 32000);
  spec.sampling.top_p = 0.9;
  return spec;
}

inline model::ModelSpec mistral_nemo_12b() {
  return dense(40, 5120, {.heads = 32, .kv_heads = 8, .head_dim = 128}, 14336, 131072);
}

inline model::ModelSpec llama_31_70b() {
  auto spec = dense(80, 8192, {.heads = 64, .kv_heads = 8, .head_dim = 128}, 28672, 128256);
  spec.sampling.top_p = 0.9;
  return spec;
}

inline model::ModelSpec qwen25_7b() {
  auto spec = dense(
      28, 3584, {.heads = 28, .kv_heads = 4, .head_dim = 128, .qkv_bias = true}, 18944, 152064);
  spec.sampling = {.top_p = 0.8, .top_k = 20, .repetition_penalty = 1.05};
  return spec;
}

inline model::ModelSpec llama_4_scout_fp8() {
  auto spec = dense(48, 5120, {.heads = 40, .kv_heads = 8, .head_dim = 128}, 0, 202048);
  spec.layers.front().ffn = model::MoeFfn{
      .experts = 16, .experts_per_token = 1, .expert_width = 8192, .shared_width = 8192};
  spec.precision.ffn = model::DType::kFp8;
  spec.sampling.top_p = 0.9;
  return spec;
}

/// vLLM's default capture sizes: 1, 2, 4, multiples of 8 to 256, multiples of 16 to 512.
inline std::vector<std::int64_t> graph_sizes() {
  std::vector<std::int64_t> sizes = {1, 2, 4};
  for (std::int64_t size = 8; size <= 256; size += 8) {
    sizes.push_back(size);
  }
  for (std::int64_t size = 272; size <= 512; size += 16) {
    sizes.push_back(size);
  }
  return sizes;
}

/// A model together with all that it refers to.
class Subject {
 public:
  Subject(model::ModelSpec network, hardware::GpuSpec gpu, std::int64_t ranks)
      : network_(std::move(network)),
        gpu_(std::move(gpu)),
        execution_{.sharding = {.tensor_parallel_size = ranks}, .cuda_graph_sizes = graph_sizes()},
        model_(std::make_unique<kernel::KernelModel>(inputs(), kernel::first_constants())) {}

  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  [[nodiscard]] ModelInputs inputs() const {
    return {.network = network_, .gpu = gpu_, .execution = execution_};
  }
  [[nodiscard]] const kernel::KernelModel& model() const { return *model_; }

 private:
  model::ModelSpec network_;
  hardware::GpuSpec gpu_;
  Execution execution_;
  std::unique_ptr<kernel::KernelModel> model_;
};

/// A step that owns its chunks.
struct Step {
  std::int64_t num_decodes = 0;
  std::int64_t context = 0;
  std::vector<domain::PrefillChunk> chunks;

  [[nodiscard]] domain::StepBatch batch() const {
    return {.num_decodes = num_decodes,
            .decode_context = core::Tokens(context),
            .decode_lengths = {},
            .prefills = chunks};
  }
};

inline domain::PrefillChunk chunk(std::int64_t past, std::int64_t new_tokens, bool samples = true) {
  return {.past = core::Tokens(past), .new_tokens = core::Tokens(new_tokens), .samples = samples};
}

inline Step decodes(std::int64_t count, std::int64_t context_each) {
  return {.num_decodes = count, .context = count * context_each, .chunks = {}};
}

/// Every kind of step: decodes, whole and unfinished prompts, short chunks, and mixtures.
inline std::vector<Step> assorted_steps() {
  return {decodes(1, 10),
          decodes(33, 700),
          decodes(700, 4000),
          {.num_decodes = 0, .context = 0, .chunks = {chunk(0, 2048)}},
          {.num_decodes = 0, .context = 0, .chunks = {chunk(0, 2048, false)}},
          {.num_decodes = 0, .context = 0, .chunks = {chunk(500, 7), chunk(90, 16)}},
          {.num_decodes = 9,
           .context = 12345,
           .chunks = {chunk(100, 3), chunk(0, 300), chunk(4000, 77, false)}},
          {.num_decodes = 2, .context = 64, .chunks = {chunk(0, 20000)}}};
}

inline double milliseconds(const domain::StepTime& time) {
  return time.gpu().to_milliseconds();
}

}  // namespace ridgeline::latency::fixtures
