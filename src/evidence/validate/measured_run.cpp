#include "evidence/validate/measured_run.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "evidence/validate/evidence.hpp"

namespace ridgeline::evidence::validate {
namespace {

/// The load of a record's fleet where it has stages of its own, else null.
const FleetLoad* fleet_load(const Evidence& evidence) {
  const bool has_stages =
      evidence.fleet && evidence.fleet->load && evidence.fleet->load->num_stages() > 0;
  return has_stages ? evidence.fleet->load.get() : nullptr;
}

bool same_fleet(const Evidence& a, const Evidence& b) {
  if (!a.fleet || !b.fleet) {
    return !a.fleet && !b.fleet;
  }
  const FleetLoad* one = fleet_load(a);
  const FleetLoad* other = fleet_load(b);
  return a.fleet->policy == b.fleet->policy && a.stated == b.stated &&
         (one == nullptr || other == nullptr ? one == other : one->has_prompts_of(*other));
}

bool same_server(const Evidence& a, const Evidence& b) {
  return a.family == b.family && a.run == b.run && !a.run.empty() && a.model == b.model &&
         a.gpu == b.gpu && a.tensor_parallel == b.tensor_parallel &&
         a.pipeline_parallel == b.pipeline_parallel && a.data_parallel == b.data_parallel &&
         a.expert_parallel == b.expert_parallel && a.num_gpus == b.num_gpus &&
         a.engine_version == b.engine_version && a.weight_quantisation == b.weight_quantisation &&
         a.server == b.server && a.input == b.input && a.output == b.output &&
         a.sharing == b.sharing && a.generation_config == b.generation_config && same_fleet(a, b);
}

bool same_load(const StageLoad& a, const StageLoad& b) {
  return a.kind == b.kind && a.requests == b.requests && a.duration_s == b.duration_s &&
         a.concurrency == b.concurrency && a.rows.size() == b.rows.size();
}

/// Whether a record's stages fit beside the others: none is known with another load, and a fleet's
/// are among the run's.
bool agrees(const MeasuredRun& run, const Evidence& evidence) {
  if (run.fleet_load) {
    return run.fleet_load->holds(*evidence.fleet->load);
  }
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

void note_assumed(const MeasuredRun& run, std::vector<Evidence>& evidence) {
  for (const auto& part : run.parts) {
    Evidence& record = evidence[part.evidence];
    if (std::string text = record.fleet->load->assumed_in(*run.fleet_load); !text.empty()) {
      record.assumed.push_back(std::move(text));
    }
  }
}

/// The order in which records join runs: those of fleets that know the most stages first.
std::vector<std::size_t> joining_order(const std::vector<Evidence>& evidence) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < evidence.size(); ++i) {
    if (evidence[i].problem.empty() && evidence[i].refusal.empty() && !evidence[i].is_start) {
      order.push_back(i);
    }
  }
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t i) {
    const FleetLoad* load = fleet_load(evidence[i]);
    return load == nullptr ? 0 : load->num_stages();
  });
  return order;
}

/// Parts by their records, and runs by the first of them.
void restore_order(std::vector<MeasuredRun>& runs) {
  for (MeasuredRun& run : runs) {
    std::ranges::stable_sort(run.parts, {}, &MeasuredRun::Part::evidence);
  }
  std::ranges::stable_sort(
      runs, {}, [](const MeasuredRun& run) { return run.parts.front().evidence; });
}

void warm_up(MeasuredRun& run, std::vector<Evidence>& evidence) {
  const std::string& first = run.stages.front().name;
  const bool later =
      std::ranges::all_of(first, [](char c) { return c >= '0' && c <= '9'; }) && first != "0";
  const PromptSharing& sharing = evidence[run.parts.front().evidence].sharing;
  const StageLoad& next = run.stages.front();
  StageLoad before;
  before.name = "warm-up";
  if (later && sharing.distinct_prompts == 0 && sharing.shared_prefix > 0) {
    // A request is enough for what all prompts begin with.
    before.kind = StageLoad::Kind::kClosed;
    before.requests = 1;
    before.concurrency = 1;
  } else if (later && sharing.distinct_prompts > 0 && next.requests > 0 &&
             next.kind == StageLoad::Kind::kRandom) {
    before.kind = StageLoad::Kind::kRandom;
    before.requests = sharing.distinct_prompts;
    before.duration_s =
        next.duration_s * static_cast<double>(before.requests) / static_cast<double>(next.requests);
  } else {
    return;
  }
  run.stages.insert(run.stages.begin(), std::move(before));
  for (const auto& part : run.parts) {
    evidence[part.evidence].assumed.emplace_back(
        "the stages before it, which no record tells, only warmed the prefix cache");
  }
}

}  // namespace

std::vector<MeasuredRun> group_runs(std::vector<Evidence>& evidence) {
  std::vector<MeasuredRun> runs;
  for (const std::size_t i : joining_order(evidence)) {
    auto run = std::ranges::find_if(runs, [&](const MeasuredRun& known) {
      return same_server(evidence[known.parts.front().evidence], evidence[i]) &&
             agrees(known, evidence[i]);
    });
    if (run == runs.end()) {
      run = runs.insert(run, MeasuredRun{});
      if (const FleetLoad* load = fleet_load(evidence[i])) {
        run->fleet_load = load->copy();
      }
    }
    if (run->fleet_load) {
      const FleetLoad::Range range = run->fleet_load->join(*evidence[i].fleet->load);
      run->parts.push_back({.evidence = i, .first = range.first, .last = range.last});
      continue;
    }
    for (const auto& stage : evidence[i].stages) {
      if (index_of(run->stages, stage.name) == run->stages.size()) {
        run->stages.push_back(stage);
      }
    }
    run->parts.push_back({.evidence = i});
  }
  restore_order(runs);
  for (auto& run : runs) {
    if (run.fleet_load) {
      note_assumed(run, evidence);
      continue;
    }
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
