#include "verbs/run/markdown.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "domain/label_set.hpp"
#include "domain/step.hpp"
#include "metrics/slo.hpp"
#include "metrics/summary.hpp"
#include "report/format.hpp"
#include "verbs/run/run_result.hpp"

namespace ridgeline::verbs {
namespace {

using metrics::Distribution;
using metrics::Metric;

constexpr std::string_view kDash = "\u2013";

/// Text of a cell or paragraph: nothing in it is markup.
std::string plain(std::string_view text) {
  std::string escaped;
  for (const char c : report::printable(text, false)) {
    if (std::string_view("\\`*_[]<>|#").find(c) != std::string_view::npos) {
      escaped += '\\';
    }
    escaped += c;
  }
  return escaped;
}

std::string latency_row(std::string_view name, const std::optional<Distribution>& values) {
  std::string row = fmt::format("| {} |", name);
  for (std::size_t i = 0; i < metrics::kNumStatistics; ++i) {
    row += fmt::format(" {} |",
                       values ? report::significant(values->values[i]) : std::string(kDash));
  }
  return row + "\n";
}

std::string latency_table(const metrics::Summary& summary) {
  constexpr std::array<std::pair<Metric, const char*>, metrics::kNumMetrics> kRows = {
      {{Metric::kTtft, "TTFT"},
       {Metric::kTpot, "TPOT"},
       {Metric::kItl, "ITL"},
       {Metric::kE2e, "E2E"}}};
  std::string text = "| ms |";
  std::string rule = "|---|";
  for (const char* statistic : metrics::kStatisticNames) {
    text += fmt::format(" {} |", statistic);
    rule += "--:|";
  }
  text += "\n" + rule + "\n";
  for (const auto& [metric, name] : kRows) {
    text += latency_row(name, summary.client.of(metric));
  }
  for (const auto& [metric, name] : kRows) {
    text += latency_row(std::string(name) + " (server)", summary.server.of(metric));
  }
  return text + latency_row("queue", summary.queue_time_ms);
}

std::string number_row(std::string_view name,
                       const std::optional<double>& value,
                       std::string_view unit) {
  return fmt::format("| {} | {} |\n",
                     name,
                     value ? fmt::format("{}{}", report::significant(*value), unit) : kDash);
}

std::string share_row(std::string_view name, const std::optional<double>& value) {
  return fmt::format("| {} | {} |\n", name, value ? report::percent(*value) : kDash);
}

std::string number_table(const metrics::Summary& summary) {
  std::string text = "| | |\n|---|--:|\n";
  text += fmt::format("| completed | {} |\n", report::grouped(summary.completed));
  text += fmt::format("| failed | {} |\n", report::grouped(summary.requests() - summary.completed));
  text += number_row("duration", summary.duration_s, " s");
  text += number_row("request throughput", summary.request_throughput, " req/s");
  text += number_row("output throughput", summary.output_throughput, " tok/s");
  text += number_row("total token throughput", summary.total_token_throughput, " tok/s");
  text += number_row("goodput", summary.goodput, " req/s");
  if (summary.overload) {
    text += number_row(summary.overload->served_only ? "overloaded: served request rate"
                                                     : "overloaded: sustainable request rate",
                       summary.overload->backlog.sustainable_rate,
                       " req/s");
  }
  text += share_row("KV cache peak", summary.kv_cache.peak);
  text += share_row("KV cache mean", summary.kv_cache.mean);
  text += share_row("prefix hits", summary.kv_cache.prefix_hit_rate);
  text += fmt::format("| preemptions | {} |\n", report::grouped(summary.preemptions));
  text += fmt::format("| steps | {} |\n", report::grouped(summary.steps));
  for (std::size_t i = 0; i < domain::kNumBottlenecks; ++i) {
    text += number_row(fmt::format("{} time", domain::kBottleneckNames[i]),
                       summary.time_by_bottleneck[i].to_seconds(),
                       " s");
  }
  return text;
}

/// The whole deployment beside the one rank that the other tables show.
std::string deployment_table(const Deployment& deployment) {
  const auto count = [](std::string_view name, std::int64_t value) {
    return fmt::format("| {} | {} |\n", name, report::grouped(value));
  };
  std::string text = fmt::format("\n| all {} ranks | |\n|---|--:|\n",
                                 report::grouped(deployment.data_parallel_size));
  text += count("ranks with requests", deployment.loaded_ranks);
  text += deployment.requests ? count("requests", *deployment.requests) : std::string();
  text += count("requests of the simulated rank", deployment.rank_requests);
  text += number_row("request throughput", deployment.request_throughput, " req/s");
  text += number_row("output throughput", deployment.output_throughput, " tok/s");
  text += number_row("total token throughput", deployment.total_token_throughput, " tok/s");
  return text + number_row("goodput", deployment.goodput, " req/s");
}

std::string markdown_groups(const metrics::Summary& summary) {
  if (summary.groups.empty()) {
    return {};
  }
  using metrics::Statistic;
  const auto cell = [](const std::optional<Distribution>& values, Statistic statistic) {
    return values ? report::significant(values->of(statistic)) : std::string(kDash);
  };
  std::string text =
      "\n| | | requests | TTFT p50 ms | p99 | TPOT p50 ms | p99 | E2E p50 ms | p99 |\n"
      "|---|---|--:|--:|--:|--:|--:|--:|--:|\n";
  for (const auto& group : summary.groups) {
    text += fmt::format("| {} | {} | {} |",
                        plain(domain::kLabelNames[static_cast<std::size_t>(group.label)]),
                        group.name ? plain(*group.name) : std::string("(none)"),
                        report::grouped(group.requests));
    for (const auto* values : {&group.ttft_ms, &group.tpot_ms, &group.e2e_ms}) {
      text +=
          fmt::format(" {} | {} |", cell(*values, Statistic::kP50), cell(*values, Statistic::kP99));
    }
    text += "\n";
  }
  return text;
}

}  // namespace

std::string summary_markdown(const RunResult& result) {
  std::string headline;
  for (const auto& part : result.headline) {
    headline += (headline.empty() ? "" : ", ") + plain(part);
  }
  std::string text = headline.empty() ? "" : headline + "\n\n";
  text += latency_table(result.summary) + "\n" + number_table(result.summary);
  text += result.deployment ? deployment_table(*result.deployment) : std::string();
  text += markdown_groups(result.summary);
  if (!result.warnings.empty()) {
    text += "\n";
    for (const auto& warning : result.warnings) {
      text += fmt::format("- **{}** {}{}\n",
                          plain(warning.code),
                          plain(warning.message),
                          warning.hint.empty() ? "" : " (" + plain(warning.hint) + ")");
    }
  }
  return text + fmt::format("\ndigest `{}`\n", report::printable(result.digest, false));
}

}  // namespace ridgeline::verbs
