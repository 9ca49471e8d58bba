#include "lab/pages/study_report.hpp"

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/text.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "lab/studies/study.hpp"

namespace ridgeline::report {
namespace {

using document::list_node;
using document::MapBuilder;

constexpr std::int64_t kStudySchemaVersion = 1;

document::Node skipped_tree(const studies::Outcome& outcome) {
  return document::list_of(
      outcome.skipped, [&](const studies::SkippedPart& skipped) -> document::Node {
        return MapBuilder().add("part", skipped.part).add("needs", skipped.needs);
      });
}

document::Node arms_tree(const studies::Study& study) {
  std::vector<document::Node> arms;
  for (const studies::Arm& arm : study.arms) {
    MapBuilder settings;
    for (const auto& [key, value] : arm.settings) {
      settings.add(key, value);
    }
    MapBuilder tree;
    tree.add("name", arm.name)
        .add("latency", arm.preset)
        .add("lookup", document::text_or_null(arm.lookup))
        .add("set", settings);
    if (!arm.run.empty()) {
      MapBuilder run;
      for (const scenario::Override& one : arm.run) {
        run.add(one.path, one.text);
      }
      tree.add("run", run);
    }
    arms.push_back(tree.build());
  }
  return list_node(std::move(arms));
}

/// A number with at most six significant digits, for people.
std::string number_text(double value) {
  return value == std::floor(value) && std::abs(value) < core::kLargestExactInteger
             ? core::shortest(value)
             : fmt::format("{:.6g}", value);
}

std::string cell_text(const document::Node& node) {
  switch (node.kind()) {
    case document::Node::Kind::kNull:
      return "";
    case document::Node::Kind::kBool:
      return node.as_bool() ? "yes" : "no";
    case document::Node::Kind::kInteger:
      return fmt::format("{}", node.as_integer());
    case document::Node::Kind::kReal:
      return number_text(node.as_real());
    case document::Node::Kind::kString:
      return node.as_string();
    case document::Node::Kind::kList: {
      std::vector<std::string> items;
      for (const document::Node& item : node.items()) {
        items.push_back(cell_text(item));
      }
      return fmt::format("{}", fmt::join(items, " "));
    }
    case document::Node::Kind::kMap: {
      std::vector<std::string> items;
      for (const document::Node::Member& member : node.members()) {
        items.push_back(fmt::format("{} {}", member.key, cell_text(member.value)));
      }
      return fmt::format("{}", fmt::join(items, ", "));
    }
  }
  return {};
}

std::string table_text(const studies::StudyTable& table) {
  std::string text = fmt::format("\n### {}\n\n", table.name);
  if (table.rows.empty()) {
    return text + "none\n";
  }
  std::string rule = "|";
  text += "|";
  for (const document::Node::Member& member : table.rows.front().members()) {
    text += fmt::format(" {} |", member.key);
    rule += "---|";
  }
  text += "\n" + rule + "\n";
  for (const document::Node& row : table.rows) {
    text += "|";
    for (const document::Node::Member& member : row.members()) {
      text += fmt::format(" {} |", cell_text(member.value));
    }
    text += "\n";
  }
  return text;
}

}  // namespace

document::Node study_tree(const studies::StudyReport& report) {
  const studies::Study& study = *report.study;
  MapBuilder tables;
  for (const studies::StudyTable& table : report.outcome.tables) {
    tables.add(table.name, list_node(table.rows));
  }
  return MapBuilder()
      .add("schema_version", kStudySchemaVersion)
      .add("study", study.id)
      .add("title", study.title)
      .add("claim", study.claim)
      .add("arms", arms_tree(study))
      .add("differences", list_node(report.differences.rows))
      .add("held_fixed", study.held_fixed)
      .add("refuted_if", study.refuted_if)
      .add("controls", study.controls)
      .add("tables", tables.build())
      .add("verdict_published", studies::name(study.published))
      .add("verdict_by_rule", studies::name(report.outcome.by_rule))
      .add("because", report.outcome.because)
      .add("finding", report.outcome.finding)
      .add("scope", study.scope)
      .add("not_tested", study.not_tested)
      .add("skipped", skipped_tree(report.outcome))
      .add("warnings", report.warnings)
      .build();
}

document::Node studies_tree(const std::vector<studies::StudyReport>& reports) {
  std::vector<document::Node> items;
  items.reserve(reports.size());
  for (const auto& report : reports) {
    items.push_back(study_tree(report));
  }
  return MapBuilder()
      .add("schema_version", kStudySchemaVersion)
      .add("studies", list_node(std::move(items)))
      .build();
}

std::string study_markdown(const studies::StudyReport& report) {
  const studies::Study& study = *report.study;
  const studies::Outcome& outcome = report.outcome;
  std::string text = fmt::format("# {}: {}\n\n", study.id, study.title);
  text += fmt::format("**Claim.** {}\n\n", study.claim);
  text += fmt::format("**Published verdict.** {}\n\n", studies::name(study.published));
  text += fmt::format("**Verdict by its own rule.** {}: {}. (Refuted if {}.)\n\n",
                      studies::name(outcome.by_rule),
                      outcome.because,
                      study.refuted_if);
  text += fmt::format("**Finding.** {}\n\n", outcome.finding);
  text += fmt::format("**Held fixed.** {}\n\n", study.held_fixed);
  text += fmt::format("**Controls.** {}\n\n", study.controls);
  text += fmt::format("**Scope.** {}. **Not tested.** {}.\n", study.scope, study.not_tested);
  for (const studies::SkippedPart& skipped : outcome.skipped) {
    text += fmt::format("\n> skipped: {}: needs {}\n", skipped.part, skipped.needs);
  }
  for (const core::Warning& warning : report.warnings) {
    text += fmt::format("\n> warning {}: {} - {}\n", warning.code, warning.message, warning.hint);
  }
  text += "\n## Arms\n";
  text += table_text(report.differences);
  text += "\n## Tables\n";
  for (const studies::StudyTable& table : outcome.tables) {
    text += table_text(table);
  }
  return text;
}

}  // namespace ridgeline::report
