#include "report/client_results.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "core/document.hpp"
#include "core/reader.hpp"
#include "core/result.hpp"
#include "domain/record.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/slo.hpp"
#include "metrics/summary.hpp"
#include "report/run_result.hpp"
#include "report/tree.hpp"

namespace ridgeline::report {
namespace {

using Rows = std::vector<ClientResults::Row>;

/// The value of a dotted path in the resolved scenario, or nullptr.
const core::Node* setting(const RunResult& result, std::string_view path) {
  const core::Node* node = &result.config;
  while (node != nullptr && !path.empty()) {
    const std::string_view key = path.substr(0, path.find('.'));
    node = node->find(key);
    path.remove_prefix(std::min(key.size() + 1, path.size()));
  }
  return node;
}

core::Node setting_or_null(const RunResult& result, std::string_view path) {
  const core::Node* node = setting(result, path);
  return node == nullptr ? text_node("") : *node;
}

template <class Of>
std::vector<double> column(const Rows& rows, Of of) {
  std::vector<double> values;
  for (const auto& row : rows) {
    if (!row.completed) {
      continue;
    }
    if (const std::optional<double> value = of(row)) {
      values.push_back(*value);
    }
  }
  std::ranges::sort(values);
  return values;
}

/// numpy's default: linear between order statistics. Requires sorted values, at least one.
double quantile_of(const std::vector<double>& sorted, double p) {
  const double place = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(place));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (place - std::floor(place));
}

struct Spread {
  double sum = 0.0;
  double mean = 0.0;
  double variance = 0.0;  ///< Of the population.
};
Spread spread_of(const std::vector<double>& values) {
  Spread spread;
  const auto n = static_cast<double>(values.size());
  for (const double value : values) {
    spread.sum += value;
  }
  spread.mean = values.empty() ? 0.0 : spread.sum / n;
  for (const double value : values) {
    spread.variance += (value - spread.mean) * (value - spread.mean) / n;
  }
  return spread;
}

double input_of(const ClientResults::Row& row) {
  return static_cast<double>(row.input_tokens);
}
double output_of(const ClientResults::Row& row) {
  return static_cast<double>(row.output_tokens);
}

// --- vllm bench serve

void add_vllm_metric(MapBuilder& map,
                     std::string_view name,
                     const std::optional<metrics::Distribution>& spread) {
  using metrics::Statistic;
  const auto value = [&](Statistic statistic) {
    return number_node(spread ? std::optional(spread->of(statistic)) : std::nullopt);
  };
  map.add(fmt::format("mean_{}_ms", name), value(Statistic::kMean))
      .add(fmt::format("median_{}_ms", name), value(Statistic::kP50))
      .add(fmt::format("std_{}_ms", name), value(Statistic::kStd))
      .add(fmt::format("p90_{}_ms", name), value(Statistic::kP90))
      .add(fmt::format("p95_{}_ms", name), value(Statistic::kP95))
      .add(fmt::format("p99_{}_ms", name), value(Statistic::kP99));
}

template <class Of>
core::Node numbers(const Rows& rows, Of of) {
  std::vector<core::Node> items;
  for (const auto& row : rows) {
    items.push_back(of(row));
  }
  return list_node(std::move(items));
}

core::Node vllm_result(const RunResult& result, const Rows& rows) {
  const auto& summary = result.summary;
  const core::Node* rate = setting(result, "workload.request_rate");
  MapBuilder map;
  map.add("date", text_node("19700101-000000"))
      .add("endpoint_type", text_node("vllm"))
      .add("backend", text_node("vllm"))
      .add("label", text_node("ridgeline " + result.run_info.version))
      .add("model_id", setting_or_null(result, "model"))
      .add("tokenizer_id", setting_or_null(result, "model"))
      .add("num_prompts", integer_node(summary.requests()))
      .add("request_rate", rate == nullptr || rate->is_null() ? text_node("inf") : *rate)
      .add("burstiness",
           setting(result, "workload.burstiness") == nullptr
               ? number_node(1.0)
               : *setting(result, "workload.burstiness"))
      .add("max_concurrency",
           setting(result, "workload.max_concurrency") == nullptr
               ? number_node(std::nullopt)
               : *setting(result, "workload.max_concurrency"))
      .add("duration", number_node(summary.duration_s))
      .add("completed", integer_node(summary.completed))
      .add("failed", integer_node(summary.requests() - summary.completed))
      .add("total_input_tokens", integer_node(summary.total_input_tokens))
      .add("total_output_tokens", integer_node(summary.total_output_tokens))
      .add("request_throughput", number_node(summary.request_throughput))
      .add("request_goodput", number_node(summary.goodput))
      .add("output_throughput", number_node(summary.output_throughput))
      .add("total_token_throughput", number_node(summary.total_token_throughput));
  add_vllm_metric(map, "ttft", summary.client.of(metrics::Metric::kTtft));
  add_vllm_metric(map, "tpot", summary.client.of(metrics::Metric::kTpot));
  add_vllm_metric(map, "itl", summary.client.of(metrics::Metric::kItl));
  add_vllm_metric(map, "e2el", summary.client.of(metrics::Metric::kE2e));
  using Row = ClientResults::Row;
  map.add("input_lens",
          numbers(rows, [](const Row& row) { return integer_node(row.input_tokens); }))
      .add("output_lens",
           numbers(rows, [](const Row& row) { return integer_node(row.output_tokens); }))
      .add("ttfts", numbers(rows, [](const Row& row) { return number_node(row.ttft); }))
      .add("start_times", numbers(rows, [](const Row& row) { return number_node(row.start); }));
  return map.build();
}

// --- guidellm

core::Node guidellm_distribution(const std::vector<double>& sorted) {
  constexpr std::array<std::pair<const char*, double>, 11> kPercentiles = {{{"p001", 0.001},
                                                                            {"p01", 0.01},
                                                                            {"p05", 0.05},
                                                                            {"p10", 0.1},
                                                                            {"p25", 0.25},
                                                                            {"p50", 0.5},
                                                                            {"p75", 0.75},
                                                                            {"p90", 0.9},
                                                                            {"p95", 0.95},
                                                                            {"p99", 0.99},
                                                                            {"p999", 0.999}}};
  const Spread spread = spread_of(sorted);
  const auto at = [&](double p) {
    return number_node(sorted.empty() ? 0.0 : quantile_of(sorted, p));
  };
  MapBuilder percentiles;
  for (const auto& [name, p] : kPercentiles) {
    percentiles.add(name, at(p));
  }
  // The most frequent value, the smallest of equals.
  double mode = sorted.empty() ? 0.0 : sorted.front();
  std::size_t most = 0;
  for (std::size_t i = 0; i < sorted.size();) {
    std::size_t end = i;
    while (end < sorted.size() && sorted[end] == sorted[i]) {
      ++end;
    }
    if (end - i > most) {
      most = end - i;
      mode = sorted[i];
    }
    i = end;
  }
  return MapBuilder()
      .add("mean", number_node(spread.mean))
      .add("median", at(0.5))
      .add("mode", number_node(mode))
      .add("variance", number_node(spread.variance))
      .add("std_dev", number_node(std::sqrt(spread.variance)))
      .add("min", at(0.0))
      .add("max", at(1.0))
      .add("count", integer_node(static_cast<std::int64_t>(sorted.size())))
      .add("total_sum", number_node(spread.sum))
      .add("percentiles", percentiles.build())
      .build();
}

/// By status; a simulated run has no other numbers than those of its successes.
core::Node guidellm_metric(const std::vector<double>& sorted) {
  return MapBuilder()
      .add("successful", guidellm_distribution(sorted))
      .add("errored", guidellm_distribution({}))
      .add("incomplete", guidellm_distribution({}))
      .add("total", guidellm_distribution(sorted))
      .build();
}

core::Node guidellm_totals(const RunResult& result) {
  const auto& summary = result.summary;
  const std::int64_t unfinished = summary.count(domain::Outcome::kUnfinished);
  return MapBuilder()
      .add("successful", integer_node(summary.completed))
      .add("errored", integer_node(summary.requests() - summary.completed - unfinished))
      .add("incomplete", integer_node(unfinished))
      .add("total", integer_node(summary.requests()))
      .build();
}

core::Node guidellm_metrics(const RunResult& result, const Rows& rows) {
  using Row = ClientResults::Row;
  constexpr double kMs = 1e3;
  const auto one = [&](std::optional<double> value) {
    return guidellm_metric(value ? std::vector<double>{*value} : std::vector<double>());
  };
  return MapBuilder()
      .add("request_totals", guidellm_totals(result))
      .add("requests_per_second", one(result.summary.request_throughput))
      .add("request_latency",
           guidellm_metric(
               column(rows, [](const Row& row) -> std::optional<double> { return row.e2e; })))
      .add("prompt_token_count",
           guidellm_metric(
               column(rows, [](const Row& row) -> std::optional<double> { return input_of(row); })))
      .add("output_token_count",
           guidellm_metric(column(
               rows, [](const Row& row) -> std::optional<double> { return output_of(row); })))
      .add("time_to_first_token_ms",
           guidellm_metric(column(
               rows, [](const Row& row) -> std::optional<double> { return row.ttft * kMs; })))
      .add("time_per_output_token_ms",
           guidellm_metric(column(rows,
                                  [](const Row& row) -> std::optional<double> {
                                    return row.e2e / output_of(row) * kMs;
                                  })))
      .add("inter_token_latency_ms",
           guidellm_metric(column(rows,
                                  [](const Row& row) -> std::optional<double> {
                                    return row.tpot ? std::optional(*row.tpot * kMs) : std::nullopt;
                                  })))
      .add("output_tokens_per_second", one(result.summary.output_throughput))
      .add("tokens_per_second", one(result.summary.total_token_throughput))
      .build();
}

core::Node guidellm_request(const ClientResults::Row& row, std::size_t number) {
  return MapBuilder()
      .add("type_", text_node("generative_request_stats"))
      .add("request_id", text_node(fmt::format("{}", number)))
      .add("info",
           MapBuilder()
               .add("status", text_node(row.completed ? "completed" : "errored"))
               .add("timings",
                    MapBuilder()
                        .add("targeted_start", number_node(row.start))
                        .add("request_start", number_node(row.start))
                        .add("first_token_iteration", number_node(row.start + row.ttft))
                        .add("last_token_iteration", number_node(row.start + row.e2e))
                        .add("request_end", number_node(row.start + row.e2e))
                        .build())
               .build())
      .add("input_metrics", MapBuilder().add("text_tokens", integer_node(row.input_tokens)).build())
      .add("output_metrics",
           MapBuilder().add("text_tokens", integer_node(row.output_tokens)).build())
      .build();
}

core::Node guidellm_result(const RunResult& result, const Rows& rows) {
  std::vector<core::Node> successful;
  std::vector<core::Node> errored;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    (rows[i].completed ? successful : errored).push_back(guidellm_request(rows[i], i));
  }
  core::Node benchmark = MapBuilder()
                             .add("config",
                                  MapBuilder()
                                      .add("id_", text_node(result.digest))
                                      .add("run_id", text_node(result.digest))
                                      .add("run_index", integer_node(0))
                                      .add("strategy", setting_or_null(result, "workload.arrivals"))
                                      .build())
                             .add("scheduler_metrics",
                                  MapBuilder()
                                      .add("start_time", number_node(0.0))
                                      .add("end_time", number_node(result.summary.duration_s))
                                      .add("requests_made", guidellm_totals(result))
                                      .build())
                             .add("metrics", guidellm_metrics(result, rows))
                             .add("requests",
                                  MapBuilder()
                                      .add("successful", list_node(std::move(successful)))
                                      .add("errored", list_node(std::move(errored)))
                                      .add("incomplete", list_node({}))
                                      .build())
                             .build();
  std::vector<core::Node> benchmarks;
  benchmarks.push_back(std::move(benchmark));
  return MapBuilder()
      .add("metadata",
           MapBuilder()
               .add("version", integer_node(2))
               .add("guidellm_version", text_node("ridgeline " + result.run_info.version))
               .add("python_version", text_node(""))
               .add("platform", text_node("simulated"))
               .build())
      .add("config", result.config)
      .add("benchmarks", list_node(std::move(benchmarks)))
      .build();
}

