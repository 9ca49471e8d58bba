#include "evidence/validate/deployment.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "document/document.hpp"
#include "engine/schedulers.hpp"
#include "evidence/validate/checkpoint.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/loose_node.hpp"
#include "model/model_spec.hpp"
#include "model/weight_format.hpp"
#include "scenario/engine_settings.hpp"
#include "scenario/options.hpp"
#include "scenario/recipes/recipes.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::evidence::validate {
namespace {

/// What a load generator or its recipes do that a record does not repeat: facts about published
/// tools, not about runs.
struct GeneratorFacts {
  std::string_view name;
  /// Requests carry temperature 0: no top-p, no penalty, whatever the network's defaults.
  bool greedy;
  /// The recipes that come with it start servers with asynchronous scheduling.
  bool async_scheduling;
  std::string_view source;
  /// The recipe that its servers were started with (data/recipes); empty: none is known.
  std::string_view recipe = {};
};

constexpr auto kGenerators = std::to_array<GeneratorFacts>({
    {"InferenceX",
     true,
     true,
     "temperature 0 in its benchmark_serving, --async-scheduling in its vLLM recipes",
     "inferencex"},
    {"vllm bench", true, false, "temperature 0 unless set otherwise"},
});

/// In the name of a load generator: it sends random tokens or words, not text. inference-perf's and
/// SGLang's shared prefixes are drawn from the vocabulary too.
constexpr auto kRandomTokens = std::to_array<std::string_view>(
    {"random", "shared_prefix", "shared-prefix", "inference-perf", "ridgeline observe"});

/// Keys of a record's server that are read one by one.
constexpr auto kReadByName = std::to_array<std::string_view>({"max_model_len",
                                                              "max_num_seqs",
                                                              "max_num_batched_tokens",
                                                              "gpu_memory_utilization",
                                                              "block_size",
                                                              "num_gpu_blocks",
                                                              "kv_cache_dtype",
                                                              "enforce_eager",
                                                              "async_scheduling",
                                                              "generation_config",
                                                              "version"});

const GeneratorFacts* facts_of(const std::string& generator) {
  const auto* const found = std::ranges::find_if(
      kGenerators, [&](const GeneratorFacts& facts) { return mentions(generator, facts.name); });
  return found == kGenerators.end() ? nullptr : found;
}

document::Node word(std::string_view text) {
  return document::Node::string(std::string(text), {.file = "record"});
}

/// The quantization_config that a word stands for, as published checkpoints have it; nothing where
/// there is none to set. NVFP4 checkpoints of networks with latent attention keep that in 16 bits.
std::optional<document::Node> quantisation_of(std::string_view format, bool has_latent_attention) {
  struct Scheme {
    std::string_view word;
    std::string_view config;
  };
  constexpr std::string_view kNvfp4 = R"({"quant_method": "modelopt", "quant_algo": "NVFP4"})";
  constexpr std::string_view kInt8 = R"({"quant_method": "compressed-tensors", "config_groups": {
      "group_0": {"weights": {"num_bits": 8, "type": "int"},
                  "input_activations": {"num_bits": 8, "type": "int"}}}})";
  static constexpr auto kSchemes = std::to_array<Scheme>(
      {{"nvfp4", kNvfp4},
       {"mxfp4", R"({"quant_method": "mxfp4"})"},
       {"fp4", kNvfp4},
       {"fp8_block", R"({"quant_method": "fp8", "weight_block_size": [128, 128]})"},
       {"fp8", R"({"quant_method": "fp8"})"},
       {"awq", R"({"quant_method": "awq", "bits": 4, "group_size": 128})"},
       {"int4", R"({"quant_method": "awq", "bits": 4, "group_size": 128})"},
       {"w4a16", R"({"quant_method": "awq", "bits": 4, "group_size": 128})"},
       {"gptq", R"({"quant_method": "gptq", "bits": 4, "group_size": 128})"},
       {"int8", kInt8},
       {"w8a8", kInt8}});
  const auto* const scheme = std::ranges::find_if(
      kSchemes, [&](const Scheme& known) { return format.find(known.word) != std::string::npos; });
  if (scheme == kSchemes.end()) {
    return std::nullopt;
  }
  const bool apart = scheme->config == kNvfp4 && has_latent_attention;
  const auto config =
      document::parse_json(apart ? R"({"quant_method": "modelopt", "quant_algo": "NVFP4",
                  "exclude_modules": ["*self_attn*", "lm_head"]})"
                                 : scheme->config,
                           "record");
  RIDGELINE_CHECK(config.has_value(), "a quantization_config of our own");
  return *config;
}

