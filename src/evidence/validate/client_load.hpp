#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/evidence_limits.hpp"

/// What the readers of load generators' results share: the load of a run, from its totals or from
/// its single requests.
namespace ridgeline::evidence::validate {

inline constexpr double kMillisecondsPerSecond = 1e3;

/// Every request of about this length.
[[nodiscard]] TokenCounts about(double mean);
/// `requests` over so many seconds; or by so many clients that wait for their answers.
[[nodiscard]] StageLoad open_load(double requests, double seconds, StageLoad::Kind kind);
[[nodiscard]] StageLoad closed_load(double requests, double clients);

/// A single request as a file states it.
struct ClientRequest {
  std::string start_place;   ///< Where its start stands: "start_times[3]", "line 7: start_time".
  std::string problem = {};  ///< Its first field that cannot be read; empty where all can.
  double start_s = 0.0;
  double input_tokens = 0.0;
  double output_tokens = 0.0;
  std::optional<double> ttft_ms = {};
  std::optional<double> e2e_ms = {};
  std::optional<double> tpot_ms = {};
};

/// What a number of a request may be.
struct Allowed {
  double lowest = 0.0;
  double highest = 0.0;
};
/// Prompts and answers.
inline constexpr Allowed kAllowedTokens{.lowest = 1.0, .highest = kMostTokens};
inline constexpr Allowed kAllowedTime{.lowest = 0.0, .highest = std::numeric_limits<double>::max()};
/// Clocks start anywhere: only the distance from the other requests is limited, later.
inline constexpr Allowed kAnyTime{.lowest = std::numeric_limits<double>::lowest(),
                                  .highest = std::numeric_limits<double>::max()};

/// The number at `place` of a file ("input_lens[5]"). Where it is missing (nullptr) or not allowed,
/// `problem` says so, unless it holds something already, and the number is 0.
[[nodiscard]] double read_number(const document::Node* node,
                                 const std::string& place,
                                 const Allowed& allowed,
                                 std::string& problem);

/// A statistic that a file states; nothing where it has none, or 0: a client's word for "none". One
/// that is there and no number is noted in the record's `doubts`.
[[nodiscard]] std::optional<double> read_statistic(const document::Node& node,
                                                   std::string_view path,
                                                   Evidence& evidence);

/// Without the requests that have a problem, or start too far from the median of all. The first of
/// them is named in the record's `left_out`; where none is sound, in its `problem`.
[[nodiscard]] std::vector<ClientRequest> sound_requests(std::vector<ClientRequest> requests,
                                                        Evidence& evidence);
/// Replays sound requests instead of what the totals say, each at its own instant where the stage
/// is no closed loop.
void replay_requests(std::vector<ClientRequest> requests, Evidence& evidence, StageLoad& stage);
/// replay_requests() where `requests` are all that the totals count, `counted`. `place` is the file
/// or field that holds them. Where they cannot be read or are not as many, the record's `doubts`
/// say so, and its totals stand.
void replay_if_complete(const std::string& place,
                        core::Result<std::vector<ClientRequest>> requests,
                        double counted,
                        Evidence& evidence,
                        StageLoad& stage);
/// A run of which nothing else is known than its requests: `run` has the client's own facts.
[[nodiscard]] Evidence run_of_requests(Evidence run, std::vector<ClientRequest> requests);
/// The levels of one figure from all its values, in milliseconds; none of none.
void fill_times(Figure figure, std::vector<double> times, Figures& figures);
/// Statistics of what single requests measured.
[[nodiscard]] Figures figures_of_requests(const std::vector<ClientRequest>& requests);

/// Notes completed requests by the run's duration, as the client has them, and the rate that the
/// server kept up: a run ends an answer's time after its last request, which is no sign of
/// overload. That time is the mean E2E of `evidence`, or what its TTFT and TPOT make of an answer
/// of the mean length.
void note_throughput(double requests, std::optional<double> per_second, Evidence& evidence);

/// How long a request was inside on average, in seconds: the mean E2E, or what the mean TTFT and
/// TPOT make of an answer of the mean length.
[[nodiscard]] std::optional<double> mean_answer_seconds(const Evidence& evidence);

/// Leaves the time per token out where it misses the mean E2E by far: TTFT and a time for each
/// further token make up a mean answer. Clients have counted chunks twice.
void doubt_token_times(Evidence& evidence, std::optional<double> gap_ms = {});

/// Notes that the file holds no single requests, so that all are of the mean length.
void assume_mean_lengths(const std::string& why, Evidence& evidence);

/// Notes in `problem` what a record must have and lacks.
void require_load(Evidence& evidence);

}  // namespace ridgeline::evidence::validate
