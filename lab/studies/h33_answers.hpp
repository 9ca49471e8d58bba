#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/study.hpp"

/// What the two files of study H33 share.
namespace ridgeline::studies::h33 {

struct DecodeScenario {
  const char* name;
  std::vector<std::int64_t> contexts;

  /// Longest over shortest context, whole.
  [[nodiscard]] std::int64_t range() const;
};
[[nodiscard]] const std::vector<DecodeScenario>& decode_scenarios();

/// The models of the study, by the names of its arms.
using Subjects = std::map<std::string, std::unique_ptr<Subject>>;
[[nodiscard]] core::Result<Subjects> subjects_of(const Lab& lab);
[[nodiscard]] std::vector<Arm> arms();

/// Attention time of a roofline, all layers.
[[nodiscard]] double attention_seconds(const Subject& subject,
                                       const std::vector<std::int64_t>& contexts);
[[nodiscard]] double mean(const std::vector<double>& values);

/// The three look-ups behind one long context among seven short ones.
void profile_table(const Subject& batch, StudyTable& table);
/// How often a longer context has a smaller MFU, at each batch size.
void context_falls_table(const Subject& batch, StudyTable& table);
/// Attention of one layer by every way of charging it, in the batch of sixteen.
void per_layer_table(const Subjects& with, StudyTable& table);
/// The ratios again under each rule for rows that read 0.
void causes_table(const Subjects& with, StudyTable& table);
/// The ratios on tables that were made: no zero rows, no holes, no cold calls, so that what is left
/// belongs to the formulas.
[[nodiscard]] core::Result<StudyTable> made_tables_table();
/// The verdict by the published rule, which looks at batches whose contexts differ 10 times or
/// more, and the finding.
void judge(const Subjects& with, Outcome& out);

}  // namespace ridgeline::studies::h33