/// Whether a record's word for its engine names one of the registry: "vLLM (V1)", "trtllm"; without
/// a word it is vLLM.
bool is_simulated(const std::string& engine) {
  const auto found = engine::find_engine(scenario::named_version(core::lower_case(engine)));
  return engine.empty() || mentions(engine, "vllm") || (found && found->engine->own != nullptr);
}

/// ", sglang and tensorrt-llm": those of the registry that are not vLLM.
std::string other_engines() {
  std::string text;
  std::string last;
  for (const engine::SchedulerEntry& entry : engine::schedulers()) {
    if (entry.own != nullptr) {
      text += last.empty() ? last : fmt::format(", {}", last);
      last = entry.name;
    }
  }
  return fmt::format("{} and {}", text, last);
}

class Deployer {
 public:
  explicit Deployer(Evidence& evidence) : evidence_(evidence) {
    if (!evidence.engine_version.empty()) {
      section_.version = scenario::named_version(evidence.engine_version);
    }
  }

  core::Result<scenario::Resolved> run(const std::vector<scenario::Override>& overrides) {
    choose_checkpoint();
    const auto states = [&](std::string_view path) {
      return std::ranges::find(overrides, path, &scenario::Override::path) != overrides.end();
    };
    if (evidence_.gpu.empty() && !evidence_.usual_gpu.empty() && !states("gpu")) {
      evidence_.gpu = evidence_.usual_gpu;
      assume(fmt::format("GPU {}: no file of the experiment names one", evidence_.gpu));
    }
    if (!network_.empty()) {
      set("model", network_);
    }
    if (!evidence_.gpu.empty()) {
      set("gpu", evidence_.gpu);
    }
    set("engine.tensor_parallel_size", fmt::format("{}", evidence_.tensor_parallel));
    if (evidence_.pipeline_parallel > 1) {
      set("engine.pipeline_parallel_size", fmt::format("{}", evidence_.pipeline_parallel));
    }
    if (evidence_.data_parallel > 1 && has_experts()) {
      set("engine.data_parallel_size", fmt::format("{}", evidence_.data_parallel));
    }
    share_out();
    if (evidence_.expert_parallel > 1 && has_experts()) {
      set("engine.enable_expert_parallel", "true");
    }
    if (evidence_.engine_version.empty()) {
      if (!states("engine.version")) {
        assume("engine version: the default, vllm@0.15");
      }
    } else {
      set("engine.version", section_.version);
    }
    server();
    generator();
    if (is_vllm() && evidence_.server.names_script) {
      recipe();
    }
    first_requests();
    for (const auto& [path, text] : evidence_.stated) {
      replace({.path = path, .text = text});
    }
    for (const auto& change : overrides) {
      replace(change);
    }
    auto loaded = scenario::load_scenario(std::nullopt, overrides_, scenario::Purpose::kLook);
    if (!loaded) {
      return core::fail(loaded.error());
    }
    quantise(loaded->scenario.deployment);
    extend_positions(loaded->scenario.deployment);
    const auto ranks = loaded->scenario.deployment.engine.data_parallel_size;
    if (ranks > 1 && !evidence_.fleet) {
      assume(fmt::format("requests go to the {} data-parallel ranks in turn; one is simulated",
                         ranks));
    }
    return scenario::resolve(std::move(*loaded));
  }

 private:
  void set(std::string path, std::string text) {
    overrides_.push_back({.path = std::move(path), .text = std::move(text)});
  }
  /// Replaces the override of a path; maps of changes add up instead.
  void replace(const scenario::Override& change) {
    if (change.path != "set" && change.path != "latency.set") {
      std::erase_if(overrides_,
                    [&](const scenario::Override& known) { return known.path == change.path; });
    }
    overrides_.push_back(change);
  }
  void assume(std::string text) { evidence_.assumed.push_back(std::move(text)); }

  void set_count(std::string path, const std::optional<std::int64_t>& value) {
    if (value) {
      set(std::move(path), fmt::format("{}", *value));
    }
  }
  void set_truth(std::string path, const std::optional<bool>& value) {
    if (value) {
      set(std::move(path), *value ? "true" : "false");
    }
  }

