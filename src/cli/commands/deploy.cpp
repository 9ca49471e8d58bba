#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "api/simulate.hpp"
#include "cli/arguments.hpp"
#include "cli/commands/verbs.hpp"
#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "cli/interrupt.hpp"
#include "cli/terminal.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "deploy/deployment.hpp"
#include "deploy/flags.hpp"
#include "deploy/registry.hpp"
#include "document/json_writer.hpp"
#include "document/node_builder.hpp"
#include "document/save.hpp"
#include "metrics/slo.hpp"
#include "metrics/summary_tree.hpp"
#include "report/format.hpp"
#include "report/run_result.hpp"
#include "report/version.hpp"
#include "scenario/engine_settings.hpp"
#include "scenario/resolve.hpp"
#include "scenario/scenario.hpp"
#include "sim/simulation.hpp"

namespace ridgeline::cli {
namespace {

constexpr std::string_view kSaveDir = "save-dir";
constexpr std::string_view kDeploymentTarget = "deployment-target";
constexpr std::string_view kAutoscale = "autoscale";
constexpr std::string_view kRouterPath = "cluster.router.name";

core::Error deploy_flag_error(std::string_view flag, std::string message, std::string hint = {}) {
  return {.field = fmt::format("--{}", flag),
          .message = std::move(message),
          .where = {.file = "command line"},
          .hint = std::move(hint)};
}

core::Result<std::vector<const deploy::Target*>> read_deployment_targets(
    const Arguments& arguments) {
  std::vector<std::string> names = arguments.values(kDeploymentTarget);
  if (names.empty()) {
    names.emplace_back(deploy::targets().front()->abilities.target);
  }
  std::vector<const deploy::Target*> targets;
  core::Errors errors;
  for (const std::string& name : names) {
    if (const auto target = deploy::find_target(name)) {
      targets.push_back(*target);
    } else {
      errors.push_back(target.error().front());
    }
  }
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return targets;
}

/// Fewest and most.
using ReplicaRange = std::optional<std::pair<std::int64_t, std::int64_t>>;

/// "2-6".
core::Result<ReplicaRange> read_replica_range(const Arguments& arguments) {
  if (!arguments.has(kAutoscale)) {
    return std::nullopt;
  }
  const std::string text = arguments.value(kAutoscale);
  const auto dash = text.find('-');
  const auto least = deploy::read_count(text.substr(0, dash));
  const auto most = dash == std::string::npos ? least : deploy::read_count(text.substr(dash + 1));
  if (!least || !most || *least < 1 || *most < *least) {
    return core::fail(deploy_flag_error(
        kAutoscale,
        fmt::format("found '{}', expected the fewest and the most replicas", text),
        "2-6"));
  }
  return std::pair(*least, *most);
}

/// The flags of the autoscaler that is written, so that what is predicted is what is written. It
/// begins with the fewest replicas, unless the scenario says with how many.
core::Result<Arguments> with_autoscaler(const Arguments& given, const ReplicaRange& range) {
  Arguments arguments = given;
  if (!range) {
    return arguments;
  }
  core::Errors errors;
  const auto add = [&](const char* name, std::string value) {
    if (arguments.has(name)) {
      errors.push_back(deploy_flag_error(
          name, fmt::format("found beside --{}, which says it: expected one of them", kAutoscale)));
    }
    arguments.flags.push_back(
        {.name = name, .value = std::move(value), .typed = fmt::format("--{}", kAutoscale)});
  };
  add("autoscaling", "hpa");
  add("min-replicas", fmt::format("{}", range->first));
  add("max-replicas", fmt::format("{}", range->second));
  add("metric", "waiting");
  add("target", fmt::format("{}", deploy::kWaitingPerReplica));
  const auto plain = load(given, scenario::Purpose::kRun);
  if (!plain || !plain->scenario.run.cluster.instances) {
    // Data-parallel ranks of one replica are instances of their own.
    const std::int64_t ranks =
        plain ? scenario::attention_ranks(plain->scenario.deployment.engine).ranks : 1;
    if (!arguments.has("instances")) {
      add("instances", fmt::format("{}", range->first * ranks));
    }
  }
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return arguments;
}

/// A scenario of several instances that names no router gets the targets' own.
core::Result<void> choose_router(std::span<const deploy::Target* const> targets,
                                 const ReplicaRange& range,
                                 scenario::LoadedScenario& loaded) {
  scenario::ClusterSection& cluster = loaded.scenario.run.cluster;
  // Data-parallel ranks of one replica get requests from their own engine.
  const std::int64_t ranks = scenario::attention_ranks(loaded.scenario.deployment.engine).ranks;
  const std::int64_t most = range ? range->second : cluster.instances.value_or(1) / ranks;
  if (most < 2 || cluster.router.name) {
    return {};
  }
  const std::string_view router = deploy::common_router(targets);
  if (router.empty()) {
    return core::fail(deploy_flag_error(kDeploymentTarget,
                                        "these targets have no routing policy in common",
                                        "one after the other, each into a folder of its own"));
  }
  cluster.router.name = std::string(router);
  for (scenario::Provenance& entry : loaded.provenance) {
    if (entry.path == kRouterPath) {
      entry = {.path = entry.path,
               .origin = scenario::Provenance::Origin::kFlag,
               .where = {.file = fmt::format("--{}", kDeploymentTarget)}};
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
DeploymentRates whole_rates(const report::RunResult& result) {
  if (const auto& all = result.deployment) {
    return {.request_throughput = all->request_throughput,
            .output_throughput = all->output_throughput,
            .goodput = all->goodput};
  }
  return {.request_throughput = result.summary.request_throughput,
          .output_throughput = result.summary.output_throughput,
          .goodput = result.summary.goodput};
}

std::vector<std::string> predicted_lines(const report::RunResult& result) {
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

document::Node predicted_tree(const report::RunResult& result) {
  const DeploymentRates rates = whole_rates(result);
  const metrics::LatencySummary& client = result.summary.client;
  return document::MapBuilder()
      .add("ttft_ms", metrics::distribution_tree(client.of(metrics::Metric::kTtft)))
      .add("tpot_ms", metrics::distribution_tree(client.of(metrics::Metric::kTpot)))
      .add("e2e_ms", metrics::distribution_tree(client.of(metrics::Metric::kE2e)))
      .add("request_throughput", document::number_node(rates.request_throughput))
      .add("output_throughput", document::number_node(rates.output_throughput))
      .add("goodput", document::number_node(rates.goodput))
      .add("run_digest", document::text_node(result.digest))
      .build();
}

core::Result<report::RunResult> predict_deployment(const scenario::Resolved& resolved) {
  auto source = resolved.workload.open();
  if (!source) {
    return core::fail(std::move(source).error());
  }
  sim::RunControls controls;
  controls.interrupt = &InterruptGuard::flag();
  return api::simulate(resolved, **source, controls);
}

std::string files_text(const std::string& folder,
                       std::span<const deploy::File> files,
                       const deploy::Input& input,
                       const Manners& manners) {
  if (manners.format == "json") {
    document::JsonWriter json;
    json.begin_object().member("folder", folder).key("files").begin_array();
    for (const deploy::File& file : files) {
      json.value(file.name);
    }
    json.end_array().end_object();
    return json.text() + "\n";
  }
  std::string text;
  for (const std::string& line : input.predicted) {
    text += line + "\n";
  }
  for (const deploy::File& file : files) {
    text +=
        core::escaped(fmt::format("{}{}{}", folder, folder.ends_with('/') ? "" : "/", file.name)) +
        '\n';
  }
  return text;
}

/// What the words ask for.
struct DeploymentJob {
  std::vector<const deploy::Target*> targets;
  std::string folder;
  ReplicaRange replicas;
  scenario::LoadedScenario loaded;
};

core::Result<DeploymentJob> read_deployment_job(const Arguments& arguments) {
  auto targets = read_deployment_targets(arguments);
  auto range = read_replica_range(arguments);
  core::Errors errors;
  const auto whole = with_autoscaler(arguments, range.value_or(std::nullopt));
  keep_errors(whole, errors);
  auto loaded = load(whole.value_or(arguments), scenario::Purpose::kRun);
  if (!arguments.has(kSaveDir)) {
    errors.push_back(deploy_flag_error(
        kSaveDir, "missing, expected the folder for the files", "--save-dir out"));
  }
  keep_errors(targets, errors);
  keep_errors(range, errors);
  keep_errors(loaded, errors);
  if (targets && loaded && range) {
    keep_errors(choose_router(*targets, *range, *loaded), errors);
    for (const deploy::Target* target : *targets) {
      if (*range && !target->abilities.autoscales) {
        errors.push_back(deploy_flag_error(
            kAutoscale,
            fmt::format("{} has no autoscaler that is written", target->abilities.target),
            "--deployment-target kubernetes"));
      }
    }
  }
  if (!errors.empty()) {
    return core::fail(std::move(errors));
  }
  return DeploymentJob{.targets = std::move(*targets),
                       .folder = arguments.value(kSaveDir),
                       .replicas = *range,
                       .loaded = std::move(*loaded)};
}

/// Predicts, then writes: what cannot be written is said before anything is simulated.
ExitCode write_deployment(deploy::Input& input, const DeploymentJob& job, const Manners& manners) {
  if (const auto files = deploy::deployment_files(input, job.targets); !files) {
    return give_up(files.error(), manners);
  }
  const InterruptGuard guard;
  const auto result = predict_deployment(input.resolved);
  if (!result) {
    return give_up(result.error(), manners);
  }
  if (result->partial) {
    return InterruptGuard::exit_code();
  }
  input.predicted = predicted_lines(*result);
  input.prediction = predicted_tree(*result);
  const auto files = deploy::deployment_files(input, job.targets);
  if (!files) {
    return give_up(files.error(), manners);
  }
  if (const auto saved = document::save_files("--save-dir", job.folder, *files); !saved) {
    return give_up(saved.error(), manners);
  }
  for (const core::Warning& warning : input.resolved.warnings) {
    static_cast<void>(write_all(STDERR_FILENO, render(warning, manners.err)));
  }
  return put_out(files_text(job.folder, *files, input, manners), manners);
}

ExitCode deploy_scenario(const Arguments& arguments, const Manners& manners) {
  auto job = read_deployment_job(arguments);
  if (!job) {
    return give_up(job.error(), manners);
  }
  const auto resolved = scenario::resolve(std::move(job->loaded));
  if (!resolved) {
    return give_up(resolved.error(), manners);
  }
  deploy::Input input{.resolved = *resolved, .ridgeline = std::string(report::version())};
  if (arguments.has("image")) {
    input.image = arguments.value("image");
  }
  if (job->replicas) {
    input.min_replicas = job->replicas->first;
    input.max_replicas = job->replicas->second;
  }
  return write_deployment(input, *job, manners);
}

}  // namespace

ExitCode deploy_command(Words words) {
  Opening opening{.usage = "deploy [scenario.yaml] --save-dir DIR [flags]",
                  .about =
                      "Writes the files that deploy a scenario, with what is predicted of it and "
                      "the command that would check that.",
                  .flags = scenario_flags(ScenarioPart::kWhole),
                  .formats = {"table", "json"}};
  std::vector<std::string_view> names;
  for (const deploy::Target* target : deploy::targets()) {
    names.push_back(target->abilities.target);
  }
  opening.flags.push_back(
      {.name = std::string(kSaveDir),
       .value = "DIR",
       .help = "The folder that gets the files; it is made where there is none"});
  opening.flags.push_back({.name = std::string(kDeploymentTarget),
                           .repeatable = true,
                           .value = fmt::format("{}", fmt::join(names, "|")),
                           .help = "What runs the deployment; vllm by default"});
  opening.flags.push_back({.name = "image",
                           .value = "IMAGE",
                           .help = "In place of the image for the engine's version"});
  opening.flags.push_back({.name = std::string(kAutoscale),
                           .value = "N-N",
                           .help = "Fewest and most replicas for kubernetes, which then scales"});
  for (auto& flag : manner_flags("table|json")) {
    opening.flags.push_back(std::move(flag));
  }
  Arguments arguments;
  Manners manners;
  if (const auto code = open_verb(opening, words, arguments, manners)) {
    return *code;
  }
  return deploy_scenario(arguments, manners);
}

}  // namespace ridgeline::cli
