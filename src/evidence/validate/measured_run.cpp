#include "evidence/validate/measured_run.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "evidence/validate/evidence.hpp"

namespace ridgeline::evidence::validate {
namespace {

bool same_server(const Evidence& a, const Evidence& b) {
  return a.family == b.family && a.run == b.run && !a.run.empty() && a.model == b.model &&
         a.gpu == b.gpu && a.tensor_parallel == b.tensor_parallel &&
         a.pipeline_parallel == b.pipeline_parallel && a.data_parallel == b.data_parallel &&
         a.expert_parallel == b.expert_parallel && a.num_gpus == b.num_gpus &&
         a.engine_version == b.engine_version && a.weight_quantisation == b.weight_quantisation &&
         a.server == b.server && a.input == b.input && a.output == b.output &&
         a.sharing == b.sharing && a.generation_config == b.generation_config;
}

bool same_load(const StageLoad& a, const StageLoad& b) {
  return a.kind == b.kind && a.requests == b.requests && a.duration_s == b.duration_s &&
         a.concurrency == b.concurrency && a.rows.size() == b.rows.size();
}

/// Whether a record's stages fit beside the others: none is known with another load.
bool agrees(const MeasuredRun& run, const Evidence& evidence) {
  return std::ranges::all_of(evidence.stages, [&](const StageLoad& stage) {
    return std::ranges::all_of(run.stages, [&](const StageLoad& known) {
      return known.name != stage.name || same_load(known, stage);
    });
  });
}

/// "2" before "10"; names that are no numbers by their text.
bool stage_before(const StageLoad& a, const StageLoad& b) {
  return std::pair(a.name.size(), a.name) < std::pair(b.name.size(), b.name);
}

std::size_t index_of(const std::vector<StageLoad>& stages, const std::string& name) {
  const auto found = std::ranges::find(stages, name, &StageLoad::name);
  return static_cast<std::size_t>(found - stages.begin());
}

void warm_up(MeasuredRun& run, std::vector<Evidence>& evidence) {
  const std::string& first = run.stages.front().name;
  const bool later =
      std::ranges::all_of(first, [](char c) { return c >= '0' && c <= '9'; }) && first != "0";
  const PromptSharing& sharing = evidence[run.parts.front().evidence].sharing;
  const StageLoad& next = run.stages.front();
  if (!later || sharing.distinct_prompts == 0 || next.requests == 0 ||
      next.kind != StageLoad::Kind::kRandom) {
    return;
  }
  StageLoad before;
  before.name = "warm-up";
  before.kind = StageLoad::Kind::kRandom;
  before.requests = sharing.distinct_prompts;
  before.duration_s =
      next.duration_s * static_cast<double>(before.requests) / static_cast<double>(next.requests);
  run.stages.insert(run.stages.begin(), std::move(before));
  for (const auto& part : run.parts) {
    evidence[part.evidence].assumed.emplace_back(
        "the stages before it, which no record tells, only warmed the prefix cache");
  }
}

}  // namespace

std::vector<MeasuredRun> group_runs(std::vector<Evidence>& evidence) {
  std::vector<MeasuredRun> runs;
  for (std::size_t i = 0; i < evidence.size(); ++i) {
    if (!evidence[i].problem.empty() || !evidence[i].refusal.empty() || evidence[i].is_start) {
      continue;
    }
    auto run = std::ranges::find_if(runs, [&](const MeasuredRun& known) {
      return same_server(evidence[known.parts.front().evidence], evidence[i]) &&
             agrees(known, evidence[i]);
    });
    if (run == runs.end()) {
      run = runs.insert(run, MeasuredRun{});
    }
    for (const auto& stage : evidence[i].stages) {
      if (index_of(run->stages, stage.name) == run->stages.size()) {
        run->stages.push_back(stage);
      }
    }
    run->parts.push_back({.evidence = i});
  }
  for (auto& run : runs) {
    std::ranges::stable_sort(run.stages, stage_before);
    warm_up(run, evidence);
    for (auto& part : run.parts) {
      const auto& stages = evidence[part.evidence].stages;
      part.first = index_of(run.stages, stages.front().name);
      part.last = index_of(run.stages, stages.back().name) + 1;
    }
  }
  return runs;
}

}  // namespace ridgeline::evidence::validate
