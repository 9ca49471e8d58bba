#include "sim/validate/benchmark_results.hpp"

#include <algorithm>
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
#include "sim/validate/evidence.hpp"
#include "sim/validate/loose_node.hpp"

namespace ridgeline::sim::validate {
namespace {

constexpr double kMillisecondsPerSecond = 1e3;

TokenCounts about(double mean) {
  return {.law = TokenCounts::Law::kFixed, .mean = mean, .lowest = mean, .highest = mean};
}

/// `a.b.c`; nullptr where a part is missing.
const core::Node* at_path(const core::Node& node, std::string_view path) {
  const core::Node* here = &node;
  while (here != nullptr && !path.empty()) {
    const std::size_t dot = path.find('.');
    here = member_at(*here, path.substr(0, dot));
    path.remove_prefix(dot == std::string_view::npos ? path.size() : dot + 1);
  }
  return here;
}

std::optional<double> number_at_path(const core::Node& node, std::string_view path) {
  const std::size_t dot = path.rfind('.');
  const core::Node* parent =
      dot == std::string_view::npos ? &node : at_path(node, path.substr(0, dot));
  return parent == nullptr
             ? std::nullopt
             : number_at(*parent, dot == std::string_view::npos ? path : path.substr(dot + 1));
}

std::vector<double> numbers_of(const core::Node* list) {
  std::vector<double> numbers;
  if (list != nullptr && list->is_list()) {
    for (const auto& item : list->items()) {
      if (item.is_number()) {
        numbers.push_back(item.as_real());
      }
    }
  }
  return numbers;
}

/// A count that a file states, within what is simulated.
std::int64_t bounded_count(double count) {
  constexpr double kMost = 5e6;
  return static_cast<std::int64_t>(std::clamp(std::floor(count + 0.5), 0.0, kMost));
}

StageLoad open_load(double requests, double seconds, StageLoad::Kind kind) {
  StageLoad stage;
  stage.kind = kind;
  stage.name = "0";
  stage.requests = bounded_count(requests);
  stage.duration_s = seconds;
  return stage;
}

StageLoad closed_load(double requests, double clients) {
  StageLoad stage = open_load(requests, 0.0, StageLoad::Kind::kClosed);
  stage.concurrency = bounded_count(clients);
  return stage;
}

void require_load(Evidence& evidence) {
  const bool sound = !evidence.stages.empty() && evidence.stages.front().requests > 0 &&
                     evidence.input.mean >= 1.0 && evidence.output.mean >= 1.0;
  if (evidence.problem.empty() && !sound) {
    evidence.problem = "requests, prompt or answer lengths are missing";
  }
  if (evidence.problem.empty() && evidence.measured.empty()) {
    evidence.problem = "no latency and no throughput";
  }
}

// vLLM's and SGLang's benchmark clients.

Figures bench_figures(const core::Node& node) {
  struct Name {
    Figure figure;
    std::string_view vllm;
    std::string_view other;
  };
  static constexpr auto kNames = std::to_array<Name>({{Figure::kE2e, "e2el", "e2e_latency"},
                                                      {Figure::kTtft, "ttft", "ttft"},
                                                      {Figure::kTpot, "tpot", "tpot"},
                                                      {Figure::kItl, "itl", "itl"}});
  static constexpr std::array<std::string_view, kNumLevels> kPrefixes = {
      "mean", "median", "p90", "p99"};
  Figures figures;
  for (const auto& name : kNames) {
    for (std::size_t level = 0; level < kNumLevels; ++level) {
      for (const auto metric : {name.vllm, name.other}) {
        // A single token has no TPOT: those files then hold a zero.
        const auto value = number_at(node, fmt::format("{}_{}_ms", kPrefixes[level], metric));
        if (value && *value > 0.0) {
          figures.at(name.figure, static_cast<Level>(level)) = value;
        }
      }
    }
  }
  if (const auto throughput = number_at(node, "output_throughput"); throughput && *throughput > 0) {
    figures.at(Figure::kOutputThroughput, Level::kMean) = throughput;
  }
  return figures;
}

/// Lengths of the single requests, and when they were sent, where the file was saved in detail.
void add_bench_rows(const core::Node& node, StageLoad& stage) {
  const auto inputs = numbers_of(member_at(node, "input_lens"));
  const auto outputs = numbers_of(member_at(node, "output_lens"));
  const auto starts = numbers_of(member_at(node, "start_times"));
  if (inputs.empty() || inputs.size() != outputs.size()) {
    return;
  }
  const bool timed = starts.size() == inputs.size() && stage.kind != StageLoad::Kind::kClosed;
  const double zero = timed ? *std::ranges::min_element(starts) : 0.0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] >= 1.0 && outputs[i] >= 1.0) {
      stage.rows.push_back({.arrival_s = timed ? starts[i] - zero : 0.0,
                            .input_tokens = static_cast<std::int64_t>(inputs[i]),
                            .output_tokens = static_cast<std::int64_t>(outputs[i])});
    }
  }
  std::ranges::stable_sort(stage.rows, {}, &StageLoad::Row::arrival_s);
  stage.requests = static_cast<std::int64_t>(stage.rows.size());
  if (timed) {
    stage.kind = StageLoad::Kind::kRecorded;
  }
}