// --- inference-perf

core::Node perf_distribution(const std::vector<double>& sorted) {
  constexpr std::array<std::pair<const char*, double>, 13> kStatistics = {{{"min", 0.0},
                                                                           {"p0.1", 0.001},
                                                                           {"p1", 0.01},
                                                                           {"p5", 0.05},
                                                                           {"p10", 0.1},
                                                                           {"p25", 0.25},
                                                                           {"median", 0.5},
                                                                           {"p75", 0.75},
                                                                           {"p90", 0.9},
                                                                           {"p95", 0.95},
                                                                           {"p99", 0.99},
                                                                           {"p99.9", 0.999},
                                                                           {"max", 1.0}}};
  MapBuilder map;
  map.add("mean",
          number_node(sorted.empty() ? std::nullopt : std::optional(spread_of(sorted).mean)));
  for (const auto& [name, p] : kStatistics) {
    map.add(name,
            number_node(sorted.empty() ? std::nullopt : std::optional(quantile_of(sorted, p))));
  }
  return map.build();
}

/// Gaps between tokens are known pooled, on the summary's statistics alone.
core::Node perf_itl(const RunResult& result) {
  using metrics::Statistic;
  constexpr double kSecondsPerMs = 1e-3;
  const auto& itl = result.summary.client.of(metrics::Metric::kItl);
  const auto value = [&](Statistic statistic) {
    return number_node(itl ? std::optional(itl->of(statistic) * kSecondsPerMs) : std::nullopt);
  };
  return MapBuilder()
      .add("mean", value(Statistic::kMean))
      .add("median", value(Statistic::kP50))
      .add("p90", value(Statistic::kP90))
      .add("p95", value(Statistic::kP95))
      .add("p99", value(Statistic::kP99))
      .add("max", value(Statistic::kMax))
      .build();
}

