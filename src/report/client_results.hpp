#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/document.hpp"
#include "core/result.hpp"
#include "domain/record.hpp"
#include "metrics/request_metrics.hpp"
#include "report/run_result.hpp"

namespace ridgeline::report {

/// Keeps what benchmark clients report of single requests: 80 bytes each.
class ClientResults final : public metrics::Listener {
 public:
  void on_request(const domain::RequestRecord& record,
                  const metrics::RequestMetrics& metrics) override;

  /// One request on the client's clock, in seconds.
  struct Row {
    double start = 0.0;
    bool completed = false;
    std::int64_t input_tokens = 0;
    std::int64_t output_tokens = 0;
    double ttft = 0.0;
    double e2e = 0.0;
    std::optional<double> tpot;  ///< (e2e - ttft) / (output - 1).
  };
  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }

 private:
  std::vector<Row> rows_;
};

/// A file that a benchmark client of this name would have written of the run, so that a simulated
/// and a measured one lie side by side in the user's own scripts. Definitions follow each client:
///
/// vllm-bench      `vllm bench serve`: TPOT (e2e - ttft) / (out - 1), milliseconds, ITL pooled
/// guidellm        version 2: TPOT (last token - start) / out, which holds TTFT; ITL per request
/// inference-perf  summary_lifecycle_metrics.json: seconds, TPOT (last - first) / (out - 1), and
///                 normalized e2e / out
struct ClientFormat {
  std::string_view name;
  std::string_view schema;  ///< In data/schemas.
  core::Node (*render)(const RunResult& result, const std::vector<ClientResults::Row>& rows);
};
[[nodiscard]] const std::vector<ClientFormat>& client_formats();
[[nodiscard]] core::Result<const ClientFormat*> find_client_format(std::string_view name);

}  // namespace ridgeline::report
