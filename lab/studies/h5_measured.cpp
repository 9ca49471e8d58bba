#include "lab/studies/h5_measured.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "evidence/validate/evidence.hpp"
#include "lab/studies/gains.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/measured_arms.hpp"
#include "lab/studies/study.hpp"
#include "latency/step_time_model.hpp"

namespace ridgeline::studies::h5 {
namespace {

using evidence::validate::Figure;

/// What the text calls a gain, in points.
constexpr double kLeastGain = 2.0;
/// A group of fewer runs decides nothing (ours).
constexpr std::int64_t kLeastRuns = 10;
constexpr Pair kForms = {.baseline = 0, .treatment = 2};  // default, additive

/// The form that v2-final has of itself.
constexpr std::string_view kOwnForm = "max";

/// A pair of constant MFUs: prefill, decode.
struct ConstantPair {
  double prefill;
  double decode;
};
constexpr auto kConstantPairs =
    std::to_array<ConstantPair>({{0.4, 0.4}, {0.5, 0.3}, {0.6, 0.2}, {0.7, 0.15}});
constexpr std::size_t kFirstControl = 4;

Arm form(const std::string& prefix,
         const char* mixed,
         const std::vector<latency::ModelSetting>& settings) {
  Arm arm{.name = fmt::format("{}, {}", prefix, mixed), .preset = "v2-final", .settings = {}};
  if (std::string_view(mixed) != kOwnForm) {  // Without it other studies have the same arm.
    arm.settings.push_back(setting("mixed", mixed));
  }
  arm.settings.insert(arm.settings.end(), settings.begin(), settings.end());
  return arm;
}

/// The three criteria on one group of runs.
struct Criteria {
  std::string group;
  Gain gain;
  std::optional<Gain> low;   ///< The half with fewer requests in flight.
  std::optional<Gain> high;  ///< The other half.

