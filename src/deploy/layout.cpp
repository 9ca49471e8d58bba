#include "deploy/layout.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/check.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "deploy/flags.hpp"
#include "deploy/header.hpp"
#include "deploy/images.hpp"
#include "deploy/paths.hpp"
#include "deploy/statement.hpp"
#include "document/catalogue.hpp"
#include "document/document.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/network_id.hpp"
#include "scenario/deployment.hpp"
#include "scenario/digest.hpp"
#include "scenario/engine_settings.hpp"
#include "scenario/foreign_flags.hpp"
#include "scenario/options.hpp"
#include "scenario/pools.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "scenario/sections/router.hpp"

namespace ridgeline::deploy {
namespace {

using document::Node;
using scenario::Provenance;

constexpr std::string_view kAutoscaling = "cluster.autoscaling.";
/// Sections whose settings no target writes yet: stated, they are refused.
constexpr auto kUnwritten = std::to_array<std::string_view>({"cluster.kv_offload.",
                                                             "cluster.admission.",
                                                             "cluster.tenants",
                                                             kAutoscaling,
                                                             "cluster.rolling_update.",
                                                             "cluster.retries.",
                                                             "cluster.health_check."});
/// Settings of a gateway that a target's own default has to be.
constexpr auto kGatewaysOwn =
    std::to_array<std::string_view>({"cluster.router.scorers",
                                     "cluster.router.filters",
                                     "cluster.router.picker",
                                     "cluster.disaggregation.decider",
                                     "cluster.disaggregation.non_cached_tokens",
                                     "cluster.disaggregation.min_prompt_tokens",
                                     "cluster.disaggregation.uncached_share",
                                     "cluster.disaggregation.stage_order",
                                     "cluster.disaggregation.first_token",
                                     "cluster.disaggregation.prefill_router"});

/// Architectures whose GPUs the files ask for (`CUDA_VISIBLE_DEVICES`, `nvidia.com/gpu`).
constexpr auto kNvidia = std::to_array<std::string_view>({"ampere", "ada", "hopper", "blackwell"});

/// A name that Kubernetes takes: lower case, digits and dashes, at most 40 characters, so that what
/// is put behind it fits too.
std::string object_name(std::string_view network) {
  constexpr std::size_t kMost = 40;
  std::string name;
  for (const char c : core::lower_case(network.substr(network.rfind('/') + 1))) {
    const bool is_fine = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    name += is_fine ? c : '-';
  }
  name = name.substr(0, kMost);
  const auto last = name.find_last_not_of('-');
  const auto first = name.find_first_of("abcdefghijklmnopqrstuvwxyz");
  return first == std::string::npos ? "model" : name.substr(first, last + 1 - first);
}

/// What `docker run` takes for an image, and for nothing else.
bool is_image(std::string_view text) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  return !text.empty() && is_letter(text.front()) && std::ranges::all_of(text, [&](char c) {
    return is_letter(c) || std::string_view("-_./:@").find(c) != std::string_view::npos;
  });
}

/// What a target has to express, and what of it it cannot.
class LayoutMaker {
 public:
  LayoutMaker(const Input& input, const Abilities& abilities)
      : input_(input), resolved_(input.resolved), abilities_(abilities) {}

  core::Result<Layout> run() {
    name_engine();
    if (auto network = model::network_id(resolved_.deployment->section.model)) {
      layout_.network = std::move(*network);
      layout_.name = object_name(layout_.network);
    } else {
      keep(network.error());
    }
    refuse_unwritten();
    make_roles();
    check_routing();
    if (!errors_.empty()) {
      return core::fail(std::move(errors_));
    }
    layout_.min_replicas = input_.min_replicas;
    layout_.max_replicas = input_.max_replicas;
    layout_.gpus_per_node = resolved_.deployment->gpu.gpus_per_node;
    layout_.node_label = node_label(resolved_.deployment->gpu.name);
    return write_header();
  }

 private:
  void keep(const core::Errors& errors) {
    for (core::Error error : errors) {
      if (error.where.file.empty() && scenario::find_option(error.field) != nullptr) {
        error.where = scenario::provenance_of(resolved_.provenance, error.field).where;
      }
      errors_.push_back(std::move(error));
    }
  }

  void refuse(std::string_view field, std::string message, std::string hint) {
    keep({{.field = std::string(field),
           .message = fmt::format("{}: {}", abilities_.target, message),
           .hint = std::move(hint)}});
  }

  [[nodiscard]] bool is_stated(std::string_view path) const {
    return deploy::is_stated(scenario::provenance_of(resolved_.provenance, path));
  }

