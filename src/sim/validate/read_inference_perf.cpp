// inference-perf's reports: statistics of a run or stage, and one record a request.
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

Evidence inference_perf_run() {
  Evidence evidence;
  evidence.family = "inference-perf";
  evidence.generator = "inference-perf";
  evidence.id = "lifecycle metrics";
  evidence.stage = "0";
  evidence.tells_server = false;
  evidence.tpot_to_last_token = true;
  return evidence;
}

Figures lifecycle_figures(const core::Node& node) {
  struct Name {
    Figure figure;
    std::string_view key;
  };
  static constexpr auto kNames = std::to_array<Name>({{Figure::kE2e, "request_latency"},
                                                      {Figure::kTtft, "time_to_first_token"},
                                                      {Figure::kTpot, "time_per_output_token"}});
  static constexpr std::array<std::string_view, kNumLevels> kKeys = {
      "mean", "median", "p90", "p99"};
  Figures figures;
  const core::Node* latency = member_at_path(node, "successes.latency");
  for (const auto& name : kNames) {
    for (std::size_t level = 0; latency != nullptr && level < kNumLevels; ++level) {
      const auto value = number_at_path(*latency, fmt::format("{}.{}", name.key, kKeys[level]));
      if (value && *value > 0.0) {
        figures.at(name.figure, static_cast<Level>(level)) = *value * kMillisecondsPerSecond;
      }
    }
  }
  const auto throughput = number_at_path(node, "successes.throughput.output_tokens_per_sec");
  if (throughput && *throughput > 0.0) {
    figures.at(Figure::kOutputThroughput, Level::kMean) = throughput;
  }
  return figures;
}

/// The requests that succeeded: their times follow from the tokens' where those stand.
std::vector<ClientRequest> lifecycle_requests(const core::Node& document) {
  std::vector<ClientRequest> all;
  for (std::size_t i = 0; i < document.items().size(); ++i) {
    const core::Node& item = document.items()[i];
    const auto start = number_at(item, "start_time");
    const auto end = number_at(item, "end_time");
    if (member_at(item, "error") != nullptr || !start || !end) {
      continue;
    }
    ClientRequest request;
    request.place = fmt::format("request {}", i + 1);
    request.start_s = *start;
    request.input_tokens = number_at_path(item, "info.input_tokens").value_or(0.0);
    request.output_tokens = number_at_path(item, "info.output_tokens").value_or(0.0);
    request.e2e_ms = (*end - *start) * kMillisecondsPerSecond;
    const core::Node* info = member_at(item, "info");
    const auto times =
        info == nullptr ? std::vector<double>() : numbers_at(*info, "output_token_times");
    if (!times.empty()) {
      request.ttft_ms = (times.front() - *start) * kMillisecondsPerSecond;
    }
    if (times.size() > 1 && request.output_tokens > 1.0) {
      request.tpot_ms =
          (times.back() - times.front()) * kMillisecondsPerSecond / (request.output_tokens - 1.0);
    }
    all.push_back(std::move(request));
  }
  return all;
}

/// The requests behind a summary, where their file lies beside it and is of the same run.
std::vector<ClientRequest> lifecycle_requests_beside(const std::string& path, double requests) {
  const auto document = read_result_document(requests_file("inference-perf", path));
  if (!document || !is_inference_perf_requests(*document)) {
    return {};
  }
  auto all = lifecycle_requests(*document);
  return static_cast<double>(all.size()) == requests ? all : std::vector<ClientRequest>();
}

}  // namespace

Evidence read_inference_perf(const core::Node& node, const std::string& path) {
  Evidence evidence = inference_perf_run();
  evidence.generation_config = sampling_of(node);
  evidence.measured = lifecycle_figures(node);
  const double requests = number_at_path(node, "successes.count").value_or(0.0);
  const double seconds = number_at_path(node, "load_summary.send_duration").value_or(0.0);
  evidence.offered_per_s = number_at_path(node, "load_summary.requested_rate");
  evidence.completed_per_s =
      sustained_rate(requests,
                     number_at_path(node, "successes.throughput.requests_per_sec"),
                     evidence.measured.at(Figure::kE2e, Level::kMean));
  evidence.stages.push_back(open_load(requests, seconds, StageLoad::Kind::kRandom));
  evidence.input = about(number_at_path(node, "successes.prompt_len.mean").value_or(0.0));
  evidence.output = about(number_at_path(node, "successes.output_len.mean").value_or(0.0));
  StageLoad& stage = evidence.stages.front();
  replay_requests(lifecycle_requests_beside(path, requests), evidence, stage);
  if (stage.rows.empty()) {
    evidence.assumed.emplace_back(
        "Poisson arrivals given their number, prompts that share nothing");
  }
  require_load(evidence);
  if (evidence.problem.empty() && stage.rows.empty() && seconds <= 0.0) {
    evidence.problem = "load_summary.send_duration is missing";
  }
  return evidence;
}

Evidence read_inference_perf_requests(const core::Node& document) {
  Evidence evidence = inference_perf_run();
  auto requests = lifecycle_requests(document);
  evidence.measured = figures_of_requests(requests);
  evidence.stages.push_back(
      open_load(static_cast<double>(requests.size()), 0.0, StageLoad::Kind::kRandom));
  replay_requests(std::move(requests), evidence, evidence.stages.front());
  require_load(evidence);
  return evidence;
}

}  // namespace ridgeline::sim::validate