  [[nodiscard]] bool gains() const { return gain.points >= kLeastGain; }
  [[nodiscard]] bool more_at_load() const { return low && high && high->points > low->points; }
};

std::vector<Criteria> criteria_of(const std::vector<Group>& groups) {
  std::vector<Criteria> all;
  for (const Group& group : groups) {
    const auto gain = gain_of(group.runs, kForms, Figure::kTpot);
    if (!gain || gain->runs < kLeastRuns) {
      continue;
    }
    Runs by_load = group.runs;
    std::ranges::stable_sort(by_load, {}, &ScoredRun::in_flight);
    const auto middle = by_load.begin() + std::ssize(by_load) / 2;
    all.push_back({.group = group.name,
                   .gain = *gain,
                   .low = gain_of({by_load.begin(), middle}, kForms, Figure::kTpot),
                   .high = gain_of({middle, by_load.end()}, kForms, Figure::kTpot)});
  }
  return all;
}

/// The largest difference that the form makes at one client, in points, and of how many runs.
std::pair<double, std::int64_t> at_one_client(const std::vector<ScoredRun>& runs) {
  double largest = 0.0;
  std::int64_t count = 0;
  for (const ScoredRun& run : runs) {
    const auto baseline = run.error_pct(kForms.baseline, Figure::kTpot);
    const auto treatment = run.error_pct(kForms.treatment, Figure::kTpot);
    if (run.clients == 1 && baseline && treatment) {
      largest = std::max(largest, std::abs(*baseline - *treatment));
      ++count;
    }
  }
  return {largest, count};
}

StudyTable criteria_table(const std::vector<Criteria>& all) {
  StudyTable table{.name = "measured_criteria", .rows = {}};
  for (const Criteria& one : all) {
    table.rows.push_back(row("group",
                             one.group,
                             "runs",
                             one.gain.runs,
                             "gain_points",
                             one.gain.points,
                             "low_95",
                             one.gain.interval ? cell(one.gain.interval->low) : document::Node(),
                             "high_95",
                             one.gain.interval ? cell(one.gain.interval->high) : document::Node(),
                             "at_least_2_points",
                             one.gains(),
                             "gain_at_low_load",
                             one.low ? cell(one.low->points) : document::Node(),
                             "gain_at_high_load",
                             one.high ? cell(one.high->points) : document::Node(),
                             "more_at_high_load",
                             one.more_at_load()));
  }
  return table;
}

void decide(const std::vector<Criteria>& all, const std::vector<ScoredRun>& runs, Outcome& out) {
  const auto [largest, clients] = at_one_client(runs);
  const bool same_alone = largest == 0.0;
  std::vector<std::string> parts;
  std::int64_t met = 0;
  for (const Criteria& one : all) {
    const bool meets = one.gains() && one.more_at_load() && same_alone;
    met += meets ? 1 : 0;
    parts.push_back(
        fmt::format("{} ({} runs): {:+.1f} points, {:+.1f} at low and {:+.1f} at high "
                    "load, {}",
                    one.group,
                    one.gain.runs,
                    one.gain.points,
                    one.low ? one.low->points : 0.0,
                    one.high ? one.high->points : 0.0,
                    meets ? "met" : "not met"));
  }
  out.by_rule = all.empty()               ? Verdict::kUndecided
                : met == std::ssize(all)  ? Verdict::kConfirmed
                : met == 0 || !same_alone ? Verdict::kRefuted
                                          : Verdict::kPartlyConfirmed;
  out.because = fmt::format("{}; at one client ({} {}) the form changes {} points",
                            fmt::join(parts, "; "),
                            clients,
                            clients == 1 ? "run" : "runs",
                            largest);
}

/// How the additive form moves predictions, by group.
StudyTable direction_table(const std::vector<Group>& groups) {
  StudyTable table{.name = "measured_direction", .rows = {}};
  for (const Group& group : groups) {
    std::int64_t raised = 0;
    std::int64_t lowered = 0;
    for (const ScoredRun* run : group.runs) {
      const double change = run->error_pct(kForms.treatment, Figure::kTpot).value_or(0.0) -
                            run->error_pct(kForms.baseline, Figure::kTpot).value_or(0.0);
      raised += change > 0.0 ? 1 : 0;
      lowered += change < 0.0 ? 1 : 0;
    }
    table.rows.push_back(row("group",
                             group.name,
                             "runs",
                             std::ssize(group.runs),
                             "raised",
                             raised,
                             "lowered",
                             lowered,
                             "default_signed_pct",
                             mean_signed(group.runs, kForms.baseline, Figure::kTpot),
                             "additive_signed_pct",
                             mean_signed(group.runs, kForms.treatment, Figure::kTpot)));
  }
  return table;
}

StudyTable controls_table(const std::vector<Group>& groups, const std::vector<Arm>& arms) {
  StudyTable table{.name = "measured_controls", .rows = {}};
  for (std::size_t i = kFirstControl; i + 1 < arms.size(); i += 2) {
    const std::string& name = arms[i].name;
    for (const Group& group : groups) {
      if (const auto gain =
              gain_of(group.runs, {.baseline = i, .treatment = i + 1}, Figure::kTpot)) {
        table.rows.push_back(row("control",
                                 name.substr(0, name.rfind(',')),
                                 "group",
                                 group.name,
                                 "runs",
                                 gain->runs,
                                 "default_abs_pct",
                                 gain->baseline,
                                 "additive_abs_pct",
                                 gain->treatment,
                                 "gain_points",
                                 gain->points));
      }
    }
  }
  return table;
}

/// Gain over the runs of which the default's prediction is too low, or too high.
std::optional<Gain> gain_where(const std::vector<ScoredRun>& runs, bool too_low) {
  Runs chosen;
  for (const ScoredRun& run : runs) {
    const auto error = run.error_pct(kForms.baseline, Figure::kTpot);
    if (error && (*error < 0.0) == too_low) {
      chosen.push_back(&run);
    }
  }
  return gain_of(chosen, kForms, Figure::kTpot);
}

/// "3.7 points lost, with constants 0.2 to 0.3", of every group.
std::string constants_text(const std::vector<Criteria>& all, const std::vector<Group>& groups) {
  std::vector<std::string> parts;
  for (const Criteria& one : all) {
    const auto group = std::ranges::find(groups, one.group, &Group::name);
    std::vector<double> gains;
    for (std::size_t i = 0; i < kConstantPairs.size(); ++i) {
      const std::size_t place = kFirstControl + 2 * i;
      gains.push_back(
          gain_of(group->runs, {.baseline = place, .treatment = place + 1}, Figure::kTpot)->points);
    }
    parts.push_back(fmt::format("{}: {:+.1f} points, with constant MFUs {:+.1f} to {:+.1f}",
                                one.group,
                                one.gain.points,
                                *std::ranges::min_element(gains),
                                *std::ranges::max_element(gains)));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

void add_statements(const std::vector<ScoredRun>& runs,
                    const std::vector<Group>& groups,
                    const std::vector<Criteria>& all,
                    Outcome& out) {
  StudyTable& table = out.tables[3];
  std::int64_t raised = 0;
  for (const auto& group : direction_table(groups).rows) {
    raised += group.find("raised")->as_integer();
  }
  table.rows.push_back(
      statement("H5.6",
                "the additive form predicts too little, as its larger GEMMs have a higher MFU",
                2 * raised < std::ssize(runs),
                fmt::format("it raises the prediction of {} of {} runs. Without any MFU that "
                            "grows with the GEMM: {}",
                            raised,
                            runs.size(),
                            constants_text(all, groups))));
  const Pair once = {.baseline = kForms.baseline,
                     .treatment = kFirstControl + 2 * kConstantPairs.size()};
  double moved = 0.0;
  for (const Criteria& one : all) {
    const auto group = std::ranges::find(groups, one.group, &Group::name);
    moved = std::max(moved, std::abs(gain_of(group->runs, once, Figure::kTpot)->points));
  }
  constexpr double kVisible = 0.05;
  table.rows.push_back(statement(
      "H5.7",
      "reading the weights once, not in both phases, is what tells",
      moved >= kVisible,
      fmt::format("read once, the default's mean error changes {:.1f} points at most", moved)));
  const auto low = gain_where(runs, true);
  const auto high = gain_where(runs, false);
  table.rows.push_back(statement(
      "H5.9",
      "another error of the model hides what the form is worth (the devil's advocate)",
      low && high && (low->points > 0.0) != (high->points > 0.0),
      fmt::format("of {} runs that the default predicts too low the additive form gains {:+.1f} "
                  "points, of {} too high {:+.1f}: it adds time, which is right where other terms "
                  "lack it",
                  low ? low->runs : 0,
                  low ? low->points : 0.0,
                  high ? high->runs : 0,
                  high ? high->points : 0.0)));
}

}  // namespace

std::vector<Arm> measured_arms() {
  std::vector<Arm> arms;
  for (const char* mixed : {"default", "smooth-wa", "additive", "max"}) {
    arms.push_back(form("v2-final", mixed, {}));
  }
  for (const ConstantPair& pair : kConstantPairs) {
    for (const char* mixed : {"default", "additive"}) {
      arms.push_back(form(fmt::format("constant {}/{}", pair.prefill, pair.decode),
                          mixed,
                          {setting("lookup", "constant"),
                           setting("mfuPrefill", pair.prefill),
                           setting("mfuDecode", pair.decode)}));
    }
  }
  for (const char* mixed : {"default", "additive"}) {
    arms.push_back(form("weights once", mixed, {setting("weight_loads", "once")}));
  }
  return arms;
}

core::Result<void> judge_on_servers(const Lab& lab, Outcome& out) {
  if (lab.options().measured.empty()) {
    out.skipped.push_back(
        {.part = "the three criteria, the controls and the devil's advocate on measured servers",
         .needs = "--measured FILE"});
    return {};
  }
  const std::vector<Arm> arms = measured_arms();
  const auto runs = score_arms(arms, lab.options());
  if (!runs) {
    return core::fail(runs.error());
  }
  const auto groups = groups_of(*runs);
  const auto criteria = criteria_of(groups);
  const std::vector<Arm> forms(arms.begin(), arms.begin() + kFirstControl);
  out.tables.push_back(errors_table("measured_tpot", groups, forms, Figure::kTpot));
  out.tables.push_back(gains_table("measured_gains", groups, kForms, Figure::kTpot));
  out.tables.push_back(criteria_table(criteria));
  out.tables.push_back(direction_table(groups));
  out.tables.push_back(controls_table(groups, arms));
  add_statements(*runs, groups, criteria, out);
  decide(criteria, *runs, out);
  std::vector<std::string> parts;
  for (const Criteria& one : criteria) {
    const auto group = std::ranges::find(groups, one.group, &Group::name);
    parts.push_back(fmt::format("{} ({:+.1f} % off by the default): {:+.1f} points",
                                one.group,
                                mean_signed(group->runs, kForms.baseline, Figure::kTpot),
                                one.gain.points));
  }
  out.finding += fmt::format(
      " On measured servers the additive form adds time, so that the sign of the model's other "
      "errors decides what it gains: {}.",
      fmt::join(parts, "; "));
  return {};
}

}  // namespace ridgeline::studies::h5