  void name_engine() {
    const std::string& version = resolved_.deployment->section.engine.version;
    const auto at = version.find('@');
    layout_.engine = version.substr(0, at);
    layout_.engine_version = at == std::string::npos ? "" : version.substr(at + 1);
    keep(refusals(abilities_, version, resolved_.deployment->gpu));
    layout_.is_image_stated = input_.image.has_value();
    if (input_.image && !is_image(*input_.image)) {
      errors_.push_back({.field = "--image",
                         .message = fmt::format("found {}, expected an image as REPOSITORY:TAG",
                                                core::quote(*input_.image)),
                         .where = {.file = "command line"},
                         .hint = "--image vllm/vllm-openai:v0.15.1"});
    }
    if (errors_.empty()) {
      layout_.image = input_.image.value_or(image_of(layout_.engine, layout_.engine_version));
    }
  }

  void refuse_unwritten() {
    // An autoscaler's prediction is written where the autoscaler is.
    const bool writes_autoscaler = abilities_.autoscales && input_.max_replicas;
    for (const scenario::Option& option : scenario::options()) {
      const bool is_unwritten = std::ranges::any_of(kUnwritten, [&](std::string_view path) {
        return option.path.starts_with(path) && !(writes_autoscaler && path == kAutoscaling);
      });
      const bool is_gateways = std::ranges::find(kGatewaysOwn, option.path) != kGatewaysOwn.end() ||
                               is_router_parameter(option);
      if ((is_unwritten || is_gateways) && is_stated(option.path)) {
        refuse(option.path, "is not written into deployment files yet", "deploy without it");
      }
    }
    for (const scenario::Patch& patch : resolved_.deployment->section.patches) {
      if (patch.target == "model") {
        refuse("set",
               fmt::format("model.{} is a what-if that no network on disk has", patch.key),
               "deploy the network as it is published");
      }
    }
  }

  static bool is_router_parameter(const scenario::Option& option) {
    return option.section() == "cluster.router" && !option.named_kind.empty();
  }

  /// One role from a deployment: its flags, its GPUs.
  Role make_role(std::string name,
                 const scenario::Deployment& deployment,
                 const scenario::ResolvedPool* pool) {
    Role role;
    role.name = std::move(name);
    role.deployment = &deployment;
    const scenario::EngineSection& engine = deployment.section.engine;
    const std::vector<OptionValue> values = engine_values(resolved_, deployment, pool);
    if (const Dialect* dialect = find_dialect(layout_.engine)) {
      core::Errors errors;
      dialect->put(values, engine.version, role, errors);
      keep(errors);
    }
    const auto ranks = scenario::attention_ranks(engine);
    role.gpus = ranks.ranks * ranks.gpus_each * engine.pipeline_parallel_size *
                engine.prefill_context_parallel_size;
    const std::int64_t per_node = deployment.gpu.gpus_per_node;
    role.nodes = (role.gpus + per_node - 1) / per_node;
    if (role.nodes > 1 && !abilities_.spans_nodes) {
      check_nodes(role, engine);
    }
    return role;
  }

  /// Whether a replica can be spread over nodes by hand: by a flag that vLLM has since 0.13, each
  /// node with as many GPUs. Data-parallel ranks of several nodes have flags of their own, which no
  /// target writes.
  void check_nodes(const Role& role, const scenario::EngineSection& engine) {
    constexpr scenario::Version kSince = {0, 13};
    const std::string what = fmt::format(
        "a replica of {} GPUs spans {} nodes of {}", role.gpus, role.nodes, gpus_per_node());
    const auto version = scenario::parse_version(engine.version);
    if (!abilities_.by_nnodes) {
      refuse("engine.tensor_parallel_size", what, "--deployment-target vllm, dynamo or llm-d-helm");
    } else if (engine.data_parallel_size > 1 || role.gpus % role.nodes != 0) {
      refuse("engine.tensor_parallel_size",
             what + ", which it can only with one data-parallel rank and as many GPUs on each",
             "--deployment-target dynamo or llm-d-helm");
    } else if (version && *version < kSince) {
      refuse("engine.tensor_parallel_size",
             what + fmt::format(", and vLLM {} has no --nnodes", layout_.engine_version),
             "--engine-version vllm@0.13, or --deployment-target dynamo or llm-d-helm");
    }
  }

  [[nodiscard]] std::int64_t gpus_per_node() const {
    return resolved_.deployment->gpu.gpus_per_node;
  }

  void make_roles() {
    const scenario::ClusterSection& cluster = resolved_.run.cluster;
    const auto& prefill = cluster.disaggregation.prefill_instances;
    const std::int64_t instances = cluster.instances.value_or(1);
    const std::int64_t ranks =
        scenario::attention_ranks(resolved_.deployment->section.engine).ranks;
    const std::int64_t per_replica = cluster.instances ? ranks : 1;
    if (!resolved_.pools.empty()) {
      make_pool_roles();
    } else if (prefill) {
      for (const bool computes : {true, false}) {
        Role role = make_role(computes ? "prefill" : "decode", *resolved_.deployment, nullptr);
        role.replicas = (computes ? *prefill : instances - *prefill) / per_replica;
        layout_.roles.push_back(std::move(role));
      }
    } else {
      Role role = make_role("serve", *resolved_.deployment, nullptr);
      role.replicas = instances / per_replica;
      layout_.roles.push_back(std::move(role));
    }
    if (prefill) {
      check_apart();
    }
    if (abilities_.one_node && layout_.gpus() > gpus_per_node()) {
      refuse("cluster.instances",
             fmt::format("{} GPUs are more than the {} of a node", layout_.gpus(), gpus_per_node()),
             "--deployment-target vllm or kubernetes, or one of fewer replicas for each node");
    }
  }

