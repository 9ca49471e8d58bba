#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "evidence/validate/evidence.hpp"

/// The times of requests that vLLM sends to OpenTelemetry (spans `llm_request`), as a collector
/// writes them: one export a line, or one document.
namespace ridgeline::evidence::validate {

/// Milliseconds; what a span does not have is absent.
struct ServerSpan {
  double start_s = 0.0;  ///< Since the epoch.
  std::optional<double> ttft;
  std::optional<double> e2e;
  std::optional<double> queue;
  std::optional<double> prefill;
  std::optional<double> decode;
  double output_tokens = 0.0;
};

/// By the id that the client saw: "cmpl-1" of the span's "cmpl-1-0".
using ServerSpans = std::map<std::string, ServerSpan, std::less<>>;

[[nodiscard]] core::Result<ServerSpans> read_server_spans(const std::string& text,
                                                          const std::string& path);

/// Statistics of the spans; server_itl is the mean of all of them together.
[[nodiscard]] Figures figures_of_spans(const std::vector<const ServerSpan*>& spans);

}  // namespace ridgeline::evidence::validate