core::Node perf_successes(const RunResult& result, const Rows& rows) {
  using Row = ClientResults::Row;
  const auto& summary = result.summary;
  const auto of = [&](auto get) { return perf_distribution(column(rows, get)); };
  const auto input_rate =
      summary.total_token_throughput && summary.output_throughput
          ? std::optional(*summary.total_token_throughput - *summary.output_throughput)
          : std::nullopt;
  return MapBuilder()
      .add("count", integer_node(summary.completed))
      .add("latency",
           MapBuilder()
               .add("request_latency",
                    of([](const Row& row) -> std::optional<double> { return row.e2e; }))
               .add("normalized_time_per_output_token",
                    of([](const Row& row) -> std::optional<double> {
                      return row.e2e / output_of(row);
                    }))
               .add("time_per_output_token",
                    of([](const Row& row) -> std::optional<double> { return row.tpot; }))
               .add("time_to_first_token",
                    of([](const Row& row) -> std::optional<double> { return row.ttft; }))
               .add("inter_token_latency", perf_itl(result))
               .build())
      .add("throughput",
           MapBuilder()
               .add("input_tokens_per_sec", number_node(input_rate))
               .add("output_tokens_per_sec", number_node(summary.output_throughput))
               .add("total_tokens_per_sec", number_node(summary.total_token_throughput))
               .add("requests_per_sec", number_node(summary.request_throughput))
               .build())
      .add("prompt_len", of([](const Row& row) -> std::optional<double> { return input_of(row); }))
      .add("output_len", of([](const Row& row) -> std::optional<double> { return output_of(row); }))
      .build();
}

