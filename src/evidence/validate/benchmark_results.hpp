#pragma once

#include <string>
#include <vector>

#include "document/document.hpp"
#include "evidence/validate/evidence.hpp"

/// Result files of load generators, and the original evaluator's. They say how a server was loaded
/// and what came of it, but not which server: that comes from the scenario given beside them.
namespace ridgeline::evidence::validate {

/// The kinds of files that one JSON document can be.
enum class ResultKind : std::uint8_t {
  kUnknown,
  kVllmBench,              ///< `vllm bench serve --save-result`, and SGLang's bench_serving.
  kGuidellm,               ///< A report with `benchmarks[]`.
  kInferencePerf,          ///< A lifecycle file with `load_summary` and `successes`.
  kInferencePerfRequests,  ///< A list of requests with `start_time` and `end_time`.
  kAiperf,                 ///< profile_export_aiperf.json.
  kEvaluator,  ///< `experiments[]` with `vllm_config`, `workload_config` and `qps_sweeps[]`.
};
[[nodiscard]] ResultKind kind_of_result(const document::Node& document);

/// The measured runs of such a file. Records that miss something say so in their problem. Where the
/// client writes one record a request to a second file, that is looked for beside `path`.
[[nodiscard]] std::vector<Evidence> read_benchmark_result(const document::Node& document,
                                                          ResultKind kind,
                                                          const std::string& path);

}  // namespace ridgeline::evidence::validate
