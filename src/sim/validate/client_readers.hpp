#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/document.hpp"
#include "sim/validate/evidence.hpp"
#include "sim/validate/result_document.hpp"

/// The result files of each benchmark client. A file says how a server was loaded and what came of
/// it; the server comes from the scenario given beside it. `path` is where a file with one record a
/// request is looked for.
namespace ridgeline::sim::validate {

[[nodiscard]] Evidence read_vllm_bench(const core::Node& node);
[[nodiscard]] std::vector<Evidence> read_guidellm(const core::Node& document);
[[nodiscard]] Evidence read_inference_perf(const core::Node& node, const std::string& path);
/// per_request_lifecycle_metrics.json: a list, one item a request.
[[nodiscard]] bool is_inference_perf_requests(const core::Node& document);
[[nodiscard]] Evidence read_inference_perf_requests(const core::Node& document);
[[nodiscard]] Evidence read_aiperf(const core::Node& node, const std::string& path);
/// Whether a document is a line of profile_export.jsonl; and the run of all of them.
[[nodiscard]] bool is_aiperf_request(const core::Node& record);
[[nodiscard]] Evidence read_aiperf_requests(const std::vector<ResultLine>& lines);

/// What the server sampled with, where a file says so ("generation_config", which
/// `--client-results` writes).
[[nodiscard]] std::optional<std::string> sampling_of(const core::Node& document);

}  // namespace ridgeline::sim::validate
