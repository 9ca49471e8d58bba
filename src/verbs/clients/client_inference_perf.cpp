// inference-perf's reports (github.com/kubernetes-sigs/inference-perf): the summary and one record
// a request. Times are in seconds.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/statistics/quantiles.hpp"
#include "document/document.hpp"
#include "document/json_writer.hpp"
#include "document/node_builder.hpp"
#include "document/node_json.hpp"
#include "domain/record.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/summary.hpp"
#include "verbs/clients/client_files.hpp"
#include "verbs/clients/client_results.hpp"
#include "verbs/run/run_result.hpp"

namespace ridgeline::verbs {
namespace {

using document::MapBuilder;
using document::number_node;

document::Node perf_distribution(const std::vector<double>& sorted) {
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
  map.add("mean", sorted.empty() ? std::nullopt : std::optional(spread_of(sorted).mean));
  for (const auto& [name, p] : kStatistics) {
    map.add(name,
            sorted.empty() ? std::nullopt : std::optional(statistics::sorted_quantile(sorted, p)));
  }
  return map.build();
}

/// Gaps between tokens are known pooled, on the summary's statistics alone.
document::Node perf_itl(const RunResult& result) {
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
      .add("max", value(Statistic::kMax));
}

document::Node perf_successes(const RunResult& result, const ClientResults& results) {
  const auto& summary = result.summary;
  const auto of = [&](auto get) { return perf_distribution(column(results, get)); };
  const auto input_rate =
      summary.total_token_throughput && summary.output_throughput
          ? std::optional(*summary.total_token_throughput - *summary.output_throughput)
          : std::nullopt;
  const auto normalized = [](const ClientRow& row) -> std::optional<double> {
    return row.e2e / static_cast<double>(row.output_tokens);
  };
  return MapBuilder()
      .add("count", summary.completed)
      .add("latency",
           MapBuilder()
               .add("request_latency", of(e2e_of))
               .add("normalized_time_per_output_token", of(normalized))
               .add("time_per_output_token", of(mean_gap_of))
               .add("time_to_first_token", of(ttft_of))
               .add("inter_token_latency", perf_itl(result)))
      .add("throughput",
           MapBuilder()
               .add("input_tokens_per_sec", input_rate)
               .add("output_tokens_per_sec", summary.output_throughput)
               .add("total_tokens_per_sec", summary.total_token_throughput)
               .add("requests_per_sec", summary.request_throughput))
      .add("prompt_len", of(input_of))
      .add("output_len", of(output_of));
}

}  // namespace

std::string inference_perf_summary(const RunResult& result, const ClientResults& results) {
  const auto& summary = result.summary;
  double last_start = 0.0;
  const auto& rows = results.rows();
  for (const auto& row : rows) {
    last_start = std::max(last_start, row.start);
  }
  const auto achieved = last_start > 0.0
                            ? std::optional(static_cast<double>(rows.size()) / last_start)
                            : std::nullopt;
  const document::Node* requested = setting(result, "workload.request_rate");
  MapBuilder by_label;
  for (std::size_t i = 0; i < summary.by_outcome.size(); ++i) {
    const auto outcome = static_cast<domain::Outcome>(i);
    if (!metrics::completed(outcome) && summary.by_outcome[i] > 0) {
      by_label.add(metrics::kOutcomeNames[i], summary.by_outcome[i]);
    }
  }
  return document::json_text(
      MapBuilder()
          .add(kSamplingKey, sampling_setting(result))
          .add("load_summary",
               MapBuilder()
                   .add("count", summary.requests())
                   .add("schedule_delay", perf_distribution({0.0}))
                   .add("send_duration", last_start)
                   .add("requested_rate",
                        requested == nullptr ? number_node(std::nullopt) : *requested)
                   .add("achieved_rate", achieved))
          .add("successes", perf_successes(result, results))
          .add("failures",
               MapBuilder()
                   .add("count", summary.requests() - summary.completed)
                   .add("request_latency", perf_distribution({}))
                   .add("prompt_tokens", perf_distribution({}))
                   .add("by_label", by_label.build())));
}

std::string inference_perf_requests(const ClientResults& results) {
  document::JsonWriter json(document::JsonWriter::Layout::kOneLine);
  json.begin_array();
  for (const auto& row : results.rows()) {
    json.begin_object().member("start_time", row.start).member("end_time", row.start + row.e2e);
    json.member("request", "").key("info").begin_object();
    json.member("input_tokens", row.input_tokens);
    json.member("output_tokens", row.completed ? row.output_tokens : 0);
    json.key("output_token_times").begin_array();
    if (row.completed) {
      double time = row.start + row.ttft;
      json.value(time);
      for (const double gap : results.gaps_of(row)) {
        time += gap;
        json.value(time);
      }
    }
    json.end_array().end_object();
    json.key("error");
    if (row.completed) {
      json.null();
    } else {
      json.begin_object().member("error_type", "rejected").member("error_msg", "").end_object();
    }
    json.end_object();
  }
  json.end_array();
  return json.text() + "\n";
}

}  // namespace ridgeline::verbs
