// The result of `vllm bench serve --save-result --save-detailed` (vllm/benchmarks/serve.py), on one
// line as there. Times of single requests are in seconds, statistics in milliseconds.
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/document.hpp"
#include "core/json_writer.hpp"
#include "core/node_json.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/summary.hpp"
#include "report/client_files.hpp"
#include "report/client_results.hpp"
#include "report/run_result.hpp"
#include "report/tree.hpp"

namespace ridgeline::report {
namespace {

using Statistic = metrics::Statistic;
/// What stands of each metric.
constexpr auto kBenchStatistics =
    std::to_array<std::pair<const char*, Statistic>>({{"mean", Statistic::kMean},
                                                      {"median", Statistic::kP50},
                                                      {"std", Statistic::kStd},
                                                      {"p90", Statistic::kP90},
                                                      {"p95", Statistic::kP95},
                                                      {"p99", Statistic::kP99}});

double statistic_of(const std::vector<double>& sorted, Statistic statistic) {
  switch (statistic) {
    case Statistic::kMean:
      return spread_of(sorted).mean;
    case Statistic::kStd:
      return std::sqrt(spread_of(sorted).variance);
    case Statistic::kP50:
      return quantile_of(sorted, 0.5);
    case Statistic::kP90:
      return quantile_of(sorted, 0.9);
    case Statistic::kP95:
      return quantile_of(sorted, 0.95);
    case Statistic::kP99:
      return quantile_of(sorted, 0.99);
    case Statistic::kMax:
      break;
  }
  return sorted.back();
}

void add_metric(MapBuilder& map, std::string_view name, const std::vector<double>& seconds) {
  for (const auto& [label, statistic] : kBenchStatistics) {
    map.add(fmt::format("{}_{}_ms", label, name),
            number_node(seconds.empty()
                            ? std::nullopt
                            : std::optional(kMsPerSecond * statistic_of(seconds, statistic))));
  }
}

/// As the summary has it.
void add_metric(MapBuilder& map,
                std::string_view name,
                const std::optional<metrics::Distribution>& spread) {
  for (const auto& [label, statistic] : kBenchStatistics) {
    map.add(fmt::format("{}_{}_ms", label, name),
            number_node(spread ? std::optional(spread->of(statistic)) : std::nullopt));
  }
}

/// All but the lists with an item for each request.
core::Node totals_of(const RunResult& result, const ClientResults& results) {
  const auto& summary = result.summary;
  const core::Node* rate = setting(result, "workload.request_rate");
  const core::Node* clients = setting(result, "workload.max_concurrency");
  MapBuilder map;
  map.add("date", text_node("19700101-000000"))
      .add("endpoint_type", text_node("vllm"))
      .add("backend", text_node("vllm"))
      .add("label", text_node("ridgeline " + result.run_info.version))
      .add("model_id", setting_or_empty(result, "model"))
      .add("tokenizer_id", setting_or_empty(result, "model"))
      .add(kSamplingKey, sampling_setting(result))
      .add("num_prompts", integer_node(summary.requests()))
      .add("request_rate", rate == nullptr ? text_node("inf") : *rate)
      .add("burstiness", number_node(number_setting(result, "workload.burstiness").value_or(1.0)))
      .add("max_concurrency", clients == nullptr ? core::Node() : *clients)
      .add("duration", number_node(summary.duration_s))
      .add("completed", integer_node(summary.completed))
      .add("failed", integer_node(summary.requests() - summary.completed))
      .add("total_input_tokens", integer_node(summary.total_input_tokens))
      .add("total_output_tokens", integer_node(summary.total_output_tokens))
      .add("request_throughput", number_node(summary.request_throughput))
      .add("request_goodput", number_node(summary.goodput))
      .add("output_throughput", number_node(summary.output_throughput))
      .add("total_token_throughput", number_node(summary.total_token_throughput));
  add_metric(map, "ttft", summary.client.of(metrics::Metric::kTtft));
  add_metric(map, "tpot", column(results, mean_gap_of));
  add_metric(map, "itl", summary.client.of(metrics::Metric::kItl));
  add_metric(map, "e2el", column(results, last_token_of));
  return map.build();
}

}  // namespace

std::string vllm_bench_result(const RunResult& result, const ClientResults& results) {
  core::JsonWriter json(core::JsonWriter::Layout::kOneLine);
  json.begin_object();
  const core::Node totals = totals_of(result, results);
  for (const auto& member : totals.members()) {
    json.key(member.key);
    core::write(member.value, json);
  }
  const auto list = [&](std::string_view name, auto write) {
    json.key(name).begin_array();
    for (const auto& row : results.rows()) {
      write(row);
    }
    json.end_array();
  };
  list("input_lens", [&](const ClientRow& row) { json.value(row.input_tokens); });
  // As the client counts: a request that failed has no answer.
  list("output_lens",
       [&](const ClientRow& row) { json.value(row.completed ? row.output_tokens : 0); });
  list("ttfts", [&](const ClientRow& row) { json.value(row.ttft); });
  list("itls", [&](const ClientRow& row) {
    json.begin_array();
    for (const double gap : results.gaps_of(row)) {
      json.value(gap);
    }
    json.end_array();
  });
  list("start_times", [&](const ClientRow& row) { json.value(row.start); });
  json.end_object();
  return json.text() + "\n";
}

}  // namespace ridgeline::report