core::Node perf_result(const RunResult& result, const Rows& rows) {
  const auto& summary = result.summary;
  double last_start = 0.0;
  for (const auto& row : rows) {
    last_start = std::max(last_start, row.start);
  }
  const auto achieved = last_start > 0.0
                            ? std::optional(static_cast<double>(rows.size()) / last_start)
                            : std::nullopt;
  const core::Node* requested = setting(result, "workload.request_rate");
  MapBuilder by_label;
  for (std::size_t i = 0; i < summary.by_outcome.size(); ++i) {
    const auto outcome = static_cast<domain::Outcome>(i);
    if (!metrics::completed(outcome) && summary.by_outcome[i] > 0) {
      by_label.add(metrics::kOutcomeNames[i], integer_node(summary.by_outcome[i]));
    }
  }
  return MapBuilder()
      .add("load_summary",
           MapBuilder()
               .add("count", integer_node(summary.requests()))
               .add("schedule_delay", perf_distribution({0.0}))
               .add("send_duration", number_node(last_start))
               .add("requested_rate", requested == nullptr ? number_node(std::nullopt) : *requested)
               .add("achieved_rate", number_node(achieved))
               .build())
      .add("successes", perf_successes(result, rows))
      .add("failures",
           MapBuilder()
               .add("count", integer_node(summary.requests() - summary.completed))
               .add("request_latency", perf_distribution({}))
               .add("prompt_tokens", perf_distribution({}))
               .add("by_label", by_label.build())
               .build())
      .build();
}

}  // namespace

void ClientResults::on_request(const domain::RequestRecord& record,
                               const metrics::RequestMetrics& metrics) {
  Row row;
  row.start = record.arrival.to_seconds();
  row.completed = metrics::completed(record.outcome) && metrics.ttft && metrics.e2e;
  row.input_tokens = record.prompt_tokens.value();
  row.output_tokens = record.output_tokens.value();
  if (row.completed) {
    row.ttft = metrics.ttft->to_seconds();
    row.e2e = metrics.e2e->to_seconds();
    if (metrics.tpot) {
      row.tpot = metrics.tpot->to_seconds();
    }
  }
  rows_.push_back(row);
}

const std::vector<ClientFormat>& client_formats() {
  static const std::vector<ClientFormat> kFormats = {
      {"vllm-bench", "vllm-bench.schema.json", vllm_result},
      {"guidellm", "guidellm.schema.json", guidellm_result},
      {"inference-perf", "inference-perf.schema.json", perf_result}};
  return kFormats;
}

core::Result<const ClientFormat*> find_client_format(std::string_view name) {
  std::vector<std::string> names;
  for (const ClientFormat& format : client_formats()) {
    if (format.name == name) {
      return &format;
    }
    names.emplace_back(format.name);
  }
  const auto near = core::nearest(name, names);
  return core::fail(core::Error{
      .field = "--client-results",
      .message =
          fmt::format("unknown client '{}', expected vllm-bench, guidellm or inference-perf", name),
      .where = {.file = "command line"},
      .hint = near ? fmt::format("did you mean '{}'?", *near) : std::string()});
}

}  // namespace ridgeline::report
