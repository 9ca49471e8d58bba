#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "lab/studies/expression.hpp"
#include "lab/studies/gains.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/measured_arms.hpp"
#include "lab/studies/study.hpp"
#include "lab/studies/study_file.hpp"

namespace ridgeline::studies {

/// The flag without which `runs` has no value.
inline constexpr const char* kMeasured = "--measured";

/// The names and functions of a study file's expressions, but for its tables: those of `let`, and
/// what they can ask of models, simulated runs and measured servers. Without a lab it knows the
/// names, and no values.
class StudyScope {
 public:
  StudyScope(const Study& study, const StudyFile& file, const Lab* lab);
  StudyScope(const StudyScope&) = delete;
  StudyScope& operator=(const StudyScope&) = delete;
  StudyScope(StudyScope&&) = delete;
  StudyScope& operator=(StudyScope&&) = delete;
  ~StudyScope() = default;

  [[nodiscard]] Scope& scope() { return scope_; }
  [[nodiscard]] const Scope& scope() const { return scope_; }

 private:
  void add_functions();
  void add_names();
  core::Result<std::string> arm_of(const Value& value) const;
  core::Result<Place> place_of(const Given& given) const;
  core::Result<const Subject*> subject_of(const Given& given);
  core::Result<Value> step(const Given& given);
  core::Result<Value> lookup(const Given& given);
  core::Result<Value> run(const Given& given);
  core::Result<Value> runs();
  core::Result<Runs> chosen(const Value& list);
  core::Result<Pair> pair_of(const Value& baseline, const Value& treatment) const;
  core::Result<Value> gain(const Given& given);
  [[nodiscard]] std::vector<Arm> server_arms() const;

  const Study& study_;
  const StudyFile& file_;
  const Lab* lab_;
  Scope scope_;
  std::map<std::string, std::unique_ptr<Subject>> subjects_;
  std::map<std::string, Value> steps_;
  std::optional<std::vector<ScoredRun>> scored_;
};

}  // namespace ridgeline::studies
