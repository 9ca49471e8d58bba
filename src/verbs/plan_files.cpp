#include "verbs/plan_files.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/result.hpp"
#include "core/version.hpp"
#include "deploy/deployment.hpp"
#include "deploy/layout.hpp"
#include "deploy/registry.hpp"
#include "document/node_builder.hpp"
#include "document/save.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "plan/answer.hpp"
#include "plan/mix_plan.hpp"
#include "plan/points.hpp"
#include "report/format.hpp"
#include "verbs/plan_mix_view.hpp"

namespace ridgeline::verbs {
namespace {

/// What is predicted of a deployment, for people and for programs.
struct Predicted {
  std::string load;  ///< "5 req/s of ..."
  const std::vector<plan::TargetResult>& results;
  double p_feasible = 0.0;
  std::string bound = {};  ///< Why the figures are bounds, if they are.
};

void predict(const Predicted& predicted, const plan::Targets& targets, deploy::Input& input) {
  document::MapBuilder tree;
  std::vector<std::string> lines = {fmt::format("Predicted at {}:", predicted.load)};
  for (const plan::TargetResult& result : predicted.results) {
    const std::string target = targets[result.target].text();
    if (result.value_ms) {
      lines.push_back(fmt::format("  {}: {} ms (80 % of windows: {} to {})",
                                  target,
                                  report::significant(result.value_ms->value),
                                  report::significant(result.value_ms->lo),
                                  report::significant(result.value_ms->hi)));
      tree.add(target, result.value_ms->value);
    }
  }
  if (predicted.bound.empty()) {
    lines.push_back(fmt::format("  sure to suffice with {:.0f} %", predicted.p_feasible * 100.0));
    tree.add("p_feasible", predicted.p_feasible);
  } else {
    lines.push_back("  at best: " + predicted.bound);
    tree.add("bound", predicted.bound);
  }
  input.predicted = std::move(lines);
  input.prediction = tree.build();
}

/// How many replicas an autoscaler may run, where the question says: from those that serve, to as
/// many as there are GPUs for.
void limit_replicas(const plan::Answer& answer,
                    const plan::PlanCandidate& candidate,
                    deploy::Input& input) {
  const plan::Limits& limits = answer.question.limits;
  const bool has_stock =
      std::ranges::find(limits.stock,
                        candidate.gpu,
                        &std::pair<std::string, std::int64_t>::first) != limits.stock.end();
  const std::int64_t most =
      limits.max_gpus || has_stock
          ? plan::most_replicas(limits, candidate.gpu, candidate.gpus_per_replica)
          : candidate.replicas;
  const std::int64_t least = answer.serving(candidate.replicas);
  if (most > least) {
    input.min_replicas = least;
    input.max_replicas = most;
  }
}

/// The targets that can express a deployment; each of the others becomes a warning.
std::vector<const deploy::Target*> able_targets(const deploy::Input& input,
                                                const std::vector<const deploy::Target*>& all,
                                                std::size_t place,
                                                core::Warnings& warnings) {
  std::vector<const deploy::Target*> able;
  for (const deploy::Target* target : all) {
    if (const auto layout = deploy::layout_of(input, target->abilities)) {
      able.push_back(target);
    } else {
      const core::Error& why = layout.error().front();
      warnings.push_back(
          {.code = "W-not-written",
           .message = fmt::format("top{} is not written: {} {}", place, why.field, why.message)});
    }
  }
  return able;
}

/// Puts the files of one deployment into a folder of their own.
void put_below(std::string_view folder,
               std::vector<document::NewFile> files,
               std::vector<document::NewFile>& all) {
  for (document::NewFile& file : files) {
    file.name = fmt::format("{}/{}", folder, file.name);
    all.push_back(std::move(file));
  }
}

}  // namespace

std::vector<const deploy::Target*> PlanTargets::of(const std::string& engine) const {
  const std::string_view name = std::string_view(engine).substr(0, engine.find('@'));
  const auto all = deploy::targets();
  const auto own = std::ranges::find_if(
      all, [&](const deploy::Target* target) { return target->abilities.engine == name; });
  return are_stated || own == all.end() ? named : std::vector{*own};
}

Routers routers_of(const PlanTargets& all) {
  const std::vector<const deploy::Target*>& targets = all.named;
  Routers found;
  std::vector<std::string_view> names;
  for (const deploy::Target* target : targets) {
    names.push_back(target->abilities.target);
  }
  found.of = fmt::format("{}", fmt::join(names, ", "));
  for (const std::string_view router :
       targets.empty() ? std::span<const std::string_view>() : targets.front()->abilities.routers) {
    if (std::ranges::all_of(targets, [&](const deploy::Target* target) {
          return std::ranges::find(target->abilities.routers, router) !=
                 target->abilities.routers.end();
        })) {
      found.names.emplace_back(router);
    }
  }
  return found;
}

core::Errors unwritable(const plan::Question& question, const PlanTargets& targets) {
  core::Errors errors;
  for (const std::string& engine : question.engines) {
    for (const hardware::GpuSpec& gpu : question.gpus) {
      for (const deploy::Target* target : targets.of(engine)) {
        core::Errors found = deploy::refusals(target->abilities, engine, gpu);
        if (found.empty()) {
          return {};
        }
        for (core::Error& error : found) {
          if (std::ranges::find(errors, error.message, &core::Error::message) == errors.end()) {
            errors.push_back(std::move(error));
          }
        }
      }
    }
  }
  return errors;
}

core::Result<Saved> deployments_of(const plan::Answer& answer, const PlanTargets& targets) {
  Saved saved;
  for (std::size_t i = 0; i < answer.ranking.size(); ++i) {
    const plan::PlanCandidate& candidate = answer.candidates[answer.ranking[i]];
    if (!candidate.resolved) {
      continue;
    }
    deploy::Input input{.resolved = *candidate.resolved, .ridgeline = std::string(core::version())};
    predict({.load = answer.workload,
             .results = candidate.targets,
             .p_feasible = candidate.p_feasible,
             .bound = candidate.bound},
            answer.question.slo.targets,
            input);
    input.plan_digest = answer.digest;
    if (candidate.capacity) {
      input.capacity_rps =
          candidate.capacity->value * static_cast<double>(answer.serving(candidate.replicas));
    }
    limit_replicas(answer, candidate, input);
    const auto able = able_targets(input, targets.of(candidate.engine), i + 1, saved.warnings);
    if (able.empty()) {
      if (!targets.are_stated) {  // What no target can express runs here all the same.
        put_below(
            fmt::format("top{}", i + 1), {deploy::scenario_file(*candidate.resolved)}, saved.files);
      }
      continue;
    }
    auto files = deploy::deployment_files(input, able);
    if (!files) {
      return core::fail(files.error());
    }
    put_below(fmt::format("top{}", i + 1), std::move(*files), saved.files);
  }
  if (saved.files.empty() && !saved.warnings.empty()) {
    return core::fail(core::Error{.field = "--save-dir",
                                  .message = saved.warnings.front().message,
                                  .where = {.file = "command line"}});
  }
  return saved;
}

core::Result<Saved> files_of_pools(const plan::MixAnswer& answer, const PlanTargets& targets) {
  Saved saved;
  std::vector<std::string> classes;
  for (const auto& one : answer.question.classes) {
    classes.push_back(one.name);
  }
  for (std::size_t i = 0; i < answer.pools.size(); ++i) {
    const plan::MixPool& pool = answer.pools[i];
    deploy::Input input{.resolved = *pool.resolved, .ridgeline = std::string(core::version())};
    predict({.load = fmt::format(
                 "{} req/s, {}", report::significant(pool.rate), served_text(pool.shares, classes)),
             .results = pool.targets,
             .p_feasible = pool.p_feasible,
             .bound = answer.candidates[pool.candidate].bound},
            answer.question.slo.targets,
            input);
    if (std::ranges::count_if(pool.shares, [](double share) { return share > 0.0; }) > 1) {
      input.predicted.push_back(
          fmt::format("  scenario.yaml and bench.sh have requests of {} alone",
                      answer.question.classes[pool.main_class].name));
    }
    input.plan_digest = answer.digest;
    auto files = deploy::deployment_files(
        input, targets.of(pool.resolved->deployment->section.engine.version));
    if (!files) {
      return core::fail(std::move(files).error());
    }
    put_below(fmt::format("pool{}", i + 1), std::move(*files), saved.files);
  }
  return saved;
}

}  // namespace ridgeline::verbs
