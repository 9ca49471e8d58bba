#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "latency/step_time_model.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::studies {

class ArmPredictions;
class Lab;

/// What a study ends in.
enum class Verdict : std::uint8_t {
  kConfirmed,
  kPartlyConfirmed,
  kRefuted,
  kUndecided,
  kNone,  ///< No verdict was published.
};
[[nodiscard]] const char* name(Verdict verdict);
inline constexpr std::array<Verdict, 5> kVerdicts = {Verdict::kConfirmed,
                                                     Verdict::kPartlyConfirmed,
                                                     Verdict::kRefuted,
                                                     Verdict::kUndecided,
                                                     Verdict::kNone};

/// What the arms are held against.
enum class Reference : std::uint8_t {
  kMeasured,    ///< Times of kernels or engines.
  kArithmetic,  ///< A closed form, or counting.
  kModel,       ///< Another prediction: the study then says nothing about reality.
};

/// One configuration under test: a step-time model and what is changed in it.
struct Arm {
  std::string name;
  /// A name of latency::roofline::presets(), or of latency::step_time_models().
  std::string preset;
  std::vector<latency::ModelSetting> settings = {};
  std::string lookup = {};
  std::vector<scenario::Override> run = {};  ///< Settings of its simulated runs.
};

/// Rows are maps of one set of keys, in one order.
struct StudyTable {
  std::string name;
  std::vector<document::Node> rows;
};

/// A part of a study that was not run, and what it needs: "--measured FILE".
struct SkippedPart {
  std::string part;
  std::string needs;
};

/// What an arm changed, over all cases: the harness says where it changed nothing.
struct Effect {
  std::string name;
  std::vector<std::pair<double, double>> values;  ///< Baseline, treatment.
};

/// What a run of a study found.
struct Outcome {
  std::vector<StudyTable> tables;
  Verdict by_rule = Verdict::kUndecided;  ///< By the study's own refutation rule.
  std::string because;                    ///< The numbers that decided.
  std::string finding;                    ///< Ours, which may differ from either verdict.
  std::vector<Effect> effects;
  std::vector<SkippedPart> skipped;
  bool checks_hold = true;  ///< Those that a study file states of itself.
};

/// What a study prices steps for, where it does not say otherwise of one.
struct Place {
  std::string network = "llama-3.1-8b";
  std::string gpu = "h100";  ///< The published tables are of it.
  std::int64_t ranks = 1;    ///< Tensor parallel size.
  bool made = false;         ///< On tables that are made, not measured.
};

/// A claim, how it is tested, and what would refute it. One file each: a study file of
/// lab/data/studies, or C++ and a line of registry.cpp.
struct Study {
  std::string id;  ///< "h28"
  std::string title;
  std::string claim;
  std::vector<Arm> arms;
  std::string held_fixed;
  std::string refuted_if;
  std::string controls;
  Reference reference = Reference::kModel;
  Verdict published = Verdict::kNone;
  std::string scope;
  std::string not_tested;
  bool needs_tables = true;  ///< Measured kernels: --bench-data.
  std::function<core::Result<Outcome>(const Lab& lab)> run = nullptr;
  Place place = {};
  bool is_file = false;  ///< Another network or GPU can take the place of its own.
};

/// Every study, by id.
[[nodiscard]] const std::vector<Study>& studies();
/// The study of that id, or an error with the nearest.
[[nodiscard]] core::Result<const Study*> find_study(const std::string& id);

/// What a study is run on.
struct StudyOptions {
  std::string bench_data = {};  ///< Folder of measured kernel tables of an H100.
  /// File of measured runs, as `validate` reads them; empty: parts that score arms on servers are
  /// skipped.
  std::string measured = {};
  /// File of requests that were recorded, as `replay` reads it; empty: parts that replay one are
  /// skipped.
  std::string trace = {};
  std::int64_t threads = 1;  ///< Outcomes do not depend on it.
  /// Shared with other studies, whose equal arms are then not simulated again; nullptr: not shared.
  ArmPredictions* predictions = nullptr;
};

/// A study with its outcome, and what the harness noticed by itself.
struct StudyReport {
  const Study* study = nullptr;
  Outcome outcome;
  /// Settings in which the arms differ: rows of key and one value per arm.
  StudyTable differences;
  core::Warnings warnings;
};
[[nodiscard]] core::Result<StudyReport> run_study(const Study& study, const StudyOptions& options);

}  // namespace ridgeline::studies
