#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/study.hpp"
#include "latency/measured/table_notes.hpp"
#include "latency/step_time_model.hpp"

namespace ridgeline::studies {
namespace {

/// An arm that moves nothing by more than this is as good as its baseline.
constexpr double kVanishing = 0.002;

/// Settings in which arms differ, a column per arm.
core::Result<StudyTable> compare_arms(const Study& study, const Lab& lab) {
  std::vector<std::vector<latency::ModelSetting>> settings;
  std::vector<std::string> keys;
  for (const Arm& arm : study.arms) {
    auto subject = lab.subject(arm.name);
    if (!subject) {
      return core::fail(std::move(subject).error());
    }
    settings.push_back((*subject)->model().settings());
    for (const scenario::Override& one : arm.run) {
      settings.back().push_back({.key = one.path, .value = cell(one.text)});
    }
    for (const latency::ModelSetting& setting : settings.back()) {
      if (std::ranges::find(keys, setting.key) == keys.end()) {
        keys.push_back(setting.key);
      }
    }
  }
  StudyTable table{.name = "differences", .rows = {}};
  for (const std::string& key : keys) {
    std::vector<std::string> values;
    for (const auto& of_arm : settings) {
      const auto found = std::ranges::find(of_arm, key, &latency::ModelSetting::key);
      values.push_back(found == of_arm.end() ? "not read" : found->value.describe());
    }
    if (std::ranges::adjacent_find(values, std::not_equal_to<>()) == values.end()) {
      continue;
    }
    std::vector<document::Node::Member> members = {
        {.key = "setting", .value = cell(key), .where = {}}};
    for (std::size_t i = 0; i < values.size(); ++i) {
      members.push_back({.key = study.arms[i].name, .value = cell(values[i]), .where = {}});
    }
    table.rows.push_back(document::Node::map(std::move(members), {}));
  }
  return table;
}

core::Warnings judge(const Study& study, const StudyReport& report) {
  core::Warnings warnings;
  if (study.reference == Reference::kModel) {
    warnings.push_back(
        {.code = "W-circular-reference",
         .message = "the arms are held against another prediction from the same tables: whichever "
                    "is nearer to it need not be nearer to a GPU",
         .hint = "ridgeline study run rank holds every model against measured kernels"});
  }
  for (const Effect& effect : report.outcome.effects) {
    double largest = 0.0;
    for (const auto& [baseline, treatment] : effect.values) {
      largest = std::max(largest, std::abs(treatment / baseline - 1.0));
    }
    if (largest <= kVanishing) {
      warnings.push_back({.code = "W-vanishing-effect",
                          .message = fmt::format("{} changes no case by more than {:.2g} %: the "
                                                 "study cannot tell it from nothing",
                                                 effect.name,
                                                 largest * 100.0),
                          .hint = "cases in which it would matter are missing"});
    }
  }
  return warnings;
}

}  // namespace

const char* name(Verdict verdict) {
  constexpr std::array<const char*, 5> kNames = {
      "confirmed", "partly confirmed", "refuted", "undecided", "none"};
  return kNames[static_cast<std::size_t>(verdict)];
}

core::Result<StudyReport> run_study(const Study& study, const StudyOptions& options) {
  if (study.needs_tables && options.bench_data.empty()) {
    return core::fail(
        {.field = "--bench-data",
         .message = fmt::format("missing: {} looks kernels up in measured tables", study.id),
         .where = {.file = "command line"},
         .hint = latency::measured::where_tables_come_from()});
  }
  const Lab lab(study, options);
  auto outcome = study.run(lab);
  if (!outcome) {
    return core::fail(std::move(outcome).error());
  }
  auto differences = compare_arms(study, lab);
  if (!differences) {
    return core::fail(std::move(differences).error());
  }
  StudyReport report{.study = &study,
                     .outcome = std::move(*outcome),
                     .differences = std::move(*differences),
                     .warnings = {}};
  report.warnings = judge(study, report);
  if (study.needs_tables) {
    const auto notes = lab.table_notes();
    report.warnings.insert(report.warnings.end(), notes.begin(), notes.end());
  }
  return report;
}

core::Result<const Study*> find_study(const std::string& id) {
  std::vector<std::string> ids;
  for (const Study& study : studies()) {
    if (study.id == id) {
      return &study;
    }
    ids.emplace_back(study.id);
  }
  const auto meant = document::nearest(id, ids);
  return core::fail(
      {.message = fmt::format("'{}' is no study, expected one of {}", id, fmt::join(ids, ", ")),
       .where = {.file = "command line"},
       .hint = meant ? fmt::format("did you mean '{}'?", *meant) : std::string()});
}

}  // namespace ridgeline::studies