  void server() {
    if (!is_vllm()) {
      other_server();
      return;
    }
    const ServerFacts& facts = evidence_.server;
    const std::int64_t clients = most_in_flight();
    if (facts.max_num_seqs) {
      set_count("engine.max_num_seqs", facts.max_num_seqs);
    } else if (clients > 0 && evidence_.tells_server) {
      set_count("engine.max_num_seqs", clients);
      assume(fmt::format("max_num_seqs {}: the number of clients", clients));
    } else {
      assume("max_num_seqs: vLLM's default for the GPU");
    }
    if (facts.max_num_batched_tokens) {
      set("engine.max_num_batched_tokens",
          fmt::format("{}",
                      std::max(*facts.max_num_batched_tokens, facts.max_num_seqs.value_or(1))));
    } else {
      assume("max_num_batched_tokens: vLLM's default for the GPU");
    }
    set_count("engine.block_size", facts.block_size);
    set_count("engine.num_gpu_blocks", facts.num_gpu_blocks);
    if (!facts.num_gpu_blocks) {
      assume("KV blocks: what the memory plan leaves");
      if (facts.gpu_memory_utilization) {
        set("engine.gpu_memory_utilization", fmt::format("{}", *facts.gpu_memory_utilization));
      }
    }
    set_truth("engine.enable_prefix_caching", facts.prefix_caching);
    set_truth("engine.enable_chunked_prefill", facts.chunked_prefill);
    set_truth("engine.enforce_eager", facts.enforce_eager);
    cache_format();
    model_length();
    further_settings();
  }

  /// Limits and switches by the names that the engine has for vLLM's.
  void other_server() {
    const ServerFacts& facts = evidence_.server;
    const auto own = [&](std::string_view vllm) {
      return fmt::format("engine.{}", scenario::own_key(section_, vllm));
    };
    set_count(own("max_num_seqs"), facts.max_num_seqs);
    set_count(own("max_num_batched_tokens"), facts.max_num_batched_tokens);
    set_count(own("block_size"), facts.block_size);
    set_count(own("num_gpu_blocks"), facts.num_gpu_blocks);
    if (facts.gpu_memory_utilization) {
      set(own("gpu_memory_utilization"), fmt::format("{}", *facts.gpu_memory_utilization));
    }
    if (facts.prefix_caching) {
      const std::string path = own("enable_prefix_caching");
      const bool is_negated = path.starts_with("engine.disable");
      set(path, *facts.prefix_caching != is_negated ? "true" : "false");
    }
    cache_format();
    model_length();
    further_settings();
    recipe();
    assume(fmt::format("what the record does not say: {}'s defaults", section_.version));
  }

  /// What the load generator's recipe says of the server, where the record does not.
  void recipe() {
    const GeneratorFacts* facts = facts_of(evidence_.generator);
    if (facts == nullptr || facts->recipe.empty()) {
      return;
    }
    auto applied = scenario::apply_recipe(facts->recipe, recipe_facts());
    if (!applied) {
      return;
    }
    std::erase_if(applied->settings, [&](const scenario::Override& setting) {
      return std::ranges::find(overrides_, setting.path, &scenario::Override::path) !=
             overrides_.end();
    });
    if (applied->settings.empty()) {
      return;
    }
    assume(applied->text(facts->recipe));
    overrides_.insert(overrides_.end(), applied->settings.begin(), applied->settings.end());
  }

  [[nodiscard]] scenario::RecipeFacts recipe_facts() const {
    scenario::Scenario known;
    known.deployment.model = network_;
    known.deployment.gpu = evidence_.gpu;
    known.deployment.engine = section_;
    known.deployment.engine.tensor_parallel_size = evidence_.tensor_parallel;
    scenario::RecipeFacts facts = scenario::recipe_facts(known);
    facts.format = core::lower_case(evidence_.precision);
    facts.date = evidence_.date;
    facts.version = evidence_.stated_version;
    if (const std::int64_t clients = most_in_flight(); clients > 0) {
      facts.clients = clients * evidence_.data_parallel;
    }
    const double longest = std::max(evidence_.input.mean, evidence_.input.highest);
    if (longest > 0.0) {
      facts.prompt_tokens = static_cast<std::int64_t>(longest);
    }
    return facts;
  }

  void cache_format() {
    // "auto" is what tables say where nothing is known: a recipe may know it.
    const auto& format = evidence_.server.kv_cache_dtype;
    if (format && (is_vllm() || *format != "auto")) {
      set("engine.kv_cache_dtype", mentions(*format, "fp8") ? "fp8" : "auto");
    }
    if (is_sibling_ && is_vllm() && (!format || *format == "auto")) {
      set("engine.kv_cache_dtype", "bfloat16");
      assume("KV cache in 16 bits");
    }
  }

