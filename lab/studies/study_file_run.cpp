// A study file worked out: the outcome that its tables and texts are.
#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "lab/studies/expression.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/study.hpp"
#include "lab/studies/study_file.hpp"
#include "lab/studies/study_scope.hpp"

namespace ridgeline::studies {
namespace {

/// The expression that is a name.
Expression name_of(const std::string& name) {
  Expression expression;
  expression.root.kind = Term::Kind::kName;
  expression.root.word = name;
  return expression;
}

/// Works a file out. Without a lab it knows the names that expressions may use, and no values.
class FileRun {
 public:
  FileRun(const Study& study, const StudyFile& file, const Lab* lab)
      : file_(file), lab_(lab), names_(study, file, lab) {
    for (const FileTable& table : file_.tables) {
      names_.scope().define(table.name, [this, &table]() -> core::Result<Value> {
        auto rows = rows_of(table.blocks);
        return rows ? core::Result<Value>(Value::list(*std::move(rows), {}))
                    : core::fail(std::move(rows).error());
      });
    }
  }

  [[nodiscard]] const Scope& scope() const { return names_.scope(); }
  core::Result<Outcome> outcome();

 private:
  core::Result<std::vector<Value>> rows_of(const std::vector<Block>& blocks) const;
  core::Result<void> add_rows(const Block& block,
                              std::size_t loop,
                              Locals& locals,
                              std::vector<Value>& rows) const;
  core::Result<void> add_row(const Block& block, Locals locals, std::vector<Value>& rows) const;
  core::Result<std::string> sentence(const Expression& text) const;
  core::Result<void> add_effects(Outcome& out) const;
  core::Result<void> add_checks(Outcome& out) const;

