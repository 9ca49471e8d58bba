#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "document/document.hpp"
#include "verbs/clients/client_results.hpp"
#include "verbs/run/run_result.hpp"

/// The files of each benchmark client, and what they are made of.
namespace ridgeline::verbs {

[[nodiscard]] std::string vllm_bench_result(const RunResult& result, const ClientResults& results);
[[nodiscard]] std::string guidellm_result(const RunResult& result, const ClientResults& results);
[[nodiscard]] std::string inference_perf_summary(const RunResult& result,
                                                 const ClientResults& results);
[[nodiscard]] std::string inference_perf_requests(const ClientResults& results);
[[nodiscard]] std::string aiperf_summary(const RunResult& result, const ClientResults& results);
[[nodiscard]] std::string aiperf_requests(const ClientResults& results);

inline constexpr double kMsPerSecond = 1e3;

/// The value of a dotted path in the resolved scenario, or nullptr; null counts as absent.
[[nodiscard]] const document::Node* setting(const RunResult& result, std::string_view path);
/// The value of setting(), or an empty text.
[[nodiscard]] document::Node setting_or_empty(const RunResult& result, std::string_view path);
/// The value of setting() as a number, or nothing.
[[nodiscard]] std::optional<double> number_setting(const RunResult& result, std::string_view path);

/// What the server sampled with where the client did not say: "auto" or "vllm" of the scenario. No
/// client has this key; `validate` and `calibrate` read it.
inline constexpr std::string_view kSamplingKey = "generation_config";
[[nodiscard]] document::Node sampling_setting(const RunResult& result);

/// One number of every completed request that has it, ascending.
template <class Of>
[[nodiscard]] std::vector<double> column(const ClientResults& results, Of of) {
  std::vector<double> values;
  for (const auto& row : results.rows()) {
    if (!row.completed) {
      continue;
    }
    if (const std::optional<double> value = of(row)) {
      values.push_back(*value);
    }
  }
  std::ranges::sort(values);
  return values;
}

struct Spread {
  double sum = 0.0;
  double mean = 0.0;
  double variance = 0.0;  ///< Population variance.
};
[[nodiscard]] Spread spread_of(const std::vector<double>& values);

using ClientRow = ClientResults::Row;
[[nodiscard]] inline std::optional<double> input_of(const ClientRow& row) {
  return static_cast<double>(row.input_tokens);
}
[[nodiscard]] inline std::optional<double> output_of(const ClientRow& row) {
  return static_cast<double>(row.output_tokens);
}
[[nodiscard]] inline std::optional<double> ttft_of(const ClientRow& row) {
  return row.ttft;
}
[[nodiscard]] inline std::optional<double> last_token_of(const ClientRow& row) {
  return row.last_token;
}
[[nodiscard]] inline std::optional<double> e2e_of(const ClientRow& row) {
  return row.e2e;
}
[[nodiscard]] inline std::optional<double> mean_gap_of(const ClientRow& row) {
  return row.mean_gap;
}

}  // namespace ridgeline::verbs