  /// What the record says by the engine's own names.
  void further_settings() {
    for (const auto& [key, text] : evidence_.server.settings) {
      const std::string path = fmt::format("engine.{}", key);
      const scenario::Option* option = scenario::find_option(path);
      const bool known =
          std::ranges::find(overrides_, path, &scenario::Override::path) != overrides_.end();
      if (option != nullptr && !known && scenario::applies(*option, section_) &&
          std::ranges::find(kReadByName, key) == kReadByName.end()) {
        set(path, text);
      }
    }
  }

  /// Recipes name a degree for dense networks as well, where it means nothing.
  [[nodiscard]] bool has_experts() const {
    const auto network = model::find_model(network_);
    return network && model::has_experts(*network);
  }

  [[nodiscard]] bool has_latent_attention() const {
    const auto network = model::find_model(network_);
    return network && std::ranges::any_of(network->layers, [](const model::LayerGroup& group) {
             return group.attention.latent.has_value();
           });
  }

  /// The record's limit as far as the network and the KV cache go along; vLLM would not have
  /// started otherwise, so that one of our figures is then off.
  void model_length() {
    const auto network = model::find_model(network_);
    if (!evidence_.server.max_model_len || !network) {
      return;
    }
    std::int64_t length = std::min(*evidence_.server.max_model_len, network->max_position.value());
    if (evidence_.server.num_gpu_blocks) {
      const std::int64_t blocks = *evidence_.server.num_gpu_blocks - 1;
      length = std::min(length, blocks * evidence_.server.block_size.value_or(16));
    }
    if (length > 0) {
      set_count("engine.max_model_len", length);
    }
  }

  /// What a record has of a server's first requests alone, no warm-up can have spared.
  void first_requests() {
    if (evidence_.stage.starts_with(kFirstRequests) && is_vllm() && has_experts()) {
      set("serving.first_use_stalls", "true");
      assume("stalls where kernels of experts are used first: the record is of first requests");
    }
  }

  void generator() {
    const GeneratorFacts* facts = facts_of(evidence_.generator);
    const bool sends_random_tokens = std::ranges::any_of(
        kRandomTokens,
        [this](std::string_view word) { return mentions(evidence_.generator, word); });
    if (sends_random_tokens && has_experts()) {
      set("latency.random_tokens", "true");
      assume("prompts of random tokens, as its load generator sends them");
    }
    if (evidence_.generation_config) {
      set("engine.generation_config", *evidence_.generation_config);
    } else if (facts != nullptr && facts->greedy) {
      set("engine.generation_config", "vllm");
    }
    if (!is_vllm()) {
      return;
    }
    if (evidence_.server.async_scheduling) {
      set_truth("engine.async_scheduling", evidence_.server.async_scheduling);
    } else if (facts != nullptr && facts->async_scheduling) {
      set("engine.async_scheduling", "true");
    }
    if (facts != nullptr && !evidence_.generation_config) {
      assume(fmt::format("as {} does: {}", facts->name, facts->source));
    }
  }

  [[nodiscard]] std::int64_t most_in_flight() const {
    std::int64_t most = 0;
    for (const auto& stage : evidence_.stages) {
      most = std::max(most, stage.concurrency);
    }
    return most;
  }

  /// A precision that is not the network's own names another checkpoint of it.
  void choose_checkpoint() {
    network_ = evidence_.model;
    wanted_ = weight_kind(evidence_.weight_quantisation);
    if (!wanted_ || kind_of_network(network_) == wanted_) {
      wanted_.reset();
      return;
    }
    if (const auto sibling = sibling_of(network_, *wanted_)) {
      assume(fmt::format("{} of {}: the checkpoint {}", precision_word(), network_, *sibling));
      network_ = *sibling;
      wanted_.reset();
      // What the cache is kept in is the server's setting; checkpoints state it for newer engines.
      is_sibling_ = true;
    }
  }

  [[nodiscard]] const std::string& precision_word() const {
    return evidence_.precision.empty() ? evidence_.weight_quantisation : evidence_.precision;
  }

