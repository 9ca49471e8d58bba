// The result of `vllm bench serve --save-result --save-detailed` (vllm/benchmarks/serve.py), on one
// line as there. Times of single requests are in seconds, statistics in milliseconds.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/statistics/quantiles.hpp"
#include "document/document.hpp"
#include "document/json_writer.hpp"
#include "document/node_builder.hpp"
#include "document/node_json.hpp"
#include "metrics/request_metrics.hpp"
#include "metrics/summary.hpp"
#include "verbs/clients/client_files.hpp"
#include "verbs/clients/client_results.hpp"
#include "verbs/run/run_result.hpp"

namespace ridgeline::verbs {
namespace {

using document::MapBuilder;
using document::text_node;

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
      return statistics::sorted_quantile(sorted, 0.5);
    case Statistic::kP90:
      return statistics::sorted_quantile(sorted, 0.9);
    case Statistic::kP95:
      return statistics::sorted_quantile(sorted, 0.95);
    case Statistic::kP99:
      return statistics::sorted_quantile(sorted, 0.99);
    case Statistic::kMax:
      break;
  }
  return sorted.back();
}

/// A metric that no request has is 0 in all numbers, as the client writes it.
void add_metric(MapBuilder& map, std::string_view name, const std::vector<double>& seconds) {
  for (const auto& [label, statistic] : kBenchStatistics) {
    map.add(fmt::format("{}_{}_ms", label, name),
            seconds.empty() ? 0.0 : kMsPerSecond * statistic_of(seconds, statistic));
  }
}

/// As the summary has it.
void add_metric(MapBuilder& map,
                std::string_view name,
                const std::optional<metrics::Distribution>& spread) {
  for (const auto& [label, statistic] : kBenchStatistics) {
    map.add(fmt::format("{}_{}_ms", label, name), spread ? spread->of(statistic) : 0.0);
  }
}

/// The most of any second since the first start.
struct Peaks {
  double output_tokens = 0.0;   ///< That clients receive in it.
  std::int64_t concurrent = 0;  ///< Requests in flight at some time of it.
};

Peaks peaks_of(const ClientResults& results) {
  // By second, sparse: a long run is mostly between two requests.
  std::map<std::int64_t, double> tokens;
  std::map<std::int64_t, std::int64_t> starts_less_ends;
  double first = std::numeric_limits<double>::infinity();
  for (const auto& row : results.rows()) {
    first = row.completed ? std::min(first, row.start) : first;
  }
  const auto second = [&](double time) {
    return static_cast<std::int64_t>(std::floor(time - first));
  };
  for (const auto& row : results.rows()) {
    if (!row.completed) {
      continue;
    }
    ++starts_less_ends[second(row.start)];
    --starts_less_ends[second(row.start + row.last_token) + 1];
    double time = row.start + row.ttft;
    tokens[second(time)] += 1.0;
    for (const double gap : results.gaps_of(row)) {
      time += gap;
      tokens[second(time)] += 1.0;
    }
  }
  Peaks peaks;
  for (const auto& [at, count] : tokens) {
    peaks.output_tokens = std::max(peaks.output_tokens, count);
  }
  std::int64_t in_flight = 0;
  for (const auto& [at, change] : starts_less_ends) {
    in_flight += change;
    peaks.concurrent = std::max(peaks.concurrent, in_flight);
  }
  return peaks;
}

/// Sorted; where the summary has none, for the engine's are of a warm-up too.
std::vector<double> pooled_gaps(const ClientResults& results) {
  std::vector<double> all;
  for (const auto& row : results.rows()) {
    const std::vector<double> gaps = results.gaps_of(row);
    all.insert(all.end(), gaps.begin(), gaps.end());
  }
  std::ranges::sort(all);
  return all;
}

/// Whether some events bring several tokens, as with drafts: the client measures one gap for each
/// event, and the summary one for each token.
bool has_chunks(const ClientResults& results) {
  return std::ranges::any_of(results.rows(), [&](const ClientRow& row) {
    return row.completed && row.output_tokens > 1 &&
           static_cast<std::int64_t>(results.gaps_of(row).size()) + 1 < row.output_tokens;
  });
}

/// All but the lists with an item for each request.
document::Node totals_of(const RunResult& result, const ClientResults& results) {
  const auto& summary = result.summary;
  const document::Node* rate = setting(result, "workload.request_rate");
  const document::Node* clients = setting(result, "workload.max_concurrency");
  MapBuilder map;
  // No "date": a simulated run has none, and the same run gives the same bytes.
  map.add("endpoint_type", "vllm")
      .add("backend", "vllm")
      .add("label", "ridgeline " + result.run_info.version)
      .add("model_id", setting_or_empty(result, "model"))
      .add("tokenizer_id", setting_or_empty(result, "model"))
      .add(kSamplingKey, sampling_setting(result))
      .add("num_prompts", summary.requests())
      .add("request_rate", rate == nullptr ? text_node("inf") : *rate)
      .add("burstiness", number_setting(result, "workload.burstiness").value_or(1.0))
      .add("max_concurrency", clients == nullptr ? document::Node() : *clients)
      .add("duration", summary.duration_s)
      .add("completed", summary.completed)
      .add("failed", summary.requests() - summary.completed)
      .add("total_input_tokens", summary.total_input_tokens)
      .add("total_output_tokens", summary.total_output_tokens)
      .add("request_throughput", summary.request_throughput)
      .add("request_goodput", summary.goodput)
      .add("output_throughput", summary.output_throughput)
      .add("total_token_throughput", summary.total_token_throughput);
  const Peaks peaks = peaks_of(results);
  map.add("max_output_tokens_per_s", peaks.output_tokens)
      .add("max_concurrent_requests", peaks.concurrent);
  add_metric(map, "ttft", summary.client.of(metrics::Metric::kTtft));
  add_metric(map, "tpot", column(results, mean_gap_of));
  if (const auto& gaps = summary.client.of(metrics::Metric::kItl); gaps && !has_chunks(results)) {
    add_metric(map, "itl", gaps);
  } else {
    add_metric(map, "itl", pooled_gaps(results));
  }
  add_metric(map, "e2el", column(results, last_token_of));
  return map.build();
}

}  // namespace

std::string vllm_bench_result(const RunResult& result, const ClientResults& results) {
  document::JsonWriter json(document::JsonWriter::Layout::kOneLine);
  json.begin_object();
  const document::Node totals = totals_of(result, results);
  for (const auto& member : totals.members()) {
    json.key(member.key);
    document::write(member.value, json);
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
  list("errors", [&](const ClientRow& row) {
    json.value(row.completed ? "" : metrics::kOutcomeNames[static_cast<std::size_t>(row.outcome)]);
  });
  json.end_object();
  return json.text() + "\n";
}

}  // namespace ridgeline::verbs
