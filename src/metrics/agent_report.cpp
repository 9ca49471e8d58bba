// agentx-harness's own files: records and the report.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "core/statistics/quantiles.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "document/reader.hpp"
#include "metrics/agent_metrics.hpp"

namespace ridgeline::metrics {
namespace {

using document::MapBuilder;
using document::Node;
using document::ObjectReader;

std::optional<double> metric(const Node* metrics, std::string_view name) {
  const Node* entry = metrics == nullptr ? nullptr : metrics->find(name);
  const Node* value = entry == nullptr ? nullptr : entry->find("value");
  return value != nullptr && value->is_number() ? std::optional(value->as_real()) : std::nullopt;
}
std::optional<std::int64_t> count(const Node* metrics, std::string_view name) {
  const auto value = metric(metrics, name);
  return value ? std::optional(std::llround(*value)) : std::nullopt;
}

/// The kind of an error: its type, or what stands before a colon.
std::string error_kind(const Node& error) {
  if (error.is_map()) {
    const Node* type = error.find("type");
    return type != nullptr && type->is_string() ? type->as_string() : "error";
  }
  const std::string text = error.is_string() ? error.as_string() : error.describe();
  return text.substr(0, text.find(':'));
}

constexpr std::pair<const char*, double> kPercentiles[] = {{"p1", 0.01},
                                                           {"p5", 0.05},
                                                           {"p10", 0.10},
                                                           {"p25", 0.25},
                                                           {"p50", 0.50},
                                                           {"p75", 0.75},
                                                           {"p90", 0.90},
                                                           {"p95", 0.95},
                                                           {"p99", 0.99}};

/// A metric of each request.
Node distribution(const char* unit, std::vector<double> values) {
  std::ranges::sort(values);
  double sum = 0.0;
  for (const double value : values) {
    sum += value;
  }
  const double mean = sum / static_cast<double>(values.size());
  double squares = 0.0;
  for (const double value : values) {
    squares += (value - mean) * (value - mean);
  }
  MapBuilder map;
  map.add("unit", unit).add("avg", mean);
  for (const auto& [name, share] : kPercentiles) {
    map.add(name, statistics::sorted_quantile(values, share));
  }
  return map.add("min", values.front())
      .add("max", values.back())
      .add("std", std::sqrt(squares / static_cast<double>(values.size())))
      .add("count", values.size())
      .add("sum", sum);
}

/// A metric with failures as infinitely slow: the nearest request of each rank, as far as finite.
Node adjusted(const char* unit, std::vector<double> values, std::size_t failures) {
  std::ranges::sort(values);
  const std::size_t all = values.size() + failures;
  MapBuilder map;
  map.add("unit", unit);
  for (const auto& [name, share] : kPercentiles) {
    const double at = static_cast<double>(all - 1) * share;
    const auto rank = static_cast<std::size_t>(std::nearbyint(at));
    if (rank < values.size()) {
      map.add(name, values[rank]);
    }
  }
  return map.add("min", values.front()).add("count", all);
}

Node single(const char* unit, double value) {
  return MapBuilder().add("unit", unit).add("avg", value);
}

/// What the records that count say, metric by metric.
struct Columns {
  std::vector<double> latency;
  std::vector<double> ttft;
  std::vector<double> itl;
  std::vector<double> full_itl;
  std::vector<double> per_user;
  std::vector<double> input;
  std::vector<double> output;
  std::vector<double> e2e_rate;
  std::vector<double> prefill_rate;
  std::size_t requests = 0;
  std::size_t failures = 0;
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::int64_t last = std::numeric_limits<std::int64_t>::min();

