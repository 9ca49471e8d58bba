#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/result.hpp"
#include "core/text.hpp"
#include "core/version.hpp"
#include "deploy/deployment.hpp"
#include "deploy/flags.hpp"
#include "deploy/registry.hpp"
#include "document/node_builder.hpp"
#include "document/save.hpp"
#include "metrics/slo.hpp"
#include "metrics/summary_tree.hpp"
#include "report/format.hpp"
#include "report/palette.hpp"
#include "scenario/engine_settings.hpp"
#include "scenario/options.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "sim/simulation.hpp"
#include "verbs/registry.hpp"
#include "verbs/run.hpp"
#include "verbs/run/run_result.hpp"
#include "verbs/verb.hpp"

namespace ridgeline::verbs {
namespace {

std::vector<const deploy::Target*> take_targets(Request& request) {
  std::vector<std::string> names = request.take_texts("deployment_target");
  if (names.empty()) {
    names.emplace_back(deploy::targets().front()->abilities.target);
  }
  std::vector<const deploy::Target*> targets;
  for (const std::string& name : names) {
    const auto target = deploy::find_target(name);
    if (target) {
      targets.push_back(*target);
    } else {
      request.add(target.error().front());
    }
  }
  return targets;
}

/// Fewest and most.
using ReplicaRange = std::optional<std::pair<std::int64_t, std::int64_t>>;

/// "2-6".
ReplicaRange take_replica_range(Request& request) {
  const std::string text = request.take_text("autoscale");
  if (text.empty()) {
    return std::nullopt;
  }
  const auto dash = text.find('-');
  const auto least = deploy::read_count(text.substr(0, dash));
  const auto most = dash == std::string::npos ? least : deploy::read_count(text.substr(dash + 1));
  if (!least || !most || *least < 1 || *most < *least) {
    request.add(
        request.problem("autoscale",
                        fmt::format("found '{}', expected the fewest and the most replicas", text),
                        "2-6"));
    return std::nullopt;
  }
  return std::pair(*least, *most);
}

/// The settings of the autoscaler that is written, so that what is predicted is what is written. It
/// begins with the fewest replicas, unless the scenario says with how many.
void add_autoscaler(Request& request, const ReplicaRange& range) {
  if (!range) {
    return;
  }
  const auto plain = request.load(scenario::Purpose::kRun);
  const auto path_of = [](std::string_view flag) {
    return std::ranges::find(scenario::options(), flag, &scenario::Option::flag)->path;
  };
  const bool states_instances =
      request.states(path_of("instances")) || (plain && plain->scenario.run.cluster.instances);
  // Data-parallel ranks of one replica are instances of their own.
  const std::int64_t ranks =
      plain ? scenario::attention_ranks(plain->scenario.deployment.engine).ranks : 1;
  std::vector<std::pair<std::string_view, std::string>> settings = {
      {"autoscaling", "hpa"},
      {"min-replicas", fmt::format("{}", range->first)},
      {"max-replicas", fmt::format("{}", range->second)},
      {"metric", "waiting"},
      {"target", fmt::format("{}", deploy::kWaitingPerReplica)}};
  if (!states_instances) {
    settings.emplace_back("instances", fmt::format("{}", range->first * ranks));
  }
  for (const auto& [flag, value] : settings) {
    if (request.states(path_of(flag))) {
      request.add(
          request.problem(flag, "found beside --autoscale, which says it: expected one of them"));
    }
  }
  if (request.errors().empty()) {
    for (auto& [flag, value] : settings) {
      request.lay_over({.path = std::string(path_of(flag)), .text = std::move(value)});
    }
  }
}

/// A scenario of several instances that names no router gets the targets' own.
core::Result<void> choose_router(std::span<const deploy::Target* const> targets,
                                 const ReplicaRange& range,
                                 scenario::LoadedScenario& loaded,
                                 const Request& request) {
  scenario::ClusterSection& cluster = loaded.scenario.run.cluster;
  // Data-parallel ranks of one replica get requests from their own engine.
  const std::int64_t ranks = scenario::attention_ranks(loaded.scenario.deployment.engine).ranks;
  const std::int64_t most = range ? range->second : cluster.instances.value_or(1) / ranks;
  if (most < 2 || cluster.router.name) {
    return {};
  }
  const std::string_view router = deploy::common_router(targets);
  if (router.empty()) {
    return core::fail(request.problem("deployment_target",
                                      "these targets have no routing policy in common",
                                      "one after the other, each into a folder of its own"));
  }
  cluster.router.name = std::string(router);
  for (scenario::Provenance& entry : loaded.provenance) {
    if (entry.path == "cluster.router.name") {
      entry = {.path = entry.path,
               .origin = scenario::Provenance::Origin::kFlag,
               .where = {.file = "--deployment-target"}};
    }
  }
  return {};
}

/// "TTFT 120 ms, p99 388 ms"
std::string latency_text(std::string_view name,
                         const std::optional<metrics::Distribution>& values) {
  return values ? fmt::format("{} p50 {} ms, p99 {} ms",
                              name,
                              report::significant(values->of(metrics::Statistic::kP50)),
                              report::significant(values->of(metrics::Statistic::kP99)))
                : fmt::format("{} none", name);
}

/// Rates of the whole deployment, where one of its data-parallel ranks is simulated.
struct DeploymentRates {
  std::optional<double> request_throughput;
  std::optional<double> output_throughput;
  std::optional<double> goodput;
};
DeploymentRates whole_rates(const RunResult& result) {
  if (const auto& all = result.deployment) {
    return {.request_throughput = all->request_throughput,
            .output_throughput = all->output_throughput,
            .goodput = all->goodput};
  }
  return {.request_throughput = result.summary.request_throughput,
          .output_throughput = result.summary.output_throughput,
          .goodput = result.summary.goodput};
}

std::vector<std::string> predicted_lines(const RunResult& result) {
  const metrics::LatencySummary& client = result.summary.client;
  std::vector<std::string> lines = {
      fmt::format("Predicted for {}:", fmt::join(std::span(result.headline).subspan(1), ", ")),
      fmt::format("  {}; {}; {} requests/s. Run {}.",
                  latency_text("TTFT", client.of(metrics::Metric::kTtft)),
                  latency_text("TPOT", client.of(metrics::Metric::kTpot)),
                  report::significant(whole_rates(result).request_throughput.value_or(0.0)),
                  result.digest)};
  return lines;
}

document::Node predicted_tree(const RunResult& result) {
  const DeploymentRates rates = whole_rates(result);
  const metrics::LatencySummary& client = result.summary.client;
  return document::MapBuilder()
      .add("ttft_ms", metrics::distribution_tree(client.of(metrics::Metric::kTtft)))
      .add("tpot_ms", metrics::distribution_tree(client.of(metrics::Metric::kTpot)))
      .add("e2e_ms", metrics::distribution_tree(client.of(metrics::Metric::kE2e)))
      .add("request_throughput", rates.request_throughput)
      .add("output_throughput", rates.output_throughput)
      .add("goodput", rates.goodput)
      .add("run_digest", result.digest)
      .build();
}

/// What is asked.
struct DeploymentJob {
  std::vector<const deploy::Target*> targets;
  std::string folder;
  std::string image;
  ReplicaRange replicas;
  scenario::LoadedScenario loaded;
};

core::Result<DeploymentJob> take_job(Request& request) {
  const std::string folder = request.take_text("save_dir");
  const std::string image = request.take_text("image");
  const auto targets = take_targets(request);
  const ReplicaRange range = take_replica_range(request);
  add_autoscaler(request, range);
  auto loaded = request.load(scenario::Purpose::kRun);
  if (folder.empty()) {
    request.add(request.problem(
        "save_dir", "missing, expected the folder for the files", "--save-dir out"));
  }
  request.keep(loaded);
  if (request.errors().empty()) {
    request.keep(choose_router(targets, range, *loaded, request));
  }
  for (const deploy::Target* target : targets) {
    if (range && !target->abilities.autoscales) {
      request.add(request.problem(
          "autoscale",
          fmt::format("{} has no autoscaler that is written", target->abilities.target),
          "--deployment-target kubernetes"));
    }
  }
  if (!request.errors().empty()) {
    return core::fail(request.errors());
  }
  return DeploymentJob{.targets = targets,
                       .folder = folder,
                       .image = image,
                       .replicas = range,
                       .loaded = std::move(*loaded)};
}

core::Result<RunResult> predict(const scenario::Resolved& resolved, Host& host) {
  auto source = resolved.workload.open();
  if (!source) {
    return core::fail(std::move(source).error());
  }
  sim::RunControls controls;
  controls.interrupt = &host.stop();
  return verbs::simulate(resolved, **source, controls);
}

Reply reply_of(const std::string& folder,
               const std::vector<deploy::File>& files,
               const deploy::Input& input) {
  std::vector<std::string> names;
  std::string text;
  for (const std::string& line : input.predicted) {
    text += line + "\n";
  }
  for (const deploy::File& file : files) {
    names.push_back(file.name);
    text +=
        core::escaped(fmt::format("{}{}{}", folder, folder.ends_with('/') ? "" : "/", file.name)) +
        '\n';
  }
  Reply reply = answer_of(document::MapBuilder().add("folder", folder).add("files", names).build());
  reply.views["table"] = [text](const report::TextStyle&) { return text; };
  reply.warnings = input.resolved.warnings;
  return reply;
}

/// Predicts, then writes: what cannot be written is said before anything is simulated.
core::Result<Reply> deploy_scenario(Request& request, Host& host) {
  auto job = take_job(request);
  if (!job) {
    return core::fail(std::move(job).error());
  }
  const auto resolved = scenario::resolve(std::move(job->loaded));
  if (!resolved) {
    return core::fail(resolved.error());
  }
  deploy::Input input{.resolved = *resolved, .ridgeline = std::string(core::version())};
  if (!job->image.empty()) {
    input.image = job->image;
  }
  if (job->replicas) {
    input.min_replicas = job->replicas->first;
    input.max_replicas = job->replicas->second;
  }
  if (const auto files = deploy::deployment_files(input, job->targets); !files) {
    return core::fail(files.error());
  }
  const auto watch = host.watch(Host::Work::kHere);
  const auto result = predict(*resolved, host);
  if (!result) {
    return core::fail(result.error());
  }
  if (result->partial) {
    return Reply{.code = host.stopped()};
  }
  input.predicted = predicted_lines(*result);
  input.prediction = predicted_tree(*result);
  const auto files = deploy::deployment_files(input, job->targets);
  if (!files) {
    return core::fail(files.error());
  }
  if (const auto saved = document::save_files("--save-dir", job->folder, *files); !saved) {
    return core::fail(saved.error());
  }
  return reply_of(job->folder, *files, input);
}

}  // namespace

Verb deploy_verb() {
  using Kind = Parameter::Kind;
  std::vector<std::string_view> names;
  for (const deploy::Target* target : deploy::targets()) {
    names.push_back(target->abilities.target);
  }
  return {
      .name = "deploy",
      .summary = "the files that deploy a scenario: vllm, docker, kubernetes ...",
      .usage = "deploy [scenario.yaml] --save-dir DIR [flags]",
      .about =
          "Writes the files that deploy a scenario, with what is predicted of it and the command "
          "that would check that.",
      .scenario = ScenarioPart::kWhole,
      .parameters = {scenario_parameters(),
                     {.key = "save_dir",
                      .value = "DIR",
                      .help = "The folder that gets the files; it is made where there is none"},
                     {.key = "deployment_target",
                      .kind = Kind::kEach,
                      .value = fmt::format("{}", fmt::join(names, "|")),
                      .help = "What runs the deployment; vllm by default"},
                     {.key = "image",
                      .value = "IMAGE",
                      .help = "In place of the image for the engine's version"},
                     {.key = "autoscale",
                      .value = "N-N",
                      .help = "Fewest and most replicas for kubernetes, which then scales"}},
      .formats = {"table", "json"},
      .has_parts = true,
      .run = deploy_scenario};
}

}  // namespace ridgeline::verbs