  void make_pool_roles() {
    const auto& prefill = resolved_.run.cluster.disaggregation.prefill_instances;
    const bool is_pair = prefill && resolved_.pools.size() == 2 &&
                         resolved_.pools.front().section.instances == *prefill;
    if (!is_pair) {
      refuse("cluster.pools",
             "pools other than one that computes prompts and one that decodes are not written into "
             "deployment files yet",
             "deploy each pool by itself");
      return;
    }
    for (const scenario::ResolvedPool& pool : resolved_.pools) {
      const std::string name = layout_.roles.empty() ? "prefill" : "decode";
      Role role = make_role(name, *pool.deployment, &pool);
      role.replicas = pool.section.instances;
      layout_.roles.push_back(std::move(role));
    }
  }

  void check_apart() {
    const std::string system = resolved_.run.cluster.disaggregation.name.value_or("llm-d");
    if (std::ranges::find(abilities_.systems, system) != abilities_.systems.end()) {
      return;
    }
    refuse(
        kPrefillInstances,
        abilities_.systems.empty()
            ? std::string("cannot keep prefill and decode apart, which needs a proxy between them")
            : fmt::format("keeps prefill and decode apart as {} does, not as {}",
                          fmt::join(abilities_.systems, ", "),
                          system),
        abilities_.systems.empty()
            ? "--deployment-target llm-d-helm, dynamo or kserve"
            : fmt::format("--disaggregation {}", abilities_.systems.front()));
  }

  void check_routing() {
    const bool is_chosen =
        std::ranges::any_of(layout_.roles, [](const Role& role) { return role.replicas > 1; });
    if (!is_chosen && !layout_.is_apart()) {
      return;
    }
    layout_.router = scenario::router_name(resolved_.run.cluster.router);
    if (std::ranges::find(abilities_.routers, layout_.router) == abilities_.routers.end()) {
      refuse("cluster.router.name",
             fmt::format("cannot route by {}, only by {}",
                         layout_.router,
                         fmt::join(abilities_.routers, ", ")),
             fmt::format("--router {}, or another target", abilities_.routers.front()));
    }
  }

  /// Reads back what the files will say: the same scenario, with the same memory.
  core::Result<Layout> write_header() {
    auto stated = stated_scenario(resolved_);
    auto loaded = scenario::read_scenario(stated, {}, scenario::Purpose::kLook);
    if (!loaded) {
      return core::fail(std::move(loaded).error());
    }
    auto again = scenario::resolve(std::move(*loaded));
    if (!again) {
      return core::fail(std::move(again).error());
    }
    const auto blocks = [](const scenario::Resolved& resolved) {
      return resolved.deployment->engine.num_gpu_blocks;
    };
    if (blocks(*again) != blocks(resolved_)) {
      return core::fail(core::ErrorCode::kInternal,
                        fmt::format("the flags give {} KV blocks, the plan has {}",
                                    blocks(*again).value(),
                                    blocks(resolved_).value()));
    }
    layout_.scenario_digest = scenario::scenario_digest(again->scenario());
    layout_.header =
        header_text({.layout = layout_, .input = input_, .assumed = assumed_part(resolved_)});
    return std::move(layout_);
  }

  const Input& input_;
  const scenario::Resolved& resolved_;
  const Abilities& abilities_;
  Layout layout_;
  core::Errors errors_;
};

}  // namespace

std::int64_t Layout::gpus() const {
  std::int64_t sum = 0;
  for (const Role& role : roles) {
    sum += role.replicas * role.gpus;
  }
  return sum;
}

core::Errors refusals(const Abilities& abilities,
                      const std::string& engine,
                      const hardware::GpuSpec& gpu) {
  core::Errors errors;
  if (engine.substr(0, engine.find('@')) != abilities.engine) {
    errors.push_back(
        {.field = "engine.version",
         .message = fmt::format(
             "{}: deploys {}, and the engine is {}", abilities.target, abilities.engine, engine),
         .hint = "a plan of one engine is never translated for another"});
  }
  if (std::ranges::find(kNvidia, gpu.architecture) == kNvidia.end()) {
    errors.push_back(
        {.field = "gpu",
         .message = fmt::format(
             "{}: writes files for GPUs of NVIDIA, and {} is none", abilities.target, gpu.name),
         .hint = "--gpu h100"});
  }
  return errors;
}

core::Result<Layout> layout_of(const Input& input, const Abilities& abilities) {
  return LayoutMaker(input, abilities).run();
}

}  // namespace ridgeline::deploy
