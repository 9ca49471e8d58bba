#include "report/trace_report.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "document/document.hpp"
#include "report/format.hpp"
#include "report/grid.hpp"
#include "report/palette.hpp"
#include "report/tree.hpp"
#include "report/warning_lines.hpp"
#include "workload/trace_stats.hpp"

namespace ridgeline::report {
namespace {

constexpr std::int64_t kTraceSchemaVersion = 1;

document::Node spread_tree(const workload::TokenSpread& spread) {
  return MapBuilder()
      .add("mean", number_node(spread.mean))
      .add("std", number_node(spread.std))
      .add("p50", number_node(spread.p50))
      .add("p90", number_node(spread.p90))
      .add("p99", number_node(spread.p99))
      .add("max", number_node(spread.max))
      .build();
}

document::Node reuse_tree(const workload::BlockReuse& reuse) {
  std::vector<document::Node> sizes;
  for (const auto& point : reuse.by_cache_size) {
    sizes.push_back(MapBuilder()
                        .add("blocks", integer_node(point.blocks))
                        .add("tokens", integer_node(point.tokens))
                        .add("hit_rate", number_node(point.hit_rate))
                        .build());
  }
  return MapBuilder()
      .add("ideal", number_node(reuse.ideal))
      .add("block_tokens", integer_node(reuse.block_tokens))
      .add("blocks", integer_node(reuse.blocks))
      .add("repeated_blocks", integer_node(reuse.repeated))
      .add("working_set_blocks", integer_node(reuse.working_set))
      .add("by_cache_size", list_node(std::move(sizes)))
      .build();
}

document::Node labels_tree(const std::vector<workload::LabelCount>& labels) {
  std::vector<document::Node> items;
  for (const auto& label : labels) {
    items.push_back(MapBuilder()
                        .add("name", text_node(label.name))
                        .add("requests", integer_node(label.requests))
                        .build());
  }
  return list_node(std::move(items));
}

document::Node windows_tree(const std::vector<workload::TraceWindow>& windows) {
  std::vector<document::Node> items;
  for (const auto& window : windows) {
    items.push_back(MapBuilder()
                        .add("start_s", number_node(window.start_s))
                        .add("requests", integer_node(window.requests))
                        .add("input_tokens", integer_node(window.input_tokens))
                        .add("output_tokens", integer_node(window.output_tokens))
                        .build());
  }
  return list_node(std::move(items));
}

std::string or_dash(const std::optional<double>& value, const TextStyle& style) {
  return value ? significant(*value) : style.ascii ? "-" : "\u2013";
}

std::string spread_table(const workload::TraceStats& stats, const TextStyle& style) {
  constexpr std::size_t kNumberWidth = 8;
  std::vector<Grid::Column> columns = {{"tokens", true, 12}};
  for (const char* title : {"mean", "std", "p50", "p90", "p99", "max"}) {
    columns.push_back({title, false, kNumberWidth});
  }
  Grid grid(std::move(columns));
  const auto add = [&](const char* name, const workload::TokenSpread& spread) {
    grid.add({name,
              significant(spread.mean),
              significant(spread.std),
              significant(spread.p50),
              significant(spread.p90),
              significant(spread.p99),
              significant(spread.max)});
  };
  add("input", stats.input_tokens);
  add("output", stats.output_tokens);
  return grid.render(style);
}

/// The rate over time as a row of eighths of a block.
std::string spark_line(const std::vector<workload::TraceWindow>& windows, const TextStyle& style) {
  if (style.ascii || windows.size() < 2) {
    return {};
  }
  constexpr std::size_t kWidest = 60;
  const std::size_t per_mark = (windows.size() + kWidest - 1) / kWidest;
  std::vector<std::int64_t> counts((windows.size() + per_mark - 1) / per_mark);
  for (std::size_t i = 0; i < windows.size(); ++i) {
    counts[i / per_mark] += windows[i].requests;
  }
  const std::int64_t most = std::max<std::int64_t>(*std::ranges::max_element(counts), 1);
  static constexpr std::string_view kMarks[] = {
      "\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588"};
  std::string line = "over time     ";
  for (const std::int64_t count : counts) {
    line += kMarks[static_cast<std::size_t>(count * 7 / most)];
  }
  return line + "\n";
}

std::string reuse_lines(const workload::BlockReuse& reuse) {
  if (!reuse.ideal) {
    return "prefix reuse  prompts do not say what they hold\n";
  }
  std::string text =
      fmt::format("prefix reuse  {} of {} blocks of {} tokens at best; {} different ones\n",
                  percent(*reuse.ideal),
                  grouped(reuse.blocks),
                  reuse.block_tokens,
                  grouped(reuse.working_set));
  // A few sizes up to the one that holds nearly everything there is to find.
  constexpr double kNearlyAll = 0.98;
  constexpr std::size_t kMostShown = 6;
  std::size_t last = 0;
  while (last + 1 < reuse.by_cache_size.size() &&
         reuse.by_cache_size[last].hit_rate < kNearlyAll * *reuse.ideal) {
    ++last;
  }
  const std::size_t first = last + 1 > kMostShown ? last + 1 - kMostShown : 0;
  for (std::size_t i = first; i <= last; ++i) {
    const auto& point = reuse.by_cache_size[i];
    text += fmt::format(
        "  {:>14} tokens of cache find {}\n", grouped(point.tokens), percent(point.hit_rate));
  }
  return text;
}

std::string label_line(std::string_view name, const std::vector<workload::LabelCount>& labels) {
  if (labels.empty()) {
    return {};
  }
  constexpr std::size_t kMostNamed = 4;
  std::string line = fmt::format("{:<14}", name);
  for (std::size_t i = 0; i < std::min(labels.size(), kMostNamed); ++i) {
    line += fmt::format("{}{} {}",
                        i == 0 ? "" : ", ",
                        printable(shortened(labels[i].name, 24, true), false),
                        grouped(labels[i].requests));
  }
  if (labels.size() > kMostNamed) {
    line += fmt::format(", and {} more", labels.size() - kMostNamed);
  }
  return line + "\n";
}

}  // namespace

document::Node trace_tree(const workload::TraceStats& stats) {
  return MapBuilder()
      .add("schema_version", integer_node(kTraceSchemaVersion))
      .add("format", text_node(stats.format))
      .add("requests", integer_node(stats.requests))
      .add("duration_s", number_node(stats.duration_s))
      .add("request_rate", number_node(stats.request_rate))
      .add("peak_request_rate", number_node(stats.peak_rate))
      .add("burstiness", number_node(stats.burstiness))
      .add("gap_cv", number_node(stats.gap_cv))
      .add("input_tokens", spread_tree(stats.input_tokens))
      .add("output_tokens", spread_tree(stats.output_tokens))
      .add("total_input_tokens", integer_node(stats.total_input_tokens))
      .add("total_output_tokens", integer_node(stats.total_output_tokens))
      .add("length_correlation", number_node(stats.length_correlation))
      .add("sessions", integer_node(stats.sessions))
      .add("turns_per_session",
           number_node(stats.sessions > 0 ? std::optional(stats.turns_per_session) : std::nullopt))
      .add("session_rate", number_node(stats.session_rate))
      .add("waiting_requests", integer_node(stats.waiting))
      .add("images", integer_node(stats.images))
      .add("models", labels_tree(stats.models))
      .add("tenants", labels_tree(stats.tenants))
      .add("slo_classes", labels_tree(stats.slo_classes))
      .add("block_reuse", reuse_tree(stats.reuse))
      .add("rate_over_time", windows_tree(stats.windows))
      .add("warnings", warnings_tree(stats.warnings))
      .build();
}

std::string trace_table(const workload::TraceStats& stats, const TextStyle& style) {
  std::string text = fmt::format("{}: {} in {}\n",
                                 stats.format,
                                 counted(stats.requests, "request"),
                                 human_duration(stats.duration_s));
  text += fmt::format("rate          {} req/s, {} at its peak; burstiness {}\n",
                      or_dash(stats.request_rate, style),
                      or_dash(stats.peak_rate, style),
                      or_dash(stats.burstiness, style));
  text += spark_line(stats.windows, style);
  text += spread_table(stats, style);
  text += fmt::format("correlation   {}\n", or_dash(stats.length_correlation, style));
  if (stats.sessions > 0) {
    text += fmt::format("sessions      {} of {} turns, {} sessions/s; waiting for an answer: {}\n",
                        grouped(stats.sessions),
                        significant(stats.turns_per_session),
                        or_dash(stats.session_rate, style),
                        counted(stats.waiting, "request"));
  }
  text += reuse_lines(stats.reuse);
  text += label_line("models", stats.models);
  text += label_line("tenants", stats.tenants);
  text += label_line("SLO classes", stats.slo_classes);
  return text + warning_lines(stats.warnings, style);
}

}  // namespace ridgeline::report
