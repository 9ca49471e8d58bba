// AIPerf's exports (github.com/ai-dynamo/aiperf): profile_export_aiperf.json, the statistics of
// every metric, and profile_export.jsonl, one record a request. Times are in milliseconds, those of
// single requests' begin and end in nanoseconds.
#include <array>
#include <cmath>
#include <cstdint>
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
#include "verbs/clients/client_files.hpp"
#include "verbs/clients/client_results.hpp"
#include "verbs/run/run_result.hpp"

namespace ridgeline::verbs {
namespace {

using document::list_node;
using document::MapBuilder;
using document::number_node;

constexpr double kNsPerSecond = 1e9;

document::Node statistics_of(std::string_view unit, const std::vector<double>& sorted) {
  constexpr auto kPercentiles = std::to_array<std::pair<const char*, double>>({{"p1", 0.01},
                                                                               {"p5", 0.05},
                                                                               {"p10", 0.1},
                                                                               {"p25", 0.25},
                                                                               {"p50", 0.5},
                                                                               {"p75", 0.75},
                                                                               {"p90", 0.9},
                                                                               {"p95", 0.95},
                                                                               {"p99", 0.99},
                                                                               {"min", 0.0},
                                                                               {"max", 1.0}});
  const Spread spread = spread_of(sorted);
  const auto or_null = [&](double value) {
    return number_node(sorted.empty() ? std::nullopt : std::optional(value));
  };
  MapBuilder map;
  map.add("unit", unit).add("avg", or_null(spread.mean));
  for (const auto& [name, p] : kPercentiles) {
    map.add(name, or_null(sorted.empty() ? 0.0 : statistics::sorted_quantile(sorted, p)));
  }
  return map.add("std", or_null(std::sqrt(spread.variance)));
}

document::Node one_number(std::string_view unit, std::optional<double> value) {
  return MapBuilder().add("unit", unit).add("avg", value);
}

/// The load that AIPerf's command line would ask for, as JSON.
document::Node load_of(const RunResult& result) {
  const document::Node* rate = setting(result, "workload.request_rate");
  const document::Node* clients = setting(result, "workload.max_concurrency");
  MapBuilder load;
  load.add("request_count", result.summary.requests());
  if (clients != nullptr) {
    load.add("concurrency", *clients);
  } else if (rate != nullptr) {
    const bool even = setting_or_empty(result, "workload.arrivals").as_string() == "constant";
    load.add("request_rate", *rate).add("request_rate_mode", even ? "constant" : "poisson");
  }
  std::vector<document::Node> names;
  names.push_back(setting_or_empty(result, "model"));
  return MapBuilder()
      .add("endpoint",
           MapBuilder().add("model_names", list_node(std::move(names))).add("streaming", true))
      .add("loadgen", load.build());
}

std::optional<double> user_rate_of(const ClientRow& row) {
  return row.mean_gap && *row.mean_gap > 0.0 ? std::optional(1.0 / *row.mean_gap) : std::nullopt;
}

}  // namespace

std::string aiperf_summary(const RunResult& result, const ClientResults& results) {
  const auto& summary = result.summary;
  const auto ms = [&](auto of) {
    return statistics_of("ms", column(results, [&](const ClientRow& row) -> std::optional<double> {
                           const std::optional<double> seconds = of(row);
                           return seconds ? std::optional(*seconds * kMsPerSecond) : std::nullopt;
                         }));
  };
  const auto tokens = [&](auto of) { return statistics_of("tokens", column(results, of)); };
  const auto count = [](std::int64_t number) { return static_cast<double>(number); };
  return document::json_text(
      MapBuilder()
          .add(kSamplingKey, sampling_setting(result))
          .add("aiperf_version", "ridgeline " + result.run_info.version)
          .add("input_config", load_of(result))
          .add("was_cancelled", result.partial)
          .add("request_throughput", one_number("requests/sec", summary.request_throughput))
          .add("request_count", one_number("requests", count(summary.completed)))
          .add("error_request_count",
               one_number("requests", count(summary.requests() - summary.completed)))
          .add("request_latency", ms(last_token_of))
          .add("time_to_first_token", ms(ttft_of))
          .add("inter_token_latency", ms(mean_gap_of))
          .add("output_token_throughput", one_number("tokens/sec", summary.output_throughput))
          .add("output_token_throughput_per_user",
               statistics_of("tokens/sec/user", column(results, user_rate_of)))
          .add("input_sequence_length", tokens(input_of))
          .add("output_sequence_length", tokens(output_of))
          .add("output_token_count", tokens(output_of))
          .add("total_isl", one_number("tokens", count(summary.total_input_tokens)))
          .add("total_osl", one_number("tokens", count(summary.total_output_tokens)))
          .add("benchmark_duration", one_number("sec", summary.duration_s)));
}

std::string aiperf_requests(const ClientResults& results) {
  document::JsonWriter json(document::JsonWriter::Layout::kOneLine);
  std::string text;
  const auto& rows = results.rows();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const ClientRow& row = rows[i];
    const auto nanoseconds = [](double seconds) {
      return static_cast<std::int64_t>(std::llround(seconds * kNsPerSecond));
    };
    const auto metric = [&](std::string_view name, auto value, std::string_view unit) {
      json.key(name).begin_object().member("value", value).member("unit", unit).end_object();
    };
    json.clear();
    json.begin_object().key("metadata").begin_object();
    json.member("session_num", i).member("turn_index", 0);
    json.member("request_start_ns", nanoseconds(row.start));
    json.member("request_end_ns", nanoseconds(row.start + row.last_token));
    json.member("benchmark_phase", "profiling").member("was_cancelled", false).end_object();
    json.key("metrics").begin_object();
    metric("input_sequence_length", row.input_tokens, "tokens");
    if (row.completed) {
      metric("output_sequence_length", row.output_tokens, "tokens");
      metric("time_to_first_token", row.ttft * kMsPerSecond, "ms");
      metric("request_latency", row.last_token * kMsPerSecond, "ms");
      if (row.mean_gap) {
        metric("inter_token_latency", *row.mean_gap * kMsPerSecond, "ms");
      }
    }
    json.end_object().key("error");
    if (row.completed) {
      json.null();
    } else {
      json.begin_object().member("type", "rejected").member("message", "").end_object();
    }
    json.end_object();
    text += json.text() + "\n";
  }
  return text;
}

}  // namespace ridgeline::verbs
