#include "scenario/parallelism.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/text.hpp"
#include "engine/capacity.hpp"
#include "engine/engine_plan.hpp"
#include "engine/options.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"
#include "model/operators.hpp"
#include "model/weight_format.hpp"
#include "scenario/draft_acceptance.hpp"
#include "scenario/engine_settings.hpp"
#include "scenario/rank_share.hpp"
#include "scenario/requests.hpp"
#include "scenario/resolution.hpp"
#include "scenario/scenario.hpp"
#include "scenario/speculation.hpp"

namespace ridgeline::scenario {

namespace {

/// Tensor parallelism over nodes, which the kernel model prices by a law that nothing was fitted
/// on.
void warn_of_nodes(Resolution& work) {
  const std::int64_t size = work.out->execution.sharding.tensor_parallel_size;
  const hardware::GpuSpec& gpu = work.out->gpu;
  const hardware::LinkView view = hardware::over_link(gpu, size);
  if (view.link != hardware::Link::kNetwork || !work.section().latency.name.starts_with("kernel")) {
    return;
  }
  const std::int64_t node = std::max(gpu.gpus_per_node, gpu.link_domain);
  work.out->warnings.push_back(
      {.code = "W-unmeasured-nodes",
       .message = fmt::format(
           "tensor_parallel_size {} spans nodes of {} GPUs: an all-reduce is priced as one ring "
           "over the network at {:.4g} GB/s a GPU, with the waits and the efficiency measured over "
           "PCIe; libraries that add up within a node first are faster, which is not priced",
           size,
           node,
           view.gpu.link_bandwidth.value() / 1e9),
       .hint = fmt::format("--tensor-parallel-size {} with --pipeline-parallel-size, or --set "
                           "hardware.network_bandwidth=...",
                           node)});
}

/// What the scenario asks for and no step-time model prices.
void warn_of_unpriced(Resolution& work) {
  if (work.out->network.vision && work.workload.section.trace) {
    work.out->warnings.push_back(
        {.code = "W-unpriced-encoder",
         .message = "the time of the vision encoder is not priced: an image costs its tokens of "
                    "the prompt alone",
         .hint = {}});
  }
}

/// Says how one data-parallel rank comes by its requests.
void share_workload(Resolution& work) {
  const RankShare deal = work.workload.share();
  const std::int64_t ranks = deal.ranks();
  const std::int64_t loaded = deal.loaded_ranks();
  if (ranks == 1) {
    return;
  }
  const WorkloadSection& whole = work.workload.section;
  const WorkloadSection rank = work.workload.of_rank();
  std::string share = "its part of the workload";
  if (whole.trace) {
    share = fmt::format("every {}th session of the trace, or request without one", loaded);
  } else if (whole.max_concurrency) {
    share = fmt::format("{} of {} clients", *rank.max_concurrency, *whole.max_concurrency);
  } else if (whole.request_rate) {
    share = fmt::format("{} of {} requests/s", *rank.request_rate, *whole.request_rate);
  }
  if (whole.num_prompts && !whole.trace) {
    share += fmt::format(", {} of {} {}",
                         *rank.num_prompts,
                         *whole.num_prompts,
                         core::plural("request", *whole.num_prompts));
  }
  const bool has_experts = ranks_in_lock_step(work.out->network, work.out->execution.sharding) > 1;
  std::string others = has_experts ? "step with it, equally loaded" : "are loaded alike";
  if (loaded < ranks) {
    others += fmt::format(", but for {} that get no request{}",
                          ranks - loaded,
                          has_experts ? " (exchanges are priced as if they did)" : "");
  }
  work.out->warnings.push_back(
      {.code = std::string(kDataParallelWarning),
       .message = fmt::format("one of {} data-parallel ranks is simulated, with {}; the others {}",
                              ranks,
                              share,
                              others),
       .hint = "latencies, counts and utilisation are that rank's"});
}

/// What an engine's own words for drafts say in vLLM's.
SpeculativeConfig config_of(const engine::DraftSettings& drafts) {
  return {.method = drafts.method,
          .model = drafts.model.empty() ? std::nullopt : std::optional(drafts.model),
          .num_speculative_tokens = drafts.verified - 1,
          .acceptance = drafts.acceptance};
}

/// The flags that say how a server drafts.
std::string flags_of(const engine::DraftSettings* own) {
  return own == nullptr ? std::string("--speculative-config")
                        : fmt::format(
                              "--speculative-algorithm, --speculative-num-steps {}, "
                              "--speculative-eagle-topk {}, --speculative-num-draft-tokens {}",
                              own->steps,
                              own->branches,
                              own->verified);
}

/// How many drafts are accepted where it is not stated: as published of such drafts. `own`: the
/// engine's own words, or none.
void assume_acceptance(Resolution& work,
                       const engine::DraftSettings* own,
                       SpeculativeConfig& config) {
  const std::int64_t deepest = own != nullptr ? own->steps : config.num_speculative_tokens;
  const auto published = published_acceptance(config.method, work.out->network.name, deepest);
  const std::string hint =
      own != nullptr ? "--speculative-acceptance 0.8, of each draft if those before it were; or "
                       "--simulate-acc-len 2.5, the mean number of tokens of a step"
                     : "\"acceptance\": [0.8, 0.7, 0.6], one number for all, or "
                       "\"acceptance_length\": 2.4, the tokens of a step on average";
  if (!published) {
    work.note(own != nullptr ? "engine.speculative_acceptance" : "engine.speculative_config",
              "missing: how many drafts are accepted depends on the traffic",
              hint);
    return;
  }
  config.acceptance = published->given_previous;
  work.out->warnings.push_back(
      {.code = "W-assumed-acceptance",
       .message = fmt::format("{}: it is not stated how many drafts are accepted; {:.2f} tokens of "
                              "a step are assumed, as published of {} ({:.2f} to {:.2f}, coding)",
                              flags_of(own),
                              published->tokens,
                              published->networks,
                              published->lowest,
                              published->highest),
       .hint = hint});
}

void speculate(Resolution& work) {
  const auto drafts =
      work.keep(own_drafts(work.engine(), work.out->network), "engine.speculative_config");
  const bool by_own_words = drafts && *drafts;
  std::optional<SpeculativeConfig> config =
      by_own_words ? std::optional(config_of(**drafts)) : work.engine().speculative_config;
  if (!config) {
    return;
  }
  if (config->method == "mtp" && work.out->network.draft_layers.empty() &&
      work.is_of_replaced_network(by_own_words ? "engine.speculative_algorithm"
                                               : "engine.speculative_config")) {
    work.out->warnings.push_back(
        {.code = "W-not-modelled",
         .message = fmt::format("{}: drafts are of the network that the file names, {} has no "
                                "layers that predict further",
                                flags_of(by_own_words ? &**drafts : nullptr),
                                work.out->network.name)});
    return;
  }
  if (config->acceptance.empty()) {
    assume_acceptance(work, by_own_words ? &**drafts : nullptr, *config);
  }
  if (by_own_words && (*drafts)->branches > 1 && !config->acceptance.empty()) {
    // No more is accepted than a branch is deep.
    config->acceptance.resize(static_cast<std::size_t>((*drafts)->steps),
                              config->acceptance.back());
    config->acceptance.push_back(0.0);
  }
  work.out->execution.speculation =
      work.keep(resolve_speculation(*config, work.out->network, work.out->execution.sharding),
                "engine.speculative_config");
  if (by_own_words && work.out->execution.speculation) {
    work.out->execution.speculation->chain = {
        .passes = (*drafts)->steps, .branches = (*drafts)->branches, .of_verified = true};
  }
  auto& options = work.out->engine;
  options.num_speculative_tokens = config->num_speculative_tokens;
  options.draft_acceptance = config->acceptance;
  options.draft_levels = config->levels;
  if (!config->levels.empty() && !options.profile.has_draft_levels) {
    work.note("engine.speculative_config",
              fmt::format("num_speculative_tokens_per_batch_size does not exist in {}",
                          options.profile.name),
              "--engine-version vllm@0.24");
  }
  options.disable_eagle_block_drop = config->disable_eagle_block_drop;
  if (config->disable_eagle_block_drop && !options.profile.keeps_blocks_to_extend) {
    work.note("engine.speculative_config",
              fmt::format("disable_eagle_block_drop does not exist in {}", options.profile.name),
              "--engine-version vllm@0.30");
  }
  options.draft_method = config->method == "ngram"         ? engine::DraftMethod::kNgram
                         : config->method == "draft_model" ? engine::DraftMethod::kDraftModel
                         : config->method == kBlockDrafts  ? engine::DraftMethod::kBlock
                                                           : engine::DraftMethod::kEagle;
  options.drafts_read_ahead = options.profile.spares_prompt_end && config->method == "mtp" &&
                              work.out->network.draft_modules > 1;
}

/// Bytes of a layer's weights on a rank, on average.
double layer_bytes(const model::ModelSpec& network, const model::Sharding& sharding) {
  double bytes = 0.0;
  for (const model::Operator& op : model::forward_pass(network, sharding)) {
    bytes += op.name == "embedding" || op.name == "lm_head" ? 0.0 : model::weight_bytes(op).value();
  }
  return bytes / static_cast<double>(network.num_layers());
}

/// Weights that stay in the host's memory (vllm/model_executor/offloader): so many GiB of the first
/// layers, read where they are; or of each group of layers the last ones, copied ahead into
/// buffers.
void keep_weights_on_host(Resolution& work) {
  constexpr double kPcie5 = 50.0;  // As cluster.kv_offload.read_bandwidth.
  constexpr double kGiga = 1e9;
  const EngineSection& engine = work.engine();
  const model::Sharding& sharding = work.out->execution.sharding;
  const bool in_place = engine.cpu_offload_gb.value_or(0.0) > 0.0;
  const bool copied = engine.offload_group_size.value_or(0) > 0;
  const auto needs = [&](std::string_view path, bool is_given, std::string_view other) {
    if (is_given) {
      work.without_effect(path, fmt::format("{} is not given", other));
    }
  };
  if (!copied) {
    needs("engine.offload_num_in_group",
          engine.offload_num_in_group.has_value(),
          "offload_group_size");
    needs("engine.offload_prefetch_step",
          engine.offload_prefetch_step.has_value(),
          "offload_group_size");
  }
  if (!in_place && !copied) {
    needs("engine.offload_bandwidth", engine.offload_bandwidth.has_value(), "cpu_offload_gb");
    return;
  }
  const std::string_view path = copied ? "engine.offload_group_size" : "engine.cpu_offload_gb";
  if ((in_place && copied) || sharding.pipeline_parallel_size > 1) {
    work.note(path,
              in_place && copied
                  ? std::string("beside cpu_offload_gb: vLLM takes one of the two")
                  : std::string("with pipeline_parallel_size above 1 is not modelled yet"));
    return;
  }
  const std::int64_t layers = work.out->network.num_layers();
  const std::int64_t group = engine.offload_group_size.value_or(1);
  const std::int64_t kept = std::min(engine.offload_num_in_group.value_or(1), group);
  const double layer = layer_bytes(work.out->network, sharding);
  const double all = layer * static_cast<double>(layers);
  const std::int64_t copied_layers = layers / group * kept;
  const double bytes = copied ? layer * static_cast<double>(copied_layers)
                              : std::min(all, core::gibibytes(*engine.cpu_offload_gb).value());
  const double buffers =
      copied ? layer * static_cast<double>(engine.offload_prefetch_step.value_or(1)) : 0.0;
  work.out->execution.host_weights = latency::HostWeights{
      .bytes = core::Bytes(bytes),
      .spared = core::Bytes(std::max(bytes - buffers, 0.0)),
      .share = all > 0.0 ? bytes / all : 0.0,
      .bandwidth = core::BytesPerSecond(engine.offload_bandwidth.value_or(kPcie5) * kGiga),
      .copied = copied};
}

/// Models after others' formulas divide by tensor_parallel_size and know nothing further.
void only_kernel_knows(Resolution& work) {
  const model::Sharding& sharding = work.out->execution.sharding;
  const bool plain = sharding.gpus() == sharding.tensor_parallel_size &&
                     sharding.decode_context_parallel_size == 1 && !sharding.expert_parallel &&
                     !work.out->execution.speculation && !work.out->execution.host_weights;
  if (!plain && !work.section().latency.name.starts_with("kernel")) {
    work.note(
        "latency.name",
        fmt::format("{} knows tensor parallelism alone, no other cut of a network and no drafts",
                    work.section().latency.name),
        "--latency kernel");
  }
}

}  // namespace

std::int64_t ranks_in_lock_step(const model::ModelSpec& network, const model::Sharding& sharding) {
  return model::has_experts(network) ? sharding.data_parallel_size : 1;
}

void resolve_parallelism(Resolution& work) {
  const engine::AttentionRanks cut = attention_ranks(work.engine());
  model::Sharding& sharding = work.out->execution.sharding;
  sharding = {.tensor_parallel_size = cut.gpus_each,
              .pipeline_parallel_size = work.engine().pipeline_parallel_size,
              .data_parallel_size = cut.ranks,
              .prefill_context_parallel_size = work.engine().prefill_context_parallel_size,
              .decode_context_parallel_size = work.engine().decode_context_parallel_size,
              .expert_parallel = work.engine().enable_expert_parallel};
  for (const auto backend :
       {model::AllToAllBackend::kDeepEpHighThroughput, model::AllToAllBackend::kDeepEpLowLatency}) {
    if (work.engine().all2all_backend == model::name(backend)) {
      sharding.all_to_all = backend;
    }
  }
  if (auto result = model::check_sharding(work.out->network, sharding); !result) {
    for (auto& error : result.error()) {
      error.where = work.place_of(error.field);
      work.errors.push_back(std::move(error));
    }
    return;
  }
  speculate(work);
  keep_weights_on_host(work);
  only_kernel_knows(work);
  share_workload(work);
  warn_of_nodes(work);
  warn_of_unpriced(work);
}

}  // namespace ridgeline::scenario
