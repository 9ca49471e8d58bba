#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "domain/record.hpp"
#include "metrics/request_metrics.hpp"
#include "scenario/rank_share.hpp"
#include "sim/logs/step_ends.hpp"
#include "verbs/run/run_result.hpp"

namespace ridgeline::verbs {

/// Keeps what benchmark clients report of single requests, and when steps ended.
class ClientResults final : public metrics::Listener {
 public:
  void on_request(const domain::RequestRecord& record,
                  const metrics::RequestMetrics& metrics) override;
  void on_steps(const domain::StepRecord& record) override { steps_.add(record); }
  [[nodiscard]] bool needs_steps() const override { return true; }

  /// One request on the client's clock, in seconds.
  struct Row {
    core::RequestId id;
    domain::Outcome outcome = domain::Outcome::kFinished;
    double start = 0.0;
    bool completed = false;
    std::int64_t input_tokens = 0;
    std::int64_t output_tokens = 0;
    double ttft = 0.0;
    double last_token = 0.0;         ///< Since the start, as the next.
    double e2e = 0.0;                ///< Until the server closes the stream.
    std::optional<double> mean_gap;  ///< (last_token - ttft) / (output_tokens - 1).
    core::SimTime first_step_end;    ///< End of the step that gave the first token, in the server.
    core::SimTime last_step_end;
    bool preempted = false;
    std::optional<std::size_t> gaps = {};  ///< The place of its gaps, where they are known.
  };
  /// A request as a client has measured it, and what lies between its events, in seconds.
  void add(Row row, std::vector<double> gaps);
  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
  /// Puts the rows, which come as requests end, in the order in which these were sent: of those
  /// sent at once, the first is served first.
  void put_in_order();
  /// Once in order, and where they are those of one of several data-parallel ranks: makes them the
  /// deployment's, as far as its number of requests is known. The other ranks are loaded alike, so
  /// each row stands once for every request that went to the ranks in its turn.
  void stand_for_all(const scenario::RankShare& share, std::optional<std::int64_t> requests);

  /// Leaves out requests of a warm-up, sent before so many seconds.
  void leave_out_before(double seconds);

  /// The gaps between what the client receives of a request, in seconds: one a step, as a client
  /// sees no more than one event of each. The steps of preempted requests and of pipelines, which
  /// work for others in between, do not say which were this request's: its mean gap then stands
  /// for each.
  [[nodiscard]] std::vector<double> gaps_of(const Row& row) const;

 private:
  std::vector<Row> rows_;
  std::vector<std::vector<double>> gaps_;
  sim::StepEnds steps_;
};

/// The result as a client sees it: of the whole deployment, where the summary is of one of several
/// data-parallel ranks. `results` stand for all ranks then.
[[nodiscard]] RunResult seen_by_client(const RunResult& result, const ClientResults& results);

/// A file that a benchmark client of this name would have written of the run, so that a simulated
/// and a measured one lie side by side in the user's own scripts, and so that `validate` and
/// `calibrate` read it back. Definitions follow each client:
///
/// vllm-bench      `vllm bench serve`: E2EL ends at the last token, TPOT (e2el - ttft) / (out - 1),
///                 milliseconds, ITL pooled
/// guidellm        version 2: TPOT (last token - start) / out, which holds TTFT; ITL per request
/// inference-perf  summary_lifecycle_metrics.json and per_request_lifecycle_metrics.json: seconds,
///                 TPOT (last - first) / (out - 1), and normalized e2e / out
/// aiperf          profile_export_aiperf.json and profile_export.jsonl: milliseconds, request
///                 latency and ITL (last - first) / (out - 1) end at the last token
struct ClientFormat {
  std::string_view name;
  std::string_view schema;  ///< In data/schemas.
  bool greedy = false;      ///< The client sends temperature 0 unless a flag sets another.
  std::string (*render)(const RunResult& result, const ClientResults& results) = nullptr;
  /// The client's second file, one record a request; nullptr where it has none.
  std::string (*render_requests)(const ClientResults& results) = nullptr;
};
[[nodiscard]] const std::vector<ClientFormat>& client_formats();
[[nodiscard]] core::Result<const ClientFormat*> find_client_format(std::string_view name);

}  // namespace ridgeline::verbs