  const StudyFile& file_;
  const Lab* lab_;
  StudyScope names_;
};

core::Result<std::vector<Value>> FileRun::rows_of(const std::vector<Block>& blocks) const {
  std::vector<Value> rows;
  for (const Block& block : blocks) {
    Locals locals;
    if (const auto added = add_rows(block, 0, locals, rows); !added) {
      return core::fail(added.error());
    }
  }
  return rows;
}

core::Result<void> FileRun::add_rows(const Block& block,
                                     std::size_t loop,
                                     Locals& locals,
                                     std::vector<Value>& rows) const {
  if (loop == block.grid.size()) {
    return add_row(block, locals, rows);
  }
  const auto& [name, among] = block.grid[loop];
  const auto values = scope().evaluate(among, locals);
  if (!values) {
    return core::fail(values.error());
  }
  if (!values->is_list()) {
    return core::fail(among.problem(fmt::format("found {}, expected a list", values->describe())));
  }
  for (const Value& value : values->items()) {
    locals.emplace_back(name, value);
    const auto added = add_rows(block, loop + 1, locals, rows);
    locals.pop_back();
    if (!added) {
      return added;
    }
  }
  return {};
}

core::Result<void> FileRun::add_row(const Block& block,
                                    Locals locals,
                                    std::vector<Value>& rows) const {
  for (const auto& [name, value] : block.let) {
    auto found = scope().evaluate(value, locals);
    if (!found) {
      return core::fail(std::move(found).error());
    }
    locals.emplace_back(name, *std::move(found));
  }
  if (block.where) {
    const auto counts = scope().evaluate(*block.where, locals);
    if (!counts) {
      return core::fail(counts.error());
    }
    if (counts->kind() != Value::Kind::kBool) {
      return core::fail(block.where->problem(
          fmt::format("found {}, expected true or false", counts->describe())));
    }
    if (!counts->as_bool()) {
      return {};
    }
  }
  if (block.rows) {
    const auto found = scope().evaluate(*block.rows, locals);
    if (!found) {
      return core::fail(found.error());
    }
    const bool fits = found->is_list() && std::ranges::all_of(found->items(), &Value::is_map);
    if (!fits) {
      return core::fail(
          block.rows->problem(fmt::format("found {}, expected a list of maps", found->describe())));
    }
    rows.insert(rows.end(), found->items().begin(), found->items().end());
    return {};
  }
  std::vector<Value::Member> members;
  for (const auto& [name, column] : block.columns) {
    auto value = scope().evaluate(column, locals);
    if (!value) {
      return core::fail(std::move(value).error());
    }
    members.push_back({.key = name, .value = *std::move(value), .where = {}});
  }
  rows.push_back(Value::map(std::move(members), {}));
  return {};
}

core::Result<std::string> FileRun::sentence(const Expression& text) const {
  const auto found = scope().evaluate(text);
  return found ? core::Result<std::string>(text_of(*found)) : core::fail(found.error());
}

core::Result<void> FileRun::add_effects(Outcome& out) const {
  for (const auto& [name, block] : file_.effects) {
    const auto rows = rows_of({block});
    if (!rows) {
      return core::fail(rows.error());
    }
    Effect effect{.name = name, .values = {}};
    for (const Value& row : *rows) {
      const Value& baseline = row.members()[0].value;
      const Value& treatment = row.members()[1].value;
      if (!baseline.is_number() || !treatment.is_number()) {
        return core::fail(block.columns[0].second.problem("expected numbers"));
      }
      effect.values.emplace_back(baseline.as_real(), treatment.as_real());
    }
    out.effects.push_back(std::move(effect));
  }
  return {};
}

core::Result<void> FileRun::add_checks(Outcome& out) const {
  StudyTable table{.name = "checks", .rows = {}};
  for (const FileCheck& check : file_.checks) {
    const auto text = sentence(check.text);
    const auto holds = scope().evaluate(check.holds);
    if (!text || !holds) {
      return core::fail(!text ? text.error() : holds.error());
    }
    if (holds->kind() != Value::Kind::kBool) {
      return core::fail(
          check.holds.problem(fmt::format("found {}, expected true or false", holds->describe())));
    }
    out.checks_hold = out.checks_hold && holds->as_bool();
    table.rows.push_back(row("check", *text, "holds", *holds));
  }
  if (!table.rows.empty()) {
    out.tables.push_back(std::move(table));
  }
  return {};
}

core::Result<Outcome> FileRun::outcome() {
  Outcome out;
  bool skipped = false;
  for (const FileTable& table : file_.tables) {
    const auto rows = scope().evaluate(name_of(table.name));
    if (rows) {
      out.tables.push_back({.name = table.name, .rows = rows->items()});
    } else if (rows.error().front().field == kMeasured && lab_->options().measured.empty()) {
      skipped = true;
    } else {
      return core::fail(rows.error());
    }
  }
  if (skipped) {
    out.skipped.push_back({.part = file_.server_part, .needs = "--measured FILE"});
  }
  if (const auto added = add_effects(out); !added) {
    return core::fail(added.error());
  }
  if (const auto added = add_checks(out); !added) {
    return core::fail(added.error());
  }
  const auto because = sentence(file_.because);
  const auto finding = sentence(file_.finding);
  const auto verdict = sentence(file_.verdict);
  if (!because || !finding || !verdict) {
    return core::fail(!because ? because.error() : !finding ? finding.error() : verdict.error());
  }
  const auto known =
      std::ranges::find(kVerdicts, *verdict, [](Verdict one) { return std::string(name(one)); });
  if (known == kVerdicts.end()) {
    return core::fail(file_.verdict.problem(fmt::format(
        "found \"{}\", expected \"confirmed\", \"partly confirmed\", \"refuted\" or \"undecided\"",
        *verdict)));
  }
  out.by_rule = *known;
  out.because = *because;
  out.finding = *finding;
  return out;
}

}  // namespace

void check_names(const Study& study, const StudyFile& file, core::Errors& errors) {
  const FileRun run(study, file, nullptr);
  const Scope& scope = run.scope();
  for (const FileDefinition& one : file.let) {
    scope.check(one.body, one.parameters, errors);
  }
  const auto look = [&](const Block& block) {
    std::vector<std::string> known;
    for (const Block::Named* part : {&block.grid, &block.let}) {
      for (const auto& [name, value] : *part) {
        scope.check(value, known, errors);
        known.push_back(name);
      }
    }
    for (const auto& [name, value] : block.columns) {
      scope.check(value, known, errors);
    }
    for (const auto* part : {&block.where, &block.rows}) {
      if (*part) {
        scope.check(**part, known, errors);
      }
    }
  };
  for (const FileTable& table : file.tables) {
    std::ranges::for_each(table.blocks, look);
  }
  for (const auto& [name, block] : file.effects) {
    look(block);
  }
  for (const FileCheck& check : file.checks) {
    scope.check(check.text, {}, errors);
    scope.check(check.holds, {}, errors);
  }
  for (const Expression* text : {&file.verdict, &file.because, &file.finding}) {
    scope.check(*text, {}, errors);
  }
}

core::Result<Outcome> run_study_file(const StudyFile& file, const Lab& lab) {
  return FileRun(lab.study(), file, &lab).outcome();
}

}  // namespace ridgeline::studies
