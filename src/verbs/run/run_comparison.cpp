#include "verbs/run/run_comparison.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
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
#include "domain/step.hpp"
#include "metrics/slo.hpp"
#include "metrics/summary.hpp"
#include "report/format.hpp"
#include "report/palette.hpp"
#include "report/table/grid.hpp"
#include "report/text_lines.hpp"
#include "report/warning_lines.hpp"
#include "verbs/run/registry.hpp"
#include "verbs/run/result_tree.hpp"
#include "verbs/run/run_result.hpp"

namespace ridgeline::verbs {
namespace {

using document::MapBuilder;

constexpr std::int64_t kRunComparisonSchemaVersion = 1;
constexpr const char* kAbsent = "-";

/// A latency that is compared.
struct LatencyRow {
  const char* name;
  metrics::Metric metric;
  metrics::Statistic statistic;
};
constexpr auto kLatencyRows = std::to_array<LatencyRow>({
    {"TTFT mean", metrics::Metric::kTtft, metrics::Statistic::kMean},
    {"TTFT p99", metrics::Metric::kTtft, metrics::Statistic::kP99},
    {"TPOT mean", metrics::Metric::kTpot, metrics::Statistic::kMean},
    {"TPOT p99", metrics::Metric::kTpot, metrics::Statistic::kP99},
    {"E2E mean", metrics::Metric::kE2e, metrics::Statistic::kMean},
    {"E2E p99", metrics::Metric::kE2e, metrics::Statistic::kP99},
});

std::optional<double> latency_ms(const RunResult& result, const LatencyRow& row) {
  const auto& distribution = result.summary.client.of(row.metric);
  return distribution ? std::optional(distribution->of(row.statistic)) : std::nullopt;
}

std::string number_or_absent(std::optional<double> value) {
  return value ? report::significant(*value) : kAbsent;
}

/// What held most of the engine's busy time, and how much.
std::string bottleneck_text(const metrics::Summary& summary) {
  if (summary.busy == core::Duration()) {
    return kAbsent;
  }
  const auto most = std::ranges::max_element(summary.time_by_bottleneck);
  const double share = most->to_seconds() / summary.busy.to_seconds();
  return fmt::format(
      "{} {}",
      domain::kBottleneckNames[static_cast<std::size_t>(most - summary.time_by_bottleneck.begin())],
      report::percent(share));
}

template <class Cell>
void add_row(report::Grid& grid,
             std::string name,
             std::string unit,
             std::span<const ComparedRun> runs,
             const Cell& cell) {
  std::vector<std::string> cells = {std::move(name), std::move(unit)};
  for (const ComparedRun& run : runs) {
    cells.push_back(cell(run.result));
  }
  grid.add(std::move(cells));
}

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

}  // namespace

std::string run_comparison_table(std::span<const ComparedRun> runs,
                                 const report::TextStyle& style) {
  RIDGELINE_CHECK(!runs.empty(), "nothing to compare");
  std::vector<report::Grid::Column> columns = {{"", true}, {"", true}};
  for (const ComparedRun& run : runs) {
    columns.push_back({run.model});
  }
  report::Grid grid(std::move(columns));
  for (const LatencyRow& row : kLatencyRows) {
    add_row(grid, row.name, "ms", runs, [&](const RunResult& result) {
      return number_or_absent(latency_ms(result, row));
    });
  }
  const auto first = latency_ms(runs.front().result, kLatencyRows[4]);
  add_row(grid, "E2E ratio", "", runs, [&](const RunResult& result) {
    const auto mine = latency_ms(result, kLatencyRows[4]);
    return mine && first && *first > 0.0 ? report::significant(*mine / *first) : kAbsent;
  });
  add_row(grid, "throughput", "req/s", runs, [](const RunResult& result) {
    return number_or_absent(result.summary.request_throughput);
  });
  add_row(grid, "output", "tok/s", runs, [](const RunResult& result) {
    return number_or_absent(result.summary.output_throughput);
  });
  add_row(grid, "completed", "", runs, [](const RunResult& result) {
    return report::grouped(result.summary.completed);
  });
  add_row(grid, "bottleneck", "", runs, [](const RunResult& result) {
    return bottleneck_text(result.summary);
  });
  return report::printable(title_of(runs.front().result), style.ascii) + "\n\n" +
         grid.render(style) + report::warning_lines(warnings_of(runs), style);
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
