#include "metrics/agent_metrics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/parse.hpp"
#include "core/result.hpp"
#include "core/statistics/quantiles.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"

namespace ridgeline::metrics {
namespace {

using document::MapBuilder;
using document::Node;

constexpr double kNanoseconds = 1e9;
constexpr double kMilliseconds = 1e3;

/// A number as rows hold it.
double rounded(double value) {
  return std::round(value * 1e5) / 1e5;
}

double sum_of(std::span<const double> values) {
  double sum = 0.0;
  for (const double value : values) {
    sum += value;
  }
  return sum;
}
double mean_of(std::span<const double> values) {
  return sum_of(values) / static_cast<double>(values.size());
}
/// The standard deviation of a whole population.
double deviation_of(std::span<const double> values) {
  const double mean = mean_of(values);
  double squares = 0.0;
  for (const double value : values) {
    squares += (value - mean) * (value - mean);
  }
  return std::sqrt(squares / static_cast<double>(values.size()));
}
std::vector<double> sorted(std::vector<double> values) {
  std::ranges::sort(values);
  return values;
}

constexpr std::pair<const char*, double> kRowPercentiles[] = {
    {"p50", 0.50}, {"p75", 0.75}, {"p90", 0.90}, {"p95", 0.95}};

/// Mean, percentiles and deviation; `inverse` gives one over each, the deviation of the inverses.
Node summary(const std::vector<double>& values, bool inverse = false) {
  MapBuilder map;
  if (values.empty()) {
    return map;
  }
  const auto out = [&](double value) { return rounded(inverse ? 1.0 / value : value); };
  const std::vector<double> ranks = sorted(values);
  map.add("mean", out(mean_of(values)));
  for (const auto& [name, share] : kRowPercentiles) {
    map.add(name, out(statistics::sorted_quantile(ranks, share)));
  }
  std::vector<double> spread = values;
  if (inverse) {
    for (double& value : spread) {
      value = 1.0 / value;
    }
  }
  return map.add("std", rounded(deviation_of(spread)));
}

template <class Get>
std::vector<double> collect(std::span<const AgentRecord> records, const Get& get) {
  std::vector<double> values;
  for (const AgentRecord& record : records) {
    if (!record.counts()) {
      continue;
    }
    if (const std::optional<double> value = get(record)) {
      values.push_back(*value);
    }
  }
  return values;
}
std::optional<double> seconds(const std::optional<double>& milliseconds) {
  return milliseconds ? std::optional(*milliseconds / kMilliseconds) : std::nullopt;
}
std::optional<double> number(const std::optional<std::int64_t>& count) {
  return count ? std::optional(static_cast<double>(*count)) : std::nullopt;
}
std::vector<double> inputs(std::span<const AgentRecord> records) {
  return collect(records, [](const AgentRecord& record) { return number(record.input); });
}
std::vector<double> outputs(std::span<const AgentRecord> records) {
  return collect(records, [](const AgentRecord& record) { return number(record.output); });
}

/// From the earliest start to the latest end of what counts.
double duration_of(std::span<const AgentRecord> records) {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::int64_t last = std::numeric_limits<std::int64_t>::min();
  for (const AgentRecord& record : records) {
    if (record.counts()) {
      first = std::min(first, record.start);
      last = std::max(last, record.end);
    }
  }
  return last > first ? static_cast<double>(last - first) / kNanoseconds : 0.0;
}

/// Completions in each whole second from the first one on.
Node completion_rate(std::span<const AgentRecord> records) {
  std::vector<std::int64_t> ends;
  for (const AgentRecord& record : records) {
    if (record.counts()) {
      ends.push_back(record.end);
    }
  }
  MapBuilder rate;
  if (ends.size() < 2) {
    return rate;
  }
  std::ranges::sort(ends);
  const auto second = static_cast<std::int64_t>(kNanoseconds);
  const std::int64_t windows = (ends.back() - ends.front()) / second;
  rate.add("window_seconds", 1).add("samples", windows);
  if (windows == 0) {
    const double span = static_cast<double>(ends.back() - ends.front()) / kNanoseconds;
    return rate.add("mean", rounded(static_cast<double>(ends.size()) / span));
  }
  std::vector<double> counts(static_cast<std::size_t>(windows));
  for (const std::int64_t end : ends) {
    const std::int64_t window = (end - ends.front()) / second;
    if (window < windows) {
      ++counts[static_cast<std::size_t>(window)];
    }
  }
  const Node all = summary(counts);
  for (const auto& [key, value, where] : all.members()) {
    rate.add(key, value);
  }
  return rate;
}

Node latencies(std::span<const AgentRecord> records) {
  const auto itl = collect(records, [](const AgentRecord& r) { return seconds(r.itl_ms); });
  const auto full = collect(records, [](const AgentRecord& r) { return seconds(r.full_itl_ms); });
  const auto per_token = collect(records, [](const AgentRecord& r) -> std::optional<double> {
    return r.latency_ms && r.output.value_or(0) > 0
               ? std::optional(*r.latency_ms / kMilliseconds / static_cast<double>(*r.output))
               : std::nullopt;
  });
  return MapBuilder()
      .add("ttft", summary(collect(records, [](const auto& r) { return seconds(r.ttft_ms); })))
      .add("e2el", summary(collect(records, [](const auto& r) { return seconds(r.latency_ms); })))
      .add("itl", summary(itl))
      .add("tpot", summary(itl))
      .add("intvty", summary(itl, true))
      .add("e2e_norm_intvty", summary(per_token, true))
      .add("full_response_itl", summary(full))
      .add("full_response_intvty", summary(full, true));
}

Node throughput(std::span<const AgentRecord> records, std::int64_t gpus) {
  const double duration = duration_of(records);
  const double input = duration > 0.0 ? sum_of(inputs(records)) / duration : 0.0;
  const double output = duration > 0.0 ? sum_of(outputs(records)) / duration : 0.0;
  const auto rate = [](double value) -> Node {
    return MapBuilder().add("tokens_per_second", rounded(value));
  };
  const auto per_gpu = [&](double value) {
    return gpus > 0 ? std::optional(rounded(value / static_cast<double>(gpus))) : std::nullopt;
  };
  return MapBuilder()
      .add("input", rate(input))
      .add("output", rate(output))
      .add("total", rate(input + output))
      .add("duration_seconds", rounded(duration))
      .add("per_gpu",
           MapBuilder()
               .add("total_tput_tps", per_gpu(input + output))
               .add("output_tput_tps", per_gpu(output))
               .add("input_tput_tps", per_gpu(input)));
}

/// Values of the environment, with what the aggregation takes where they are not set.
class Environment {
 public:
  explicit Environment(const AgentEnvironment& values) : values_(&values) {}

