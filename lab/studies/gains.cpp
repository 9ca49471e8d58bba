#include "lab/studies/gains.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "document/document.hpp"
#include "evidence/validate/evidence.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/measured_arms.hpp"
#include "lab/studies/study.hpp"

namespace ridgeline::studies {
namespace {

using evidence::validate::Figure;

using evidence::validate::ServerGain;

/// What a run's splits are named by.
struct Axis {
  const char* name;
  std::string (*value)(const ScoredRun&);
};
constexpr auto kAxes = std::to_array<Axis>({
    {"clients",
     [](const ScoredRun& run) {
       return run.clients > 0 ? fmt::format("{}", run.clients) : std::string();
     }},
    {"tp", [](const ScoredRun& run) { return fmt::format("{}", run.tensor_parallel); }},
    {"workload", [](const ScoredRun& run) { return run.workload; }},
    {"network", [](const ScoredRun& run) { return run.network; }},
});

/// Numbers by size, before words.
bool value_before(const std::string& a, const std::string& b) {
  const bool numbers = !a.empty() && !b.empty() &&
                       std::ranges::all_of(a + b, [](char c) { return c >= '0' && c <= '9'; });
  return numbers ? std::pair(a.size(), a) < std::pair(b.size(), b) : a < b;
}

void add_gain(StudyTable& table,
              const std::string& group,
              const char* axis,
              const std::string& value,
              const std::optional<Gain>& gain) {
  if (!gain) {
    return;
  }
  table.rows.push_back(row("group",
                           group,
                           "axis",
                           axis,
                           "value",
                           value,
                           "runs",
                           gain->runs,
                           "baseline_abs_pct",
                           gain->baseline,
                           "treatment_abs_pct",
                           gain->treatment,
                           "gain_points",
                           gain->points,
                           "low_95",
                           gain->interval ? cell(gain->interval->low) : document::Node(),
                           "high_95",
                           gain->interval ? cell(gain->interval->high) : document::Node()));
}

}  // namespace

std::optional<Gain> gain_of(const Runs& runs, const Pair& arms, Figure figure) {
  Gain gain;
  std::map<std::string, ServerGain> servers;
  for (const ScoredRun* run : runs) {
    const auto baseline = run->error_pct(arms.baseline, figure);
    const auto treatment = run->error_pct(arms.treatment, figure);
    if (!baseline || !treatment) {
      continue;
    }
    gain.baseline += std::abs(*baseline);
    gain.treatment += std::abs(*treatment);
    ServerGain& server = servers[run->server];
    server.sum += std::abs(*baseline) - std::abs(*treatment);
    ++server.runs;
    ++gain.runs;
  }
  if (gain.runs == 0) {
    return std::nullopt;
  }
  gain.baseline /= static_cast<double>(gain.runs);
  gain.treatment /= static_cast<double>(gain.runs);
  gain.points = gain.baseline - gain.treatment;
  std::vector<ServerGain> clusters;
  for (const auto& [name, server] : servers) {
    clusters.push_back(server);
  }
  gain.interval = evidence::validate::bootstrap(clusters);
  return gain;
}

std::vector<Group> groups_of(const std::vector<ScoredRun>& runs) {
  std::vector<Group> groups;
  for (const ScoredRun& run : runs) {
    auto group = std::ranges::find(groups, run.group, &Group::name);
    if (group == groups.end()) {
      group = groups.insert(group, Group{.name = run.group, .runs = {}});
    }
    group->runs.push_back(&run);
  }
  return groups;
}

double mean_signed(const Runs& runs, std::size_t arm, Figure figure) {
  double sum = 0.0;
  std::int64_t count = 0;
  for (const ScoredRun* run : runs) {
    if (const auto error = run->error_pct(arm, figure)) {
      sum += *error;
      ++count;
    }
  }
  return count == 0 ? 0.0 : sum / static_cast<double>(count);
}

StudyTable errors_table(const char* name,
                        const std::vector<Group>& groups,
                        const std::vector<Arm>& arms,
                        Figure figure) {
  StudyTable table{.name = name, .rows = {}};
  for (const Group& group : groups) {
    for (std::size_t arm = 0; arm < arms.size(); ++arm) {
      if (const auto gain = gain_of(group.runs, {.baseline = arm, .treatment = arm}, figure)) {
        table.rows.push_back(row("group",
                                 group.name,
                                 "arm",
                                 arms[arm].name,
                                 "runs",
                                 gain->runs,
                                 "mean_abs_pct",
                                 gain->baseline,
                                 "mean_signed_pct",
                                 mean_signed(group.runs, arm, figure)));
      }
    }
  }
  return table;
}

StudyTable gains_table(const char* name,
                       const std::vector<Group>& groups,
                       const Pair& arms,
                       Figure figure) {
  StudyTable table{.name = name, .rows = {}};
  for (const Group& group : groups) {
    add_gain(table, group.name, "all", "all", gain_of(group.runs, arms, figure));
    for (const Axis& axis : kAxes) {
      std::map<std::string, Runs, decltype(&value_before)> splits(&value_before);
      for (const ScoredRun* run : group.runs) {
        splits[axis.value(*run)].push_back(run);
      }
      for (const auto& [value, split] : splits) {
        if (!value.empty()) {
          add_gain(table, group.name, axis.name, value, gain_of(split, arms, figure));
        }
      }
    }
  }
  return table;
}

}  // namespace ridgeline::studies
