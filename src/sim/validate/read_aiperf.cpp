// AIPerf's exports: profile_export_aiperf.json and profile_export.jsonl.
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

#include <fmt/format.h>

#include "core/document.hpp"
#include "core/result.hpp"
#include "sim/validate/client_files.hpp"
#include "sim/validate/client_load.hpp"
#include "sim/validate/client_readers.hpp"
#include "sim/validate/evidence.hpp"
#include "sim/validate/loose_node.hpp"
#include "sim/validate/result_document.hpp"

namespace ridgeline::sim::validate {
namespace {

constexpr double kNanosecondsPerSecond = 1e9;

Evidence aiperf_run() {
  Evidence evidence;
  evidence.family = "aiperf";
  evidence.generator = "aiperf";
  evidence.id = "profile export";
  evidence.stage = "0";
  evidence.tells_server = false;
  evidence.e2e_to_last_token = true;
  evidence.tpot_to_last_token = true;
  return evidence;
}

/// A time in milliseconds, whatever unit stands beside it; the tool writes "ms" unless told to use
/// another.
std::optional<double> milliseconds(const core::Node& metric, std::string_view key) {
  struct Unit {
    std::string_view name;
    double ms;
  };
  static constexpr auto kUnits =
      std::to_array<Unit>({{"ms", 1.0}, {"us", 1e-3}, {"ns", 1e-6}, {"s", 1e3}, {"sec", 1e3}});
  const std::string unit = text_at(metric, "unit");
  const auto value = number_at(metric, key);
  const auto* const known = std::ranges::find(kUnits, std::string_view(unit), &Unit::name);
  if (!value || !(*value > 0.0) || (known == kUnits.end() && !unit.empty())) {
    return std::nullopt;
  }
  return *value * (known == kUnits.end() ? 1.0 : known->ms);
}

/// Metrics stand at the top, or in "records" in the first versions.
const core::Node* metric_at(const core::Node& node, std::string_view name) {
  const core::Node* found = member_at(node, name);
  return found != nullptr ? found : member_at_path(node, fmt::format("records.{}", name));
}
std::optional<double> average(const core::Node& node, std::string_view name) {
  const core::Node* metric = metric_at(node, name);
  return metric == nullptr ? std::nullopt : number_at(*metric, "avg");
}

constexpr auto kMetrics =
    std::to_array<std::pair<Figure, std::string_view>>({{Figure::kE2e, "request_latency"},
                                                        {Figure::kTtft, "time_to_first_token"},
                                                        {Figure::kTpot, "inter_token_latency"}});

Figures aiperf_figures(const core::Node& node) {
  static constexpr std::array<std::string_view, kNumLevels> kKeys = {"avg", "p50", "p90", "p99"};
  Figures figures;
  for (const auto& [figure, name] : kMetrics) {
    const core::Node* metric = metric_at(node, name);
    for (std::size_t level = 0; metric != nullptr && level < kNumLevels; ++level) {
      figures.at(figure, static_cast<Level>(level)) = milliseconds(*metric, kKeys[level]);
    }
  }
  const auto throughput = average(node, "output_token_throughput");
  if (throughput && *throughput > 0.0) {
    figures.at(Figure::kOutputThroughput, Level::kMean) = throughput;
  }
  return figures;
}

/// A request of the measured phase that succeeded; nothing otherwise.
std::optional<ClientRequest> aiperf_request(const core::Node& record, std::size_t line) {
  const core::Node* metadata = member_at(record, "metadata");
  const core::Node* metrics = member_at(record, "metrics");
  if (metadata == nullptr || metrics == nullptr || member_at(record, "error") != nullptr ||
      truth_at(*metadata, "was_cancelled").value_or(false) ||
      text_at(*metadata, "benchmark_phase") == "warmup") {
    return std::nullopt;
  }
  const auto time = [&](std::string_view name) {
    const core::Node* metric = member_at(*metrics, name);
    return metric == nullptr ? std::nullopt : milliseconds(*metric, "value");
  };
  const auto tokens = [&](std::string_view name) {
    const core::Node* metric = member_at(*metrics, name);
    return metric == nullptr ? 0.0 : number_at(*metric, "value").value_or(0.0);
  };
  ClientRequest request;
  request.place = fmt::format("line {}", line);
  request.start_s = number_at(*metadata, "request_start_ns").value_or(0.0) / kNanosecondsPerSecond;
  request.input_tokens = tokens("input_sequence_length");
  request.output_tokens = tokens("output_sequence_length");
  request.ttft_ms = time("time_to_first_token");
  request.e2e_ms = time("request_latency");
  request.tpot_ms = time("inter_token_latency");
  return request;
}

std::vector<ClientRequest> aiperf_requests(const std::vector<core::Node>& records) {
  std::vector<ClientRequest> requests;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (auto request = aiperf_request(records[i], i + 1)) {
      requests.push_back(std::move(*request));
    }
  }
  return requests;
}

std::vector<ClientRequest> aiperf_requests_beside(const std::string& path, double requests) {
  const auto records = read_result_lines(requests_file("aiperf", path));
  if (!records || records->empty() || !is_aiperf_request(records->front())) {
    return {};
  }
  auto all = aiperf_requests(*records);
  return static_cast<double>(all.size()) == requests ? all : std::vector<ClientRequest>();
}

}  // namespace

