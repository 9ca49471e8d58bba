#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "lab/studies/expression.hpp"
#include "lab/studies/study.hpp"
#include "scenario/scenario.hpp"

/// Studies that are files: a claim, its arms, and tables whose cells are expressions.
/// lab/docs/studies.md teaches them, data/schemas/study.schema.json has the keys.
namespace ridgeline::studies {

/// Rows of a table: one for each point of a grid, or those that an expression gives.
struct Block {
  using Named = std::vector<std::pair<std::string, Expression>>;
  Named grid = {};                       ///< Lists; a later one may use an earlier one's value.
  std::optional<Expression> where = {};  ///< Which points count.
  Named let = {};                        ///< Values of a point.
  Named columns = {};
  std::optional<Expression> rows = {};
};

struct FileTable {
  std::string name;
  std::vector<Block> blocks = {};
};

/// A definition of `let`: "x", or "f(a, b)".
struct FileDefinition {
  std::string name;
  std::vector<std::string> parameters = {};
  Expression body = {};
};

struct FileCheck {
  Expression text;
  Expression holds;
};

/// What a file says beyond the words of a Study.
struct StudyFile {
  std::vector<scenario::Override> run = {};  ///< Settings of every simulated run.
  std::vector<std::string> server_arms = {};
  /// What is skipped without measured runs: the tables that ask for them.
  std::string server_part = "the arms on measured servers";
  std::vector<FileDefinition> let = {};
  std::vector<FileTable> tables = {};
  std::vector<std::pair<std::string, Block>> effects = {};  ///< Columns: baseline, treatment.
  std::vector<FileCheck> checks = {};
  Expression verdict = {};
  Expression because = {};
  Expression finding = {};
};

/// Reads a study file; every problem names its place.
[[nodiscard]] core::Result<Study> read_study(const document::Node& document);
[[nodiscard]] core::Result<Study> read_study_file(const std::string& path);
/// Those of lab/data/studies.
[[nodiscard]] Study compiled_in_study(const std::string& id);
/// A study to begin with: it runs as it is.
[[nodiscard]] std::string study_stub(const std::string& id);

/// The study on another network or GPU; texts stay where they are empty.
[[nodiscard]] core::Result<Study> elsewhere(Study study,
                                            const std::string& network,
                                            const std::string& gpu);

/// Problems that need no run: names and functions that are not there.
void check_names(const Study& study, const StudyFile& file, core::Errors& errors);
/// Works all tables, effects, checks and texts of a file out.
[[nodiscard]] core::Result<Outcome> run_study_file(const StudyFile& file, const Lab& lab);

}  // namespace ridgeline::studies
