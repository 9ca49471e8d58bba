#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "core/units.hpp"
#include "document/document.hpp"
#include "domain/step.hpp"
#include "lab/studies/study.hpp"
#include "latency/measured/kernel_tables.hpp"
#include "latency/measured/shared_tables.hpp"
#include "latency/roofline/roofline_model.hpp"
#include "latency/roofline/step_cost.hpp"
#include "latency/step_time_model.hpp"
#include "model/hardware/gpu_spec.hpp"
#include "model/model_spec.hpp"

namespace ridgeline::studies {

/// The network of most studies.
inline constexpr const char* kLlama8b = "llama-3.1-8b";
/// The GPU of the published tables.
inline constexpr const char* kStudyGpu = "h100";

/// A step that owns its requests.
struct Requests {
  std::vector<std::int64_t> decodes = {};                            ///< KV lengths.
  std::vector<std::pair<std::int64_t, std::int64_t>> prefills = {};  ///< (past, new)
};

/// Keeps the tables that studies read: commands and arms that ask for them while the result lives
/// do not read the files again. nullptr where there are none, which is the error of those that ask.
[[nodiscard]] std::shared_ptr<const latency::measured::SharedTables> keep_tables(
    const std::string& bench_data, const std::string& gpu = kStudyGpu);

/// Whether its step-time model looks kernels up in measured tables.
[[nodiscard]] bool reads_tables(const Arm& arm);

/// A step-time model of a study, with the network it refers to.
class Subject {
 public:
  static core::Result<std::unique_ptr<Subject>> make(const Arm& arm,
                                                     const Place& place,
                                                     const std::string& bench_data);

  /// Whole microseconds; of a roofline.
  [[nodiscard]] std::int64_t step_us(const Requests& requests) const;
  /// GPU time of a step; of any model.
  [[nodiscard]] core::Seconds gpu_time(const Requests& requests) const;
  /// Step cost of a roofline.
  [[nodiscard]] latency::roofline::StepCost cost(const Requests& requests) const;
  /// GPU time of the attention kernels, all layers together; of any model.
  [[nodiscard]] core::Seconds attention(const Requests& requests) const;
  [[nodiscard]] const latency::StepTimeModel& model() const { return *model_; }
  /// The model where it is a roofline, else nullptr.
  [[nodiscard]] const latency::roofline::RooflineModel* roofline() const { return roofline_; }

 private:
  Subject() = default;

  model::ModelSpec network_;
  hardware::GpuSpec gpu_;
  latency::Execution execution_;
  std::unique_ptr<latency::StepTimeModel> model_;
  const latency::roofline::RooflineModel* roofline_ = nullptr;
};

/// What studies work with: the tables, and models made of their arms. A model that cannot be made
/// ends the study.
class Lab {
 public:
  Lab(const Study& study, const StudyOptions& options)
      : study_(study),
        options_(options),
        tables_(keep_tables(options.bench_data, study.place.gpu)) {}

  /// The model of an arm in the study's own place.
  [[nodiscard]] core::Result<std::unique_ptr<Subject>> subject(const std::string& arm) const;
  [[nodiscard]] core::Result<std::unique_ptr<Subject>> subject(const std::string& arm,
                                                               const Place& place) const;
  [[nodiscard]] core::Result<std::unique_ptr<Subject>> subject(const std::string& arm,
                                                               const std::string& network,
                                                               std::int64_t ranks = 1) const;
  /// The measured kernels themselves.
  [[nodiscard]] core::Result<latency::measured::KernelTables> tables() const;
  /// What a reader of the tables should know of them; nothing where they cannot be read.
  [[nodiscard]] core::Warnings table_notes() const;
  [[nodiscard]] const StudyOptions& options() const { return options_; }
  [[nodiscard]] const std::vector<Arm>& arms() const { return study_.arms; }
  [[nodiscard]] const Study& study() const { return study_; }

 private:
  const Study& study_;
  const StudyOptions& options_;
  std::shared_ptr<const latency::measured::SharedTables> tables_;
};

/// Cells of a table.
[[nodiscard]] document::Node cell(std::int64_t value);
[[nodiscard]] document::Node cell(double value);
[[nodiscard]] document::Node cell(const std::string& value);
[[nodiscard]] document::Node cell(const char* value);
[[nodiscard]] document::Node cell(bool value);
[[nodiscard]] document::Node cell(const std::vector<std::int64_t>& values);
[[nodiscard]] document::Node cell(const std::vector<double>& values);
inline document::Node cell(document::Node value) {
  return value;
}

inline void append_cells(std::vector<document::Node::Member>& members) {
  static_cast<void>(members);
}
template <class Value, class... Rest>
void append_cells(std::vector<document::Node::Member>& members,
                  const char* key,
                  const Value& value,
                  const Rest&... rest) {
  members.push_back({.key = key, .value = cell(value), .where = {}});
  append_cells(members, rest...);
}
/// One row: row("batch_size", 4, "ratio", 1.2).
template <class... Cells>
[[nodiscard]] document::Node row(const Cells&... cells) {
  std::vector<document::Node::Member> members;
  append_cells(members, cells...);
  return document::Node::map(std::move(members), {});
}

/// A sentence of a published text that our numbers decide: a row of the table "statements".
[[nodiscard]] document::Node statement(const char* id,
                                       const std::string& said,
                                       bool holds,
                                       const std::string& computed);

/// The nearest number of so many decimals, as the published tables were printed.
[[nodiscard]] double rounded(double value, int decimals);

/// The fixture of most published studies, and of H29.
[[nodiscard]] latency::ModelSetting constants(const char* set);
[[nodiscard]] latency::ModelSetting setting(const char* key, const char* value);
[[nodiscard]] latency::ModelSetting setting(const char* key, double value);
[[nodiscard]] latency::ModelSetting setting(const char* key, std::int64_t value);
[[nodiscard]] latency::ModelSetting flag(const char* key, bool value);

}  // namespace ridgeline::studies