bool is_aiperf_request(const core::Node& record) {
  return member_at_path(record, "metadata.request_start_ns") != nullptr &&
         member_at(record, "metrics") != nullptr;
}

Evidence read_aiperf(const core::Node& node, const std::string& path) {
  Evidence evidence = aiperf_run();
  evidence.generation_config = sampling_of(node);
  evidence.measured = aiperf_figures(node);
  if (const core::Node* names = member_at_path(node, "input_config.endpoint.model_names");
      names != nullptr && names->is_list() && !names->items().empty() &&
      names->items().front().is_string()) {
    evidence.model = names->items().front().as_string();
  }
  const double requests = average(node, "request_count").value_or(0.0);
  const auto rate = number_at_path(node, "input_config.loadgen.request_rate");
  const auto clients = number_at_path(node, "input_config.loadgen.concurrency");
  if (rate && *rate > 0.0) {
    const core::Node* load = member_at_path(node, "input_config.loadgen");
    const bool even = text_at(*load, "request_rate_mode") == "constant";
    evidence.stages.push_back(open_load(
        requests, requests / *rate, even ? StageLoad::Kind::kEven : StageLoad::Kind::kRandom));
    evidence.offered_per_s = rate;
    evidence.completed_per_s = sustained_rate(requests,
                                              average(node, "request_throughput"),
                                              evidence.measured.at(Figure::kE2e, Level::kMean));
  } else if (clients) {
    evidence.closed_loop = true;
    evidence.stages.push_back(closed_load(requests, *clients));
  } else {
    evidence.stages.push_back(open_load(requests, 0.0, StageLoad::Kind::kAtOnce));
  }
  evidence.input = about(average(node, "input_sequence_length").value_or(0.0));
  evidence.output = about(average(node, "output_sequence_length").value_or(0.0));
  StageLoad& stage = evidence.stages.front();
  replay_requests(aiperf_requests_beside(path, requests), evidence, stage);
  if (stage.rows.empty()) {
    evidence.assumed.emplace_back("every prompt and answer of the mean length");
  }
  require_load(evidence);
  return evidence;
}

Evidence read_aiperf_requests(const std::vector<core::Node>& records) {
  Evidence evidence = aiperf_run();
  auto requests = aiperf_requests(records);
  evidence.measured = figures_of_requests(requests);
  evidence.stages.push_back(
      open_load(static_cast<double>(requests.size()), 0.0, StageLoad::Kind::kRandom));
  replay_requests(std::move(requests), evidence, evidence.stages.front());
  require_load(evidence);
  return evidence;
}

}  // namespace ridgeline::sim::validate
