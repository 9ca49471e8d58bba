// guidellm's report, version 2 (github.com/vllm-project/guidellm).
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
#include "document/node_builder.hpp"
#include "document/node_json.hpp"
#include "domain/record.hpp"
#include "metrics/summary.hpp"
#include "verbs/clients/client_files.hpp"
#include "verbs/clients/client_results.hpp"
#include "verbs/run/run_result.hpp"

namespace ridgeline::verbs {
namespace {

using document::list_node;
using document::MapBuilder;
using document::number_node;

document::Node guidellm_distribution(const std::vector<double>& sorted) {
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
    return number_node(sorted.empty() ? 0.0 : statistics::sorted_quantile(sorted, p));
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
      .add("mean", spread.mean)
      .add("median", at(0.5))
      .add("mode", mode)
      .add("variance", spread.variance)
      .add("std_dev", std::sqrt(spread.variance))
      .add("min", at(0.0))
      .add("max", at(1.0))
      .add("count", sorted.size())
      .add("total_sum", spread.sum)
      .add("percentiles", percentiles.build());
}

/// By status; a simulated run has no other numbers than those of its successes.
document::Node guidellm_metric(const std::vector<double>& sorted) {
  return MapBuilder()
      .add("successful", guidellm_distribution(sorted))
      .add("errored", guidellm_distribution({}))
      .add("incomplete", guidellm_distribution({}))
      .add("total", guidellm_distribution(sorted));
}

document::Node guidellm_totals(const RunResult& result) {
  const auto& summary = result.summary;
  const std::int64_t unfinished = summary.count(domain::Outcome::kUnfinished);
  return MapBuilder()
      .add("successful", summary.completed)
      .add("errored", summary.requests() - summary.completed - unfinished)
      .add("incomplete", unfinished)
      .add("total", summary.requests());
}

document::Node guidellm_metrics(const RunResult& result, const ClientResults& results) {
  const auto one = [&](std::optional<double> value) {
    return guidellm_metric(value ? std::vector<double>{*value} : std::vector<double>());
  };
  const auto each = [&](auto of) { return guidellm_metric(column(results, of)); };
  using Value = std::optional<double>;
  return MapBuilder()
      .add("request_totals", guidellm_totals(result))
      .add("requests_per_second", one(result.summary.request_throughput))
      .add("request_latency", each(e2e_of))
      .add("prompt_token_count", each(input_of))
      .add("output_token_count", each(output_of))
      .add("time_to_first_token_ms",
           each([](const ClientRow& row) -> Value { return row.ttft * kMsPerSecond; }))
      .add("time_per_output_token_ms", each([](const ClientRow& row) -> Value {
             return row.last_token / static_cast<double>(row.output_tokens) * kMsPerSecond;
           }))
      .add("inter_token_latency_ms", each([](const ClientRow& row) -> Value {
             return row.mean_gap ? Value(*row.mean_gap * kMsPerSecond) : std::nullopt;
           }))
      .add("output_tokens_per_second", one(result.summary.output_throughput))
      .add("tokens_per_second", one(result.summary.total_token_throughput));
}

/// How the load was made, in guidellm's words. Bursty gaps and recorded requests have none but
/// "trace": each request at its time.
document::Node guidellm_strategy(const RunResult& result) {
  const auto arrivals = setting_or_empty(result, "workload.arrivals").as_string();
  const document::Node* clients = setting(result, "workload.max_concurrency");
  const document::Node* rate = setting(result, "workload.request_rate");
  const bool waits = setting(result, "workload.trace") == nullptr;
  const bool random = number_setting(result, "workload.burstiness").value_or(1.0) == 1.0;
  MapBuilder strategy;
  if (clients != nullptr && waits) {
    const bool one = clients->as_real() == 1.0;
    strategy.add("type_", one ? "synchronous" : "concurrent").add("streams", *clients);
  } else if (arrivals == "at-once") {
    strategy.add("type_", "throughput");
  } else if (rate != nullptr && (arrivals == "constant" || (arrivals == "poisson" && random))) {
    strategy.add("type_", arrivals).add("rate", *rate);
  } else {
    strategy.add("type_", "trace");
  }
  return strategy.build();
}

document::Node guidellm_request(const ClientRow& row, std::size_t number) {
  return MapBuilder()
      .add("type_", "generative_request_stats")
      .add("request_id", fmt::format("{}", number))
      .add("info",
           MapBuilder()
               .add("status", row.completed ? "completed" : "errored")
               .add("timings",
                    MapBuilder()
                        .add("targeted_start", row.start)
                        .add("request_start", row.start)
                        .add("first_token_iteration", row.start + row.ttft)
                        .add("last_token_iteration", row.start + row.last_token)
                        .add("request_end", row.start + row.e2e)))
      .add("input_metrics", MapBuilder().add("text_tokens", row.input_tokens))
      .add("output_metrics", MapBuilder().add("text_tokens", row.output_tokens));
}

}  // namespace

std::string guidellm_result(const RunResult& result, const ClientResults& results) {
  std::vector<document::Node> successful;
  std::vector<document::Node> errored;
  const auto& rows = results.rows();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    (rows[i].completed ? successful : errored).push_back(guidellm_request(rows[i], i));
  }
  document::Node benchmark = MapBuilder()
                                 .add("config",
                                      MapBuilder()
                                          .add("id_", result.digest)
                                          .add("run_id", result.digest)
                                          .add("run_index", 0)
                                          .add("strategy", guidellm_strategy(result)))
                                 .add("scheduler_metrics",
                                      MapBuilder()
                                          .add("start_time", 0.0)
                                          .add("end_time", result.summary.duration_s)
                                          .add("requests_made", guidellm_totals(result)))
                                 .add("metrics", guidellm_metrics(result, results))
                                 .add("requests",
                                      MapBuilder()
                                          .add("successful", list_node(std::move(successful)))
                                          .add("errored", list_node(std::move(errored)))
                                          .add("incomplete", list_node({})));
  std::vector<document::Node> benchmarks;
  benchmarks.push_back(std::move(benchmark));
  return document::json_text(
      MapBuilder()
          .add("metadata",
               MapBuilder()
                   .add("version", 2)
                   .add("guidellm_version", "ridgeline " + result.run_info.version)
                   .add("python_version", "")
                   .add("platform", "simulated"))
          .add(kSamplingKey, sampling_setting(result))
          .add("config", result.config)
          .add("benchmarks", list_node(std::move(benchmarks))));
}

}  // namespace ridgeline::verbs