  [[nodiscard]] std::string text(std::string_view key, std::string_view otherwise = {}) const {
    const auto found = values_->find(key);
    return found == values_->end() || found->second.empty() ? std::string(otherwise)
                                                            : found->second;
  }
  [[nodiscard]] bool flag(std::string_view key) const { return text(key) == "true"; }
  std::int64_t count(std::string_view key, std::int64_t otherwise) {
    const std::string value = text(key);
    const auto number = core::parse_whole<std::int64_t>(value);
    if (!value.empty() && !number) {
      errors_.push_back({.field = std::string(key),
                         .message = fmt::format("found '{}', expected a whole number", value)});
    }
    return number.value_or(otherwise);
  }
  [[nodiscard]] const core::Errors& errors() const { return errors_; }

 private:
  const AgentEnvironment* values_;
  core::Errors errors_;
};

/// The prefill or the decode servers of a deployment that has both.
struct Role {
  std::int64_t workers = 0;
  std::int64_t tp = 1;
  std::int64_t pp = 1;
  std::int64_t dcp = 1;
  std::int64_t pcp = 1;
  std::int64_t ep = 1;
  std::string dp_attention;

  [[nodiscard]] std::int64_t gpus() const { return workers * tp * pp * pcp; }
};
Role role_of(Environment& environment, const std::string& name) {
  const auto count = [&](const char* key) { return environment.count(name + key, 1); };
  Role role{.workers = environment.count(name + "_NUM_WORKERS", 0),
            .tp = count("_TP"),
            .pp = count("_PP_SIZE"),
            .dcp = count("_DCP_SIZE"),
            .pcp = count("_PCP_SIZE"),
            .ep = count("_EP"),
            .dp_attention = environment.text(name + "_DP_ATTN",
                                             environment.text(name + "_DP_ATTENTION", "false"))};
  if (role.workers == 0) {
    role.tp = 0;
    role.ep = 0;
  }
  return role;
}

void add_role(MapBuilder& row, const std::string& name, const Role& role) {
  row.add(name + "_num_workers", role.workers)
      .add(name + "_tp", role.tp)
      .add(name + "_pp", role.pp)
      .add(name + "_dcp_size", role.dcp)
      .add(name + "_pcp_size", role.pcp)
      .add(name + "_ep", role.ep)
      .add(name + "_dp_attention", role.dp_attention)
      .add("num_" + name + "_gpu", role.gpus());
}

/// The GPUs of a row, and the keys of its shape.
std::int64_t add_shape(MapBuilder& row, Environment& environment) {
  if (environment.flag("IS_MULTINODE")) {
    const Role prefill = role_of(environment, "PREFILL");
    const Role decode = role_of(environment, "DECODE");
    row.add("tp", prefill.tp + decode.tp).add("ep", std::max(prefill.ep, decode.ep));
    add_role(row, "prefill", prefill);
    add_role(row, "decode", decode);
    return prefill.gpus() + decode.gpus();
  }
  const std::int64_t tp = environment.count("TP", 1);
  const std::int64_t pp = environment.count("PP_SIZE", 1);
  const std::int64_t pcp = environment.count("PCP_SIZE", 1);
  row.add("tp", tp)
      .add("ep", environment.count("EP_SIZE", 1))
      .add("pp", pp)
      .add("dcp_size", environment.count("DCP_SIZE", 1))
      .add("pcp_size", pcp);
  return tp * pp * pcp;
}

}  // namespace

void AgentRecord::set_gaps() {
  const bool has_gaps = output.value_or(0) >= 2 && ttft_ms;
  const double gaps = static_cast<double>(output.value_or(0) - 1);
  itl_ms = has_gaps && latency_ms ? std::optional((*latency_ms - *ttft_ms) / gaps) : std::nullopt;
  full_itl_ms = has_gaps ? std::optional((static_cast<double>(end - start) / 1e6 - *ttft_ms) / gaps)
                         : std::nullopt;
}

Node agent_request_metrics(std::span<const AgentRecord> records,
                           std::int64_t gpus,
                           const std::optional<TheoreticalHits>& hits) {
  const auto rate =
      hits && hits->blocks > 0
          ? std::optional(static_cast<double>(hits->hits) / static_cast<double>(hits->blocks))
          : std::nullopt;
  return MapBuilder()
      .add("qps", completion_rate(records))
      .add("latency", latencies(records))
      .add("tokens",
           MapBuilder()
               .add("input", summary(inputs(records)))
               .add("output_actual", summary(outputs(records)))
               .add("output_expected", MapBuilder()))
      .add("throughput", throughput(records, gpus))
      .add("cache",
           MapBuilder().add("theoretical_cache_hit_rate",
                            rate ? std::optional(rounded(*rate)) : std::nullopt));
}

Node agent_accounting(std::span<const AgentRecord> records) {
  std::int64_t warm_up = 0;
  std::int64_t errors = 0;
  std::map<std::string, std::int64_t> categories;
  for (const AgentRecord& record : records) {
    if (!record.is_profiling) {
      ++warm_up;
    } else if (!record.counts()) {
      ++errors;
      ++categories[record.error.empty() ? "cancelled" : record.error];
    }
  }
  MapBuilder by_category;
  for (const auto& [category, count] : categories) {
    by_category.add(category, count);
  }
  const auto total = static_cast<std::int64_t>(records.size());
  return MapBuilder()
      .add("records_total", total)
      .add("records_profiled", total - warm_up - errors)
      .add("records_dropped_total", warm_up + errors)
      .add("records_warmup_dropped", warm_up)
      .add("records_error_dropped", errors)
      .add("error_categories", by_category);
}

core::Result<std::int64_t> agent_gpus(const AgentEnvironment& values) {
  Environment environment(values);
  MapBuilder shape;
  const std::int64_t gpus = add_shape(shape, environment);
  return environment.errors().empty() ? core::Result<std::int64_t>(gpus)
                                      : core::fail(environment.errors());
}

core::Result<Node> agent_row(std::span<const AgentRecord> records,
                             const AgentEnvironment& values,
                             const std::optional<TheoreticalHits>& hits,
                             const std::vector<std::string>& warnings) {
  Environment environment(values);
  const auto profiled = std::ranges::count_if(records, &AgentRecord::counts);
  MapBuilder row;
  row.add("hw", environment.text("RUNNER_TYPE"))
      .add("conc", environment.count("CONC", 0))
      .add("image", environment.text("IMAGE"))
      .add("recipe_fingerprint", environment.text("RECIPE_FINGERPRINT"))
      .add("model", environment.text("MODEL"))
      .add("infmax_model_prefix", environment.text("MODEL_PREFIX"))
      .add("framework", environment.text("FRAMEWORK"))
      .add("precision", environment.text("PRECISION"))
      .add("spec_decoding", environment.text("SPEC_DECODING", "none"))
      .add("disagg", environment.flag("DISAGG"))
      .add("scenario_type", "agentic-coding")
      .add("is_multinode", environment.flag("IS_MULTINODE"))
      .add("dp_attention", environment.text("DP_ATTENTION", "false"))
      .add("kv_offloading", environment.text("KV_OFFLOADING", "none"))
      .add("kv_offload_backend", document::text_or_null(environment.text("KV_OFFLOAD_BACKEND")))
      .add("allocated_cpu_dram_gb", environment.count("ALLOCATED_CPU_DRAM_GB", 0))
      .add("num_requests_total", records.size())
      .add("num_requests_successful", profiled)
      .add("request_accounting", agent_accounting(records));
  const std::int64_t gpus = add_shape(row, environment);
  row.add("request_metrics", agent_request_metrics(records, gpus, hits))
      .add("kv_cache_pool_tokens", document::number_node(std::nullopt))
      .add("warnings", document::texts_node(warnings));
  if (!environment.errors().empty()) {
    return core::fail(environment.errors());
  }
  return row;
}

}  // namespace ridgeline::metrics
