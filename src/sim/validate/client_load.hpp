#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/document.hpp"
#include "sim/validate/evidence.hpp"

/// What the readers of load generators' results share: the load of a run, from its totals or from
/// its single requests.
namespace ridgeline::sim::validate {

inline constexpr double kMillisecondsPerSecond = 1e3;

/// Every request of about this length.
[[nodiscard]] TokenCounts about(double mean);
/// `requests` over so many seconds; or by so many clients that wait for their answers.
[[nodiscard]] StageLoad open_load(double requests, double seconds, StageLoad::Kind kind);
[[nodiscard]] StageLoad closed_load(double requests, double clients);

/// A single request as a file states it.
struct ClientRequest {
  std::string place;  ///< Where it stands: "start_times[3]", "line 7".
  double start_s = 0.0;
  double input_tokens = 0.0;
  double output_tokens = 0.0;
  std::optional<double> ttft_ms = {};
  std::optional<double> e2e_ms = {};
  std::optional<double> tpot_ms = {};
};

/// Replays the requests instead of what the totals say, each at its own instant where the stage is
/// no closed loop. A request out of range (its lengths, or its start from the median of all) is
/// left out, and the first of them is named in the record's `left_out`.
void replay_requests(std::vector<ClientRequest> requests, Evidence& evidence, StageLoad& stage);
/// Statistics of what single requests measured.
[[nodiscard]] Figures figures_of_requests(const std::vector<ClientRequest>& requests);

/// The rate that a server kept up, from what its clients saw: a run ends an answer's time after its
/// last request, which is no sign of overload. Nothing where the measurement lacks it.
[[nodiscard]] std::optional<double> sustained_rate(double requests,
                                                   std::optional<double> per_second,
                                                   std::optional<double> e2e_ms);

/// Notes in `problem` what a record must have and lacks.
void require_load(Evidence& evidence);

}  // namespace ridgeline::sim::validate
