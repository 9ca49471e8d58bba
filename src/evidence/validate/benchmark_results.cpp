#include "evidence/validate/benchmark_results.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "document/document.hpp"
#include "evidence/validate/client_readers.hpp"
#include "evidence/validate/evaluator.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/loose_node.hpp"

namespace ridgeline::evidence::validate {
namespace {

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
