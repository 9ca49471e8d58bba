#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/check.hpp"
#include "core/time.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "metrics/slo.hpp"

namespace ridgeline::metrics {

/// When a request's tokens and its end reach the client and leave the server. The caller derives
/// these times from the record, because the way between engine and client is not known here.
struct RequestLatency {
  core::Duration client_ttft;
  core::Duration client_e2e;
  core::Duration server_ttft;
  core::Duration server_e2e;
  core::SimTime client_end;  ///< When the client has the whole answer.
};

/// What is measured on one request; nothing where the request has no such number. All but the queue
/// time exist only for completed requests.
struct RequestMetrics {
  std::optional<core::Duration> queue_time;  ///< First scheduled minus queued, the engine's clock.
  std::optional<core::Duration> ttft;        ///< The client's clock, like the next two.
  /// (e2e - ttft) / (output tokens - 1), rounded half away from zero to a picosecond: the
  /// definition of vLLM's `bench serve`. Nothing for a single token.
  std::optional<core::Duration> tpot;
  std::optional<core::Duration> e2e;
  std::optional<core::Duration> server_ttft;
  std::optional<core::Duration> server_tpot;  ///< As tpot, from the server's e2e and ttft.
  std::optional<core::Duration> server_e2e;
  /// Mean of the request's own inter-token gaps: (last token - first token) / (output tokens - 1).
  std::optional<core::Duration> mean_gap;

  friend bool operator==(const RequestMetrics&, const RequestMetrics&) = default;
};

/// Whether the client got an answer: a generation cut by max_model_len is one (finish_reason
/// "length").
[[nodiscard]] constexpr bool completed(domain::Outcome outcome) {
  return outcome == domain::Outcome::kFinished || outcome == domain::Outcome::kLengthCapped;
}

/// Measures one request; of one that did not complete, `latency` is not read. Requires
/// 0 <= ttft <= e2e on both clocks (checked).
[[nodiscard]] RequestMetrics measure(const domain::RequestRecord& record,
                                     const RequestLatency& latency);

/// Requires 0 <= ttft <= e2e on both clocks (checked).
inline void check_latency(const RequestLatency& latency) {
  RIDGELINE_CHECK(
      latency.client_ttft >= core::Duration() && latency.client_e2e >= latency.client_ttft &&
          latency.server_ttft >= core::Duration() && latency.server_e2e >= latency.server_ttft,
      "a token before its request, or an end before its beginning");
}

/// span / gaps, rounded half away from zero, for a span that is not negative and gaps >= 1.
[[nodiscard]] inline core::Duration mean_of_gaps(core::Duration span, std::int64_t gaps) {
  // A division of doubles takes a fraction of the time of one of 64-bit integers. Where the span is
  // exact as a double, the rounded quotient is at most one off.
  constexpr std::int64_t kExact = std::int64_t{1} << 53;
  const std::int64_t ticks = span.count();
  std::int64_t quotient =
      ticks < kExact
          ? static_cast<std::int64_t>(static_cast<double>(ticks) / static_cast<double>(gaps))
          : ticks / gaps;
  std::int64_t remainder = ticks - quotient * gaps;
  if (remainder < 0) {
    --quotient;
    remainder += gaps;
  }
  return core::Duration::ticks(quotient + (remainder >= gaps - remainder ? 1 : 0));
}

/// RequestMetrics::tpot of a completed request.
[[nodiscard]] inline std::optional<core::Duration> tpot_of(const domain::RequestRecord& record,
                                                           const RequestLatency& latency) {
  const std::int64_t gaps = record.output_tokens.value() - 1;
  return gaps > 0 ? std::optional(mean_of_gaps(latency.client_e2e - latency.client_ttft, gaps))
                  : std::nullopt;
}

/// Whether a completed request is within each limit. A latency that it does not have is.
[[nodiscard]] inline std::array<bool, kNumMetrics> within_limits(const SloTargets& slo,
                                                                 const RequestMetrics& metrics) {
  const std::array<std::optional<core::Duration>, kNumMetrics> values = {
      metrics.ttft, metrics.tpot, metrics.mean_gap, metrics.e2e};
  std::array<bool, kNumMetrics> within{};
  for (std::size_t m = 0; m < kNumMetrics; ++m) {
    within[m] = !slo.limits[m] || !values[m] || *values[m] <= *slo.limits[m];
  }
  return within;
}

/// Sees everything the recorder sees, as it happens: writers of per-request and per-step files.
class Listener {
 public:
  virtual ~Listener() = default;
  /// A request is on its way; in order of arrival, before on_request() of the same id.
  virtual void on_arrival(const domain::Request& request) { static_cast<void>(request); }
  virtual void on_request(const domain::RequestRecord& record, const RequestMetrics& metrics) = 0;
  /// Whether on_steps() is to be called: the engine then logs its steps.
  [[nodiscard]] virtual bool needs_steps() const { return false; }
  virtual void on_steps(const domain::StepRecord& record) { static_cast<void>(record); }
};

}  // namespace ridgeline::metrics
