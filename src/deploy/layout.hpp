#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "scenario/deployment.hpp"
#include "scenario/resolve.hpp"

namespace ridgeline::deploy {

/// A flag of an engine's server: "--max-num-seqs" and "256"; a switch has no value.
struct Flag {
  std::string name;
  std::string value = {};
};

/// A variable of a server's environment.
struct Variable {
  std::string name;
  std::string value;
};

/// What a deployment is made from.
struct Input {
  const scenario::Resolved& resolved;
  std::string ridgeline;                    ///< Our version, for the files' first lines.
  std::vector<std::string> predicted = {};  ///< A line each, for people.
  /// What prediction.json holds under `predicted`.
  document::Node prediction = document::Node::map({}, {});
  std::string plan_digest = {};             ///< Digest of the plan that chose it; empty: none.
  std::optional<double> capacity_rps = {};  ///< The largest rate that meets the targets, if known.
  std::optional<std::string> image = {};    ///< In place of the table's.
  std::optional<std::int64_t> min_replicas = {};  ///< For autoscalers; none: as many as planned.
  std::optional<std::int64_t> max_replicas = {};
};

/// Replicas that are alike: all of them, or those that compute prompts, or those that decode.
struct Role {
  std::string name;           ///< "serve", "prefill", "decode"; of a pool, its name.
  std::int64_t replicas = 1;  ///< Servers, each with all its data-parallel ranks.
  std::int64_t gpus = 1;      ///< GPUs of a replica.
  std::int64_t nodes = 1;     ///< That a replica spans.
  std::vector<Flag> flags;    ///< Flags of the engine's server, behind the network.
  std::vector<Variable> variables;
  const scenario::Deployment* deployment = nullptr;
};

/// A deployment as every target writes it down.
struct Layout {
  std::string scenario_digest;
  std::string header;          ///< The first lines, as comments; they end with a line break.
  std::string name;            ///< For objects of Kubernetes: "llama-3-1-70b".
  std::string network;         ///< Hugging Face id: "meta-llama/Llama-3.1-70B-Instruct".
  std::string engine;          ///< "vllm" or another engine's name.
  std::string engine_version;  ///< "0.15"
  std::string image;
  bool is_image_stated = false;  ///< By Input::image.
  std::string router;            ///< The gateway's policy; empty with one replica.
  std::vector<Role> roles;       ///< One, or prefill and decode.
  std::optional<std::int64_t> min_replicas;
  std::optional<std::int64_t> max_replicas;
  std::optional<std::string> node_label;  ///< Label of nodes with the GPU (nvidia.com/gpu.product).
  std::int64_t gpus_per_node = 8;

  [[nodiscard]] bool is_apart() const { return roles.size() > 1; }
  [[nodiscard]] std::int64_t gpus() const;  ///< GPUs of all replicas.
};

/// What a target can express.
struct Abilities {
  std::string_view target;
  std::string_view engine = "vllm";
  /// Routing policies that the files bring about, the target's own first.
  std::span<const std::string_view> routers = {};
  /// Systems (cluster.disaggregation.name) with prefill and decode apart that it can set up.
  std::span<const std::string_view> systems = {};
  bool spans_nodes = false;  ///< One replica over several nodes.
  bool by_nnodes = false;    ///< By `vllm serve --nnodes`, where that version has it.
  bool one_node = false;     ///< All replicas on one node.
  bool autoscales = false;   ///< Writes an autoscaler of min_replicas to max_replicas.
};

/// Why a target can write nothing for an engine ("vllm@0.15") on a GPU, whatever else is deployed;
/// empty where it may.
[[nodiscard]] core::Errors refusals(const Abilities& abilities,
                                    const std::string& engine,
                                    const hardware::GpuSpec& gpu);

/// Waiting requests of a replica above which there is to be one more, in the autoscaler that is
/// written and in its prediction: as in vLLM production-stack's example for KEDA (from memory).
inline constexpr std::int64_t kWaitingPerReplica = 5;

/// The layout of a resolved scenario. Fails with all that the target cannot express: a setting
/// without a flag in that version of the engine, a routing policy, prefill and decode apart, a
/// replica that spans nodes.
[[nodiscard]] core::Result<Layout> layout_of(const Input& input, const Abilities& abilities);

}  // namespace ridgeline::deploy
