#include "verbs/run/run_comparison.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/check.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "document/node_path.hpp"
#include "report/chart/figure.hpp"
#include "report/format.hpp"
#include "report/html_page.hpp"
#include "report/palette.hpp"
#include "report/table/sheet.hpp"
#include "report/table/table.hpp"
#include "verbs/compared_table.hpp"
#include "verbs/run/registry.hpp"
#include "verbs/run/result_tree.hpp"
#include "verbs/run/run_result.hpp"

namespace ridgeline::verbs {
namespace {

using document::MapBuilder;
using document::Node;
using report::figures::number_at;

constexpr std::int64_t kRunComparisonSchemaVersion = 1;

/// The headline without the model, which differs.
std::string title_of(const RunResult& result) {
  std::string text;
  for (const std::string& piece : result.headline) {
    text += (text.empty() ? "" : "   ") + piece.substr(0, piece.find(", step times by"));
  }
  return text;
}

core::Warnings warnings_of(std::span<const ComparedRun> runs) {
  core::Warnings all;
  for (const ComparedRun& run : runs) {
    for (const core::Warning& warning : run.result.warnings) {
      const bool known = std::ranges::any_of(all, [&](const core::Warning& other) {
        return other.code == warning.code && other.message == warning.message;
      });
      if (!known) {
        all.push_back(warning);
      }
    }
  }
  return all;
}

std::string number_or_absent(const Node& model, std::string_view path) {
  const Node* const value = at_path(model, path);
  return value != nullptr && value->is_number() ? report::significant(value->as_real()) : "-";
}

/// What held most of the engine's busy time, and how much.
std::string bottleneck_text(const Node& model) {
  const double busy = number_at(model, "summary.busy_s");
  const auto kinds = members_at(model, "summary.time_by_bottleneck");
  const auto most = std::ranges::max_element(
      kinds, {}, [](const Node::Member& kind) { return kind.value.as_real(); });
  return busy > 0.0 && most != kinds.end()
             ? fmt::format("{} {}", most->key, report::percent(most->value.as_real() / busy))
             : "-";
}

}  // namespace

std::string run_comparison_table(std::span<const ComparedRun> runs,
                                 const report::TextStyle& style) {
  RIDGELINE_CHECK(!runs.empty(), "nothing to compare");
  const Node tree = run_comparison_tree(runs);
  std::vector<std::string> names;
  for (const ComparedRun& run : runs) {
    names.push_back(run.model);
  }
  ComparedTable table("", "", names, report::rows_at(tree, "models"));
  const auto add = [&](std::string_view name, std::string_view unit, std::string path) {
    table.add(name, unit, [path = std::move(path)](const Node& model) {
      return number_or_absent(model, path);
    });
  };
  for (const char* const latency : {"ttft", "tpot", "e2e"}) {
    for (const char* const statistic : {"mean", "p99"}) {
      add(fmt::format("{} {}", report::upper(latency), statistic),
          "ms",
          fmt::format("summary.{}_ms.{}", latency, statistic));
    }
  }
  const double first = number_at(*report::rows_at(tree, "models").front(), "summary.e2e_ms.mean");
  table.add("E2E ratio", "", [&](const Node& model) {
    const double mine = number_at(model, "summary.e2e_ms.mean");
    return mine > 0.0 && first > 0.0 ? report::significant(mine / first) : "-";
  });
  add("throughput", "req/s", "summary.request_throughput");
  add("output", "tok/s", "summary.output_throughput");
  table.add("completed", "", [](const Node& model) {
    return report::cell_text(at_path(model, "summary.completed"), report::Format::kCount);
  });
  table.add("bottleneck", "", bottleneck_text);
  report::Sheet sheet("Runs by several models");
  sheet.row(title_of(runs.front().result)).gap();
  table.add_to(sheet);
  return sheet.warnings(warnings_of(runs)).render(report::Face::kTerminal, style);
}

document::Node run_comparison_tree(std::span<const ComparedRun> runs) {
  return MapBuilder()
      .add("schema_version", kRunComparisonSchemaVersion)
      .add("models",
           document::list_of(runs, [](const ComparedRun& run) { return result_tree(run.result); }));
}

std::string run_comparison_csv(std::span<const ComparedRun> runs) {
  const auto csv = find_exporter("csv");
  RIDGELINE_CHECK(csv.has_value(), "csv");
  std::string text;
  for (const ComparedRun& run : runs) {
    const std::string table = (*csv)->render(run.result, {});
    text += text.empty() ? table : table.substr(std::min(table.find('\n') + 1, table.size()));
  }
  return text;
}

}  // namespace ridgeline::verbs