Evidence read_vllm_bench(const core::Node& node) {
  Evidence evidence;
  evidence.family = "vllm-bench";
  evidence.generator = "vllm bench";
  evidence.model = text_at(node, "model_id");
  evidence.id = fmt::format("vllm-bench {}", text_at(node, "date"));
  evidence.stage = "0";
  evidence.measured = bench_figures(node);
  const double requests = number_at(node, "completed").value_or(0.0);
  const auto rate = number_at(node, "request_rate");
  const auto clients = number_at(node, "max_concurrency");
  if (clients) {
    evidence.closed_loop = true;
    evidence.stages.push_back(closed_load(requests, *clients));
  } else if (rate && *rate > 0.0) {
    evidence.stages.push_back(open_load(requests, requests / *rate, StageLoad::Kind::kRandom));
    evidence.offered_per_s = rate;
  } else {
    evidence.stages.push_back(open_load(requests, 0.0, StageLoad::Kind::kAtOnce));
  }
  evidence.completed_per_s = number_at(node, "request_throughput");
  if (requests > 0.0) {
    evidence.input = about(number_at(node, "total_input_tokens").value_or(0.0) / requests);
    evidence.output = about(number_at(node, "total_output_tokens").value_or(0.0) / requests);
  }
  add_bench_rows(node, evidence.stages.front());
  if (evidence.stages.front().rows.empty()) {
    evidence.assumed.emplace_back("every prompt and answer of the mean length");
  }
  require_load(evidence);
  return evidence;
}

// guidellm.

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
    const core::Node* found = at_path(metrics, fmt::format("{}.successful", name.key));
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

/// The successful requests as rows, where the report holds them.
std::vector<StageLoad::Row> guidellm_rows(const core::Node& benchmark) {
  std::vector<StageLoad::Row> rows;
  const core::Node* requests = at_path(benchmark, "requests.successful");
  if (requests == nullptr || !requests->is_list()) {
    return rows;
  }
  for (const auto& request : requests->items()) {
    const auto start = number_at_path(request, "info.timings.request_start");
    auto input = number_at_path(request, "input_metrics.text_tokens");
    auto output = number_at_path(request, "output_metrics.text_tokens");
    input = input ? input : number_at(request, "prompt_tokens");
    output = output ? output : number_at(request, "output_tokens");
    if (start && input && output && *input >= 1.0 && *output >= 1.0) {
      rows.push_back({.arrival_s = *start,
                      .input_tokens = static_cast<std::int64_t>(*input),
                      .output_tokens = static_cast<std::int64_t>(*output)});
    }
  }
  std::ranges::stable_sort(rows, {}, &StageLoad::Row::arrival_s);
  const double zero = rows.empty() ? 0.0 : rows.front().arrival_s;
  for (auto& row : rows) {
    row.arrival_s -= zero;
  }
  return rows;
}

