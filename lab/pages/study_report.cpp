#include "lab/pages/study_report.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/text.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "lab/studies/study.hpp"
#include "report/chart/svg.hpp"
#include "report/html_page.hpp"

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

/// The names of a table's columns and its cells.
struct Cells {
  std::vector<std::string> head;
  std::vector<std::vector<std::string>> rows;
};

Cells cells_of(const studies::StudyTable& table) {
  Cells cells;
  for (const document::Node& row : table.rows) {
    auto& texts = cells.rows.emplace_back();
    for (const document::Node::Member& member : row.members()) {
      if (cells.rows.size() == 1) {
        cells.head.push_back(member.key);
      }
      texts.push_back(cell_text(member.value));
    }
  }
  return cells;
}

std::string table_text(const studies::StudyTable& table) {
  std::string text = fmt::format("\n### {}\n\n", table.name);
  if (table.rows.empty()) {
    return text + "none\n";
  }
  const Cells cells = cells_of(table);
  const auto line = [](const std::vector<std::string>& texts) {
    return fmt::format("| {} |\n", fmt::join(texts, " | "));
  };
  text += line(cells.head) + "|";
  for (std::size_t i = 0; i < cells.head.size(); ++i) {
    text += "---|";
  }
  text += "\n";
  for (const auto& row : cells.rows) {
    text += line(row);
  }
  return text;
}

/// What a study says before its tables: each sentence under its name.
std::vector<std::pair<std::string_view, std::string>> sentences_of(
    const studies::StudyReport& report) {
  const studies::Study& study = *report.study;
  const studies::Outcome& outcome = report.outcome;
  return {{"Claim", study.claim},
          {"Published verdict", std::string(studies::name(study.published))},
          {"Verdict by its own rule",
           fmt::format("{}: {}. (Refuted if {}.)",
                       studies::name(outcome.by_rule),
                       outcome.because,
                       study.refuted_if)},
          {"Finding", outcome.finding},
          {"Held fixed", study.held_fixed},
          {"Controls", study.controls}};
}

std::string table_section(const studies::StudyTable& table) {
  Cells cells = cells_of(table);
  for (auto& row : cells.rows) {
    for (std::string& cell : row) {
      cell = xml_escaped(cell);
    }
  }
  return fmt::format("<h3>{}</h3>\n{}",
                     xml_escaped(table.name),
                     cells.rows.empty() ? "<p>none</p>\n" : table_html(cells.head, cells.rows));
}

std::string study_section(const studies::StudyReport& report) {
  const studies::Study& study = *report.study;
  std::string html =
      fmt::format("<h2>{}: {}</h2>\n", xml_escaped(study.id), xml_escaped(study.title));
  const auto paragraph = [&](std::string_view name, const std::string& text) {
    html += fmt::format("<p><b>{}.</b> {}</p>\n", name, xml_escaped(text));
  };
  for (const auto& [name, text] : sentences_of(report)) {
    paragraph(name, text);
  }
  paragraph("Scope", study.scope);
  paragraph("Not tested", study.not_tested);
  for (const studies::SkippedPart& skipped : report.outcome.skipped) {
    paragraph("Skipped", fmt::format("{}: needs {}", skipped.part, skipped.needs));
  }
  for (const core::Warning& warning : report.warnings) {
    paragraph("Warning", fmt::format("{}: {}; {}", warning.code, warning.message, warning.hint));
  }
  html += table_section(report.differences);
  for (const studies::StudyTable& table : report.outcome.tables) {
    html += table_section(table);
  }
  return html;
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
  for (const auto& [name, sentence] : sentences_of(report)) {
    text += fmt::format("**{}.** {}\n\n", name, sentence);
  }
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

std::string studies_html(const std::vector<studies::StudyReport>& reports) {
  std::string page = page_opening("Studies");
  for (const studies::StudyReport& report : reports) {
    page += study_section(report);
  }
  return page + page_closing({});
}

}  // namespace ridgeline::report