  void add(const AgentRecord& record) {
    if (!record.counts()) {
      ++failures;
      return;
    }
    ++requests;
    first = std::min(first, record.start);
    last = std::max(last, record.end);
    const auto put = [](std::vector<double>& to, const std::optional<double>& value) {
      if (value) {
        to.push_back(*value);
      }
    };
    put(latency, record.latency_ms);
    put(ttft, record.ttft_ms);
    put(itl, record.itl_ms);
    put(full_itl, record.full_itl_ms);
    if (record.itl_ms) {
      per_user.push_back(1000.0 / *record.itl_ms);
    }
    if (record.input) {
      input.push_back(static_cast<double>(*record.input));
      if (record.ttft_ms) {
        prefill_rate.push_back(input.back() / *record.ttft_ms * 1000.0);
      }
    }
    if (record.output) {
      output.push_back(static_cast<double>(*record.output));
      if (record.latency_ms) {
        e2e_rate.push_back(output.back() / *record.latency_ms * 1000.0);
      }
    }
  }
};

double total(std::span<const double> values) {
  double sum = 0.0;
  for (const double value : values) {
    sum += value;
  }
  return sum;
}

void add_distributions(MapBuilder& report, const Columns& columns) {
  const auto put = [&](const char* name, const char* unit, const std::vector<double>& values) {
    if (!values.empty()) {
      report.add(name, distribution(unit, values));
    }
  };
  put("request_latency", "ms", columns.latency);
  put("time_to_first_token", "ms", columns.ttft);
  put("inter_token_latency", "ms", columns.itl);
  put("full_response_inter_token_latency", "ms", columns.full_itl);
  put("output_token_throughput_per_user", "tokens/sec/user", columns.per_user);
  put("output_sequence_length", "tokens", columns.output);
  put("input_sequence_length", "tokens", columns.input);
  put("e2e_output_token_throughput", "tokens/sec/user", columns.e2e_rate);
  put("prefill_throughput_per_user", "tokens/sec/user", columns.prefill_rate);
  if (columns.failures > 0 && columns.requests > 0) {
    report.add("adj_request_latency", adjusted("ms", columns.latency, columns.failures))
        .add("adj_time_to_first_token", adjusted("ms", columns.ttft, columns.failures));
    if (!columns.itl.empty()) {
      report.add("adj_inter_token_latency", adjusted("ms", columns.itl, columns.failures));
    }
  }
}

}  // namespace

AgentRecord agent_record(const Node& line, core::Errors& errors) {
  AgentRecord record;
  ObjectReader reader(line, "", errors, ObjectReader::Unknown::kIgnore);
  const Node* metadata = reader.node("metadata");
  const Node* metrics = reader.node("metrics");
  const Node* error = reader.node("error");
  if (metadata == nullptr) {
    reader.problem("metadata", "is missing, expected a map");
    return record;
  }
  ObjectReader about(*metadata, "metadata", errors, ObjectReader::Unknown::kIgnore);
  record.is_profiling = about.string("benchmark_phase").value_or("profiling") == "profiling";
  record.is_cancelled = about.boolean("was_cancelled").value_or(false);
  record.is_context_overflow = about.boolean("context_overflow_skip").value_or(false);
  record.conversation = about.string("conversation_id").value_or("");
  record.session = about.string("x_correlation_id").value_or("");
  record.turn = about.integer("turn_index").value_or(0);
  record.start = about.required_integer("request_start_ns");
  record.end = about.integer("request_end_ns").value_or(record.start);
  record.issued = about.integer("credit_issued_ns").value_or(record.start);
  if (error != nullptr && !error->is_null()) {
    record.error = error_kind(*error);
  } else if (record.is_context_overflow) {
    record.error = "context overflow";
  }
  record.input = count(metrics, "input_sequence_length");
  record.output = count(metrics, "output_sequence_length");
  record.ttft_ms = metric(metrics, "time_to_first_token");
  record.latency_ms = metric(metrics, "request_latency");
  record.itl_ms = metric(metrics, "inter_token_latency");
  record.full_itl_ms = metric(metrics, "full_response_inter_token_latency");
  return record;
}

Node agent_record_node(const AgentRecord& record) {
  MapBuilder metadata;
  metadata.add("x_correlation_id", record.session)
      .add("conversation_id", record.conversation)
      .add("turn_index", record.turn)
      .add("credit_issued_ns", record.issued)
      .add("request_start_ns", record.start)
      .add("request_end_ns", record.end)
      .add("benchmark_phase", record.is_profiling ? "profiling" : "warmup")
      .add("was_cancelled", record.is_cancelled);
  if (record.is_context_overflow) {
    metadata.add("context_overflow_skip", true);
  }
  MapBuilder metrics;
  const auto put = [&](const char* name, const char* unit, const Node& value) {
    if (!value.is_null()) {
      metrics.add(name, MapBuilder().add("value", value).add("unit", unit));
    }
  };
  const auto whole = [](const std::optional<std::int64_t>& value) {
    return value ? document::integer_node(*value) : document::number_node(std::nullopt);
  };
  put("input_sequence_length", "tokens", whole(record.input));
  put("output_sequence_length", "tokens", whole(record.output));
  put("time_to_first_token", "ms", document::number_node(record.ttft_ms));
  put("request_latency", "ms", document::number_node(record.latency_ms));
  put("inter_token_latency", "ms", document::number_node(record.itl_ms));
  put("full_response_inter_token_latency", "ms", document::number_node(record.full_itl_ms));
  MapBuilder line;
  line.add("metadata", metadata).add("metrics", metrics);
  if (!record.error.empty()) {
    line.add("error", MapBuilder().add("type", record.error));
  }
  return line;
}

Node agent_report(std::span<const AgentRecord> records,
                  double phase_seconds,
                  const std::optional<TheoreticalHits>& hits) {
  Columns columns;
  for (const AgentRecord& record : records) {
    columns.add(record);
  }
  MapBuilder report;
  const auto requests = static_cast<double>(columns.requests);
  const double input = total(columns.input);
  const double output = total(columns.output);
  report.add("request_count", single("requests", requests));
  if (columns.failures > 0) {
    const auto failures = static_cast<double>(columns.failures);
    report.add("error_request_count", single("requests", failures))
        .add("request_error_rate", single("%", 100.0 * failures / (requests + failures)))
        .add("completed_request_count", single("requests", requests + failures));
  }
  if (columns.requests > 0) {
    report.add("benchmark_duration",
               single("sec", static_cast<double>(columns.last - columns.first) / 1e9));
  }
  add_distributions(report, columns);
  report.add("request_throughput", single("requests/sec", requests / phase_seconds))
      .add("output_token_throughput", single("tokens/sec", output / phase_seconds))
      .add("input_token_throughput", single("tokens/sec", input / phase_seconds))
      .add("total_token_throughput", single("tokens/sec", (input + output) / phase_seconds));
  for (const char* name : {"total_isl", "total_usage_prompt_tokens"}) {
    report.add(name, single("tokens", input));
  }
  for (const char* name : {"total_osl", "total_output_tokens", "total_usage_completion_tokens"}) {
    report.add(name, single("tokens", output));
  }
  if (hits && hits->blocks > 0) {
    report.add(
        "theoretical_prefix_cache_hit",
        MapBuilder()
            .add("unit", "%")
            .add("avg", 100.0 * static_cast<double>(hits->hits) / static_cast<double>(hits->blocks))
            .add("count", hits->blocks)
            .add("sum", hits->hits));
  }
  return report;
}

}  // namespace ridgeline::metrics