Evidence read_guidellm_benchmark(const core::Node& benchmark, std::size_t number) {
  Evidence evidence;
  evidence.family = "guidellm";
  evidence.generator = "guidellm";
  evidence.run = "guidellm";
  const core::Node* strategy = at_path(benchmark, "config.strategy");
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
  const bool one = evidence.strategy == "synchronous";
  const auto streams = strategy == nullptr ? std::nullopt : number_at(*strategy, "streams");
  const auto rate = strategy == nullptr ? std::nullopt : number_at(*strategy, "rate");
  if (one || (evidence.strategy == "concurrent" && streams)) {
    evidence.closed_loop = true;
    evidence.stages.push_back(closed_load(requests, one ? 1.0 : *streams));
  } else if (evidence.strategy == "throughput" || !rate || *rate <= 0.0) {
    evidence.stages.push_back(open_load(requests, 0.0, StageLoad::Kind::kAtOnce));
    evidence.flags.emplace_back("overloaded: all requests at once");
  } else {
    const bool random = evidence.strategy == "poisson";
    evidence.stages.push_back(open_load(
        requests, requests / *rate, random ? StageLoad::Kind::kRandom : StageLoad::Kind::kEven));
    evidence.offered_per_s = rate;
    evidence.completed_per_s = number_at_path(*metrics, "requests_per_second.successful.mean");
  }
  StageLoad& stage = evidence.stages.front();
  stage.name = fmt::format("{}", number);
  stage.rows = guidellm_rows(benchmark);
  if (!stage.rows.empty()) {
    stage.requests = static_cast<std::int64_t>(stage.rows.size());
    stage.kind = stage.kind == StageLoad::Kind::kClosed ? stage.kind : StageLoad::Kind::kRecorded;
  }
  require_load(evidence);
  return evidence;
}

// inference-perf.

Evidence read_inference_perf(const core::Node& node) {
  Evidence evidence;
  evidence.family = "inference-perf";
  evidence.generator = "inference-perf";
  evidence.id = "lifecycle metrics";
  evidence.stage = "0";
  const core::Node* latency = at_path(node, "successes.latency");
  struct Name {
    Figure figure;
    std::string_view key;
  };
  static constexpr auto kNames = std::to_array<Name>({{Figure::kE2e, "request_latency"},
                                                      {Figure::kTtft, "time_to_first_token"},
                                                      {Figure::kTpot, "time_per_output_token"}});
  static constexpr std::array<std::string_view, kNumLevels> kKeys = {
      "mean", "median", "p90", "p99"};
  for (const auto& name : kNames) {
    for (std::size_t level = 0; latency != nullptr && level < kNumLevels; ++level) {
      const auto value = number_at_path(*latency, fmt::format("{}.{}", name.key, kKeys[level]));
      if (value && *value > 0.0) {
        evidence.measured.at(name.figure, static_cast<Level>(level)) =
            *value * kMillisecondsPerSecond;
      }
    }
  }
  const double requests = number_at_path(node, "successes.count").value_or(0.0);
  const double seconds = number_at_path(node, "load_summary.send_duration").value_or(0.0);
  evidence.offered_per_s = number_at_path(node, "load_summary.requested_rate");
  evidence.completed_per_s = number_at_path(node, "successes.throughput.requests_per_sec");
  evidence.measured.at(Figure::kOutputThroughput, Level::kMean) =
      number_at_path(node, "successes.throughput.output_tokens_per_sec");
  evidence.stages.push_back(open_load(requests, seconds, StageLoad::Kind::kRandom));
  evidence.input = about(number_at_path(node, "successes.prompt_len.mean").value_or(0.0));
  evidence.output = about(number_at_path(node, "successes.output_len.mean").value_or(0.0));
  evidence.assumed.emplace_back("Poisson arrivals given their number, prompts that share nothing");
  require_load(evidence);
  if (evidence.problem.empty() && seconds <= 0.0) {
    evidence.problem = "load_summary.send_duration is missing";
  }
  return evidence;
}

// The original evaluator's file.

