#pragma once

#include <optional>
#include <string>
#include <vector>

#include "document/document.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/result_document.hpp"

/// The result files of each benchmark client. A file says how a server was loaded and what came of
/// it; the server comes from the scenario given beside it. `path` is where a file with one record a
/// request is looked for.
namespace ridgeline::evidence::validate {

/// Reads results of `vllm bench serve`, and of SGLang's bench_serving, which writes much the same.
[[nodiscard]] Evidence read_vllm_bench(const document::Node& node);
[[nodiscard]] std::vector<Evidence> read_guidellm(const document::Node& document);
[[nodiscard]] Evidence read_inference_perf(const document::Node& node, const std::string& path);
/// per_request_lifecycle_metrics.json: a list, one item a request.
[[nodiscard]] bool is_inference_perf_requests(const document::Node& document);
[[nodiscard]] Evidence read_inference_perf_requests(const document::Node& document);
[[nodiscard]] Evidence read_aiperf(const document::Node& node, const std::string& path);
/// Whether a document is a line of profile_export.jsonl; and the run of all of them.
[[nodiscard]] bool is_aiperf_request(const document::Node& record);
[[nodiscard]] Evidence read_aiperf_requests(const std::vector<ResultLine>& lines);

/// Whether a document is the first line of a record of `ridgeline observe`; and the run of all its
/// lines, with the server that its flags described.
[[nodiscard]] bool is_observed(const document::Node& record);
[[nodiscard]] Evidence read_observed(const std::vector<ResultLine>& lines);

/// What the server sampled with, where a file says so ("generation_config", which
/// `--client-results` writes).
[[nodiscard]] std::optional<std::string> sampling_of(const document::Node& document);

}  // namespace ridgeline::evidence::validate