  /// The record's weight format over that of a network of which no such checkpoint is known.
  void quantise(scenario::DeploymentSection& deployment) {
    if (!wanted_) {
      return;
    }
    if (*wanted_ == WeightKind::k32Bit) {
      deployment.patches.push_back(
          {.target = "model", .key = "torch_dtype", .value = word("float32")});
      assume("weights and activations in 32 bits");
      return;
    }
    auto scheme = quantisation_of(evidence_.weight_quantisation, has_latent_attention());
    assume(scheme ? fmt::format("weights and activations in {}, but for {}",
                                evidence_.weight_quantisation,
                                *wanted_ == WeightKind::kFp4 && has_latent_attention()
                                    ? "attention and lm_head"
                                    : "lm_head")
                  : fmt::format("{}: without the network's own quantisation", precision_word()));
    deployment.patches.push_back(
        {.target = "model",
         .key = "quantization_config",
         .value = scheme ? std::move(*scheme) : document::Node::null({.file = "record"})});
  }

  /// Prompts that were served are longer than the network was made for: its positions went on.
  void extend_positions(scenario::DeploymentSection& deployment) {
    const auto network = model::find_model(network_);
    const auto tokens =
        static_cast<std::int64_t>(std::max(evidence_.input.mean, evidence_.input.highest) +
                                  std::max(evidence_.output.mean, evidence_.output.highest));
    if (!network || !evidence_.tells_server || tokens <= network->max_position.value() ||
        evidence_.measured.empty()) {
      return;
    }
    assume(fmt::format("positions up to {}: more than the {} of the network, as the run had",
                       tokens,
                       network->max_position.value()));
    deployment.patches.push_back({.target = "model",
                                  .key = "max_position_embeddings",
                                  .value = document::Node::integer(tokens, {.file = "record"})});
  }

  /// More GPUs than an instance has are further instances, and so are the data-parallel ranks of a
  /// dense network. Public dumps count ranks of expert parallelism as GPUs.
  void share_out() {
    if (evidence_.fleet) {
      return;  // All of it is simulated.
    }
    const std::int64_t of_instance = evidence_.tensor_parallel * evidence_.pipeline_parallel *
                                     evidence_.data_parallel * evidence_.expert_parallel;
    evidence_.replicas = has_experts() ? 1 : evidence_.data_parallel;
    if (evidence_.num_gpus > of_instance && evidence_.num_gpus % of_instance == 0) {
      evidence_.replicas *= evidence_.num_gpus / of_instance;
    }
    if (evidence_.replicas > 1) {
      assume(fmt::format("{} instances, each with its share of the requests; one is simulated",
                         evidence_.replicas));
    }
  }

  [[nodiscard]] bool is_vllm() const { return section_.version.starts_with("vllm"); }

  Evidence& evidence_;
  std::string network_;               ///< The checkpoint that ran.
  std::optional<WeightKind> wanted_;  ///< A format that no checkpoint of the network has.
  bool is_sibling_ = false;           ///< It is not the network that the record names.
  scenario::EngineSection section_;
  std::vector<scenario::Override> overrides_;
};

}  // namespace

core::Result<scenario::Resolved> deploy(Evidence& evidence,
                                        const std::vector<scenario::Override>& overrides) {
  if (!is_simulated(evidence.engine)) {
    return core::fail(core::Error{.message = fmt::format("engine {} is not simulated, only vllm{}",
                                                         evidence.engine,
                                                         other_engines())});
  }
  const std::vector<std::string> before = evidence.assumed;
  auto resolved = Deployer(evidence).run(overrides);
  while (!evidence.knows_ranks && !resolved &&
         evidence.num_gpus % (2 * evidence.tensor_parallel) == 0) {
    evidence.tensor_parallel *= 2;
    evidence.assumed = before;
    resolved = Deployer(evidence).run(overrides);
  }
  if (!evidence.knows_ranks) {
    evidence.assumed.push_back(fmt::format(
        "tensor parallelism {}: the least that holds the network", evidence.tensor_parallel));
  }
  return resolved;
}

std::optional<std::string> doubt_of_network(const Evidence& evidence,
                                            const std::vector<scenario::Override>& overrides) {
  const auto given = std::ranges::find(overrides, "model", &scenario::Override::path);
  if (evidence.tells_server || evidence.model.empty() || given == overrides.end()) {
    return std::nullopt;
  }
  const auto measured = model::find_model(evidence.model);
  const auto simulated = model::find_model(given->text);
  if (!measured || !simulated || measured->name == simulated->name) {
    return std::nullopt;
  }
  return fmt::format("was measured with {}, --model is {}", evidence.model, given->text);
}

}  // namespace ridgeline::evidence::validate
