// guidellm's reports, versions 1 and 2: one run for each benchmark.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/document.hpp"
#include "sim/validate/client_load.hpp"
#include "sim/validate/client_readers.hpp"
#include "sim/validate/evidence.hpp"
#include "sim/validate/loose_node.hpp"

namespace ridgeline::sim::validate {
namespace {

Figures guidellm_figures(const core::Node& metrics) {
  struct Name {
    Figure figure;
    std::string_view key;
    double scale;
  };
  static constexpr auto kNames =
      std::to_array<Name>({{Figure::kE2e, "request_latency", kMillisecondsPerSecond},
                           {Figure::kTtft, "time_to_first_token_ms", 1.0},
                           // Its time_per_output_token holds the first token's; this does not.
                           {Figure::kTpot, "inter_token_latency_ms", 1.0}});
  Figures figures;
  for (const auto& name : kNames) {
    const core::Node* found = member_at_path(metrics, fmt::format("{}.successful", name.key));
    if (found == nullptr) {
      continue;
    }
    const auto set = [&](Level level, std::optional<double> value) {
      if (value && *value > 0.0) {
        figures.at(name.figure, level) = *value * name.scale;
      }
    };
    set(Level::kMean, number_at(*found, "mean"));
    set(Level::kP50, number_at(*found, "median"));
    set(Level::kP90, number_at_path(*found, "percentiles.p90"));
    set(Level::kP99, number_at_path(*found, "percentiles.p99"));
  }
  const auto throughput = number_at_path(metrics, "output_tokens_per_second.successful.mean");
  if (throughput && *throughput > 0.0) {
    figures.at(Figure::kOutputThroughput, Level::kMean) = throughput;
  }
  return figures;
}

std::optional<double> first_number(const core::Node& node,
                                   std::initializer_list<std::string_view> paths) {
  for (const auto path : paths) {
    if (const auto number = number_at_path(node, path)) {
      return number;
    }
  }
  return std::nullopt;
}

/// The successful requests, where the report holds them.
std::vector<ClientRequest> guidellm_requests(const core::Node& benchmark) {
  std::vector<ClientRequest> all;
  const core::Node* requests = member_at_path(benchmark, "requests.successful");
  if (requests == nullptr || !requests->is_list()) {
    return all;
  }
  for (const auto& request : requests->items()) {
    const auto start =
        first_number(request, {"info.timings.request_start", "request_start_time", "start_time"});
    const auto input = first_number(request, {"input_metrics.text_tokens", "prompt_tokens"});
    const auto output = first_number(request, {"output_metrics.text_tokens", "output_tokens"});
    if (start && input && output) {
      all.push_back(
          {.place = fmt::format("requests.successful[{}]", &request - requests->items().data()),
           .start_s = *start,
           .input_tokens = *input,
           .output_tokens = *output});
    }
  }
  return all;
}

/// How the strategy of a benchmark loads the server, by its totals.
StageLoad guidellm_load(const core::Node* strategy, double requests, Evidence& evidence) {
  const bool one = evidence.strategy == "synchronous";
  const auto streams = strategy == nullptr ? std::nullopt : number_at(*strategy, "streams");
  const auto rate = strategy == nullptr ? std::nullopt : number_at(*strategy, "rate");
  if (one || (evidence.strategy == "concurrent" && streams)) {
    evidence.closed_loop = true;
    return closed_load(requests, one ? 1.0 : *streams);
  }
  if (evidence.strategy == "throughput" || !rate || *rate <= 0.0) {
    return open_load(requests, 0.0, StageLoad::Kind::kAtOnce);
  }
  evidence.offered_per_s = rate;
  const bool random = evidence.strategy == "poisson";
  return open_load(
      requests, requests / *rate, random ? StageLoad::Kind::kRandom : StageLoad::Kind::kEven);
}

Evidence read_benchmark(const core::Node& benchmark, std::size_t number) {
  Evidence evidence;
  evidence.tells_server = false;
  evidence.tpot_to_last_token = true;
  evidence.family = "guidellm";
  evidence.generator = "guidellm";
  evidence.run = "guidellm";
  const core::Node* strategy = member_at_path(benchmark, "config.strategy");
  evidence.strategy = strategy == nullptr ? "" : text_at(*strategy, "type_");
  evidence.stage = fmt::format("{}-{}", number, evidence.strategy);
  evidence.id = fmt::format("benchmark {} {}", number, evidence.strategy);
  const core::Node* metrics = member_at(benchmark, "metrics");
  if (metrics == nullptr) {
    evidence.problem = "metrics is missing";
    return evidence;
  }
  evidence.measured = guidellm_figures(*metrics);
  evidence.input =
      about(number_at_path(*metrics, "prompt_token_count.successful.mean").value_or(0));
  evidence.output =
      about(number_at_path(*metrics, "output_token_count.successful.mean").value_or(0));
  const double requests = number_at_path(*metrics, "request_totals.successful").value_or(0.0);
  evidence.stages.push_back(guidellm_load(strategy, requests, evidence));
  if (evidence.offered_per_s) {
    evidence.completed_per_s =
        sustained_rate(requests,
                       number_at_path(*metrics, "requests_per_second.successful.mean"),
                       evidence.measured.at(Figure::kE2e, Level::kMean));
  }
  StageLoad& stage = evidence.stages.front();
  stage.name = fmt::format("{}", number);
  replay_requests(guidellm_requests(benchmark), evidence, stage);
  if (stage.kind == StageLoad::Kind::kAtOnce) {
    evidence.flags.emplace_back("overloaded: all requests at once");
  }
  require_load(evidence);
  return evidence;
}

}  // namespace

std::vector<Evidence> read_guidellm(const core::Node& document) {
  std::vector<Evidence> all;
  const auto& benchmarks = member_at(document, "benchmarks")->items();
  for (std::size_t i = 0; i < benchmarks.size(); ++i) {
    all.push_back(read_benchmark(benchmarks[i], i));
    all.back().generation_config = sampling_of(document);
  }
  return all;
}

}  // namespace ridgeline::sim::validate
