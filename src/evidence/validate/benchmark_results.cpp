#include "evidence/validate/benchmark_results.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "document/document.hpp"
#include "evidence/validate/client_load.hpp"
#include "evidence/validate/client_readers.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/loose_node.hpp"

namespace ridgeline::evidence::validate {
namespace {

// The original evaluator's file.

Evidence read_sweep_point(const document::Node& experiment,
                          const document::Node& point,
                          std::size_t number) {
  Evidence evidence;
  evidence.family = "evaluator";
  evidence.stage = fmt::format("{}", number);
  evidence.strategy = "poisson";
  const document::Node empty;
  const document::Node* server = member_at(experiment, "vllm_config");
  const document::Node* load = member_at(experiment, "workload_config");
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

std::vector<Evidence> read_evaluator(const document::Node& document) {
  std::vector<Evidence> all;
  for (const auto& experiment : member_at(document, "experiments")->items()) {
    const document::Node* sweeps = member_at(experiment, "qps_sweeps");
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

bool has_list(const document::Node& document, std::string_view key) {
  const document::Node* found = member_at(document, key);
  return found != nullptr && found->is_list();
}

}  // namespace

ResultKind kind_of_result(const document::Node& document) {
  if (is_inference_perf_requests(document)) {
    return ResultKind::kInferencePerfRequests;
  }
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
  if (member_at(document, "input_config") != nullptr &&
      (member_at(document, "request_latency") != nullptr ||
       member_at(document, "records") != nullptr)) {
    return ResultKind::kAiperf;
  }
  if (number_at(document, "completed") &&
      (document.find("mean_ttft_ms") != nullptr || number_at(document, "output_throughput"))) {
    return ResultKind::kVllmBench;
  }
  return ResultKind::kUnknown;
}

bool is_inference_perf_requests(const document::Node& document) {
  return document.is_list() &&
         std::ranges::any_of(document.items(), [](const document::Node& item) {
           return item.find("start_time") != nullptr && item.find("end_time") != nullptr;
         });
}

std::optional<std::string> sampling_of(const document::Node& document) {
  const std::string sampling = text_at(document, "generation_config");
  return sampling == "auto" || sampling == "vllm" ? std::optional(sampling) : std::nullopt;
}

std::vector<Evidence> read_benchmark_result(const document::Node& document,
                                            ResultKind kind,
                                            const std::string& path) {
  switch (kind) {
    case ResultKind::kVllmBench:
      return {read_vllm_bench(document)};
    case ResultKind::kInferencePerf:
      return {read_inference_perf(document, path)};
    case ResultKind::kInferencePerfRequests:
      return {read_inference_perf_requests(document)};
    case ResultKind::kAiperf:
      return {read_aiperf(document, path)};
    case ResultKind::kEvaluator:
      return read_evaluator(document);
    case ResultKind::kGuidellm:
      return read_guidellm(document);
    case ResultKind::kUnknown:
      break;
  }
  return {};
}

}  // namespace ridgeline::evidence::validate