Evidence read_sweep_point(const core::Node& experiment,
                          const core::Node& point,
                          std::size_t number) {
  Evidence evidence;
  evidence.family = "evaluator";
  evidence.stage = fmt::format("{}", number);
  evidence.strategy = "poisson";
  const core::Node empty;
  const core::Node* server = member_at(experiment, "vllm_config");
  const core::Node* load = member_at(experiment, "workload_config");
  server = server == nullptr ? &empty : server;
  load = load == nullptr ? &empty : load;
  const auto text = [&](std::string_view key, std::string_view other) {
    const std::string own = text_at(experiment, key);
    return own.empty() ? text_at(*server, other) : own;
  };
  evidence.model = text("model", "model");
  evidence.gpu = text("gpu", "gpu");
  const double rate = number_at(point, "qps").value_or(0.0);
  evidence.id = fmt::format("{} {} at {}/s", text("name", "name"), evidence.model, rate);
  evidence.tensor_parallel = std::max<std::int64_t>(
      1, count_at(*server, "tensor_parallel_size").value_or(count_at(*server, "tp").value_or(1)));
  evidence.server.max_num_seqs = count_at(*server, "max_num_seqs");
  evidence.server.max_num_batched_tokens = count_at(*server, "max_num_batched_tokens");
  evidence.server.max_model_len = count_at(*server, "max_model_len");
  evidence.server.block_size = count_at(*server, "block_size");
  evidence.server.num_gpu_blocks = count_at(experiment, "total_kv_blocks");
  const auto set = [&](Figure figure, Level level, std::string_view key) {
    const auto value = number_at(point, key);
    if (value && *value > 0.0) {
      evidence.measured.at(figure, level) = value;
    }
  };
  set(Figure::kTtft, Level::kMean, "ttft_mean_ms");
  set(Figure::kTtft, Level::kP90, "ttft_p90_ms");
  set(Figure::kItl, Level::kMean, "itl_mean_ms");
  set(Figure::kE2e, Level::kMean, "e2e_mean_ms");
  set(Figure::kE2e, Level::kP90, "e2e_p90_ms");
  const auto first = [&](auto... keys) {
    std::optional<double> found;
    ((found = found ? found : number_at(*load, keys)), ...);
    return found.value_or(0.0);
  };
  evidence.input =
      about(first("input_len", "input_len_mean", "prompt_tokens", "prompt_tokens_mean", "isl"));
  evidence.output =
      about(first("output_len", "output_len_mean", "output_tokens", "output_tokens_mean", "osl"));
  double requests = first("num_requests", "num_prompts");
  constexpr double kRequestsPerPoint = 1000.0;
  if (requests <= 0.0) {
    requests = kRequestsPerPoint;
    evidence.assumed.emplace_back("1000 requests at each rate");
  }
  if (rate <= 0.0) {
    evidence.problem = "qps is missing";
    return evidence;
  }
  evidence.stages.push_back(open_load(requests, requests / rate, StageLoad::Kind::kRandom));
  evidence.stages.front().name = evidence.stage;
  require_load(evidence);
  return evidence;
}

std::vector<Evidence> read_evaluator(const core::Node& document) {
  std::vector<Evidence> all;
  for (const auto& experiment : member_at(document, "experiments")->items()) {
    const core::Node* sweeps = member_at(experiment, "qps_sweeps");
    if (sweeps == nullptr || !sweeps->is_list() || sweeps->items().empty()) {
      Evidence evidence;
      evidence.family = "evaluator";
      evidence.id = fmt::format("experiment {}", all.size());
      evidence.problem = "qps_sweeps is missing";
      all.push_back(std::move(evidence));
      continue;
    }
    for (std::size_t i = 0; i < sweeps->items().size(); ++i) {
      all.push_back(read_sweep_point(experiment, sweeps->items()[i], i));
    }
  }
  return all;
}

bool has_list(const core::Node& document, std::string_view key) {
  const core::Node* found = member_at(document, key);
  return found != nullptr && found->is_list();
}

}  // namespace

ResultKind kind_of_result(const core::Node& document) {
  if (has_list(document, "benchmarks")) {
    return ResultKind::kGuidellm;
  }
  if (has_list(document, "experiments")) {
    return ResultKind::kEvaluator;
  }
  if (member_at(document, "load_summary") != nullptr &&
      member_at(document, "successes") != nullptr) {
    return ResultKind::kInferencePerf;
  }
  if (number_at(document, "completed") &&
      (number_at(document, "mean_ttft_ms") || number_at(document, "output_throughput"))) {
    return ResultKind::kVllmBench;
  }
  return ResultKind::kUnknown;
}

std::vector<Evidence> read_benchmark_result(const core::Node& document, ResultKind kind) {
  switch (kind) {
    case ResultKind::kVllmBench:
      return {read_vllm_bench(document)};
    case ResultKind::kInferencePerf:
      return {read_inference_perf(document)};
    case ResultKind::kEvaluator:
      return read_evaluator(document);
    case ResultKind::kGuidellm: {
      std::vector<Evidence> all;
      const auto& benchmarks = member_at(document, "benchmarks")->items();
      for (std::size_t i = 0; i < benchmarks.size(); ++i) {
        all.push_back(read_guidellm_benchmark(benchmarks[i], i));
      }
      return all;
    }
    case ResultKind::kUnknown:
      break;
  }
  return {};
}

}  // namespace ridgeline::sim::validate
