#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <vector>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "domain/record.hpp"
#include "domain/step.hpp"
#include "metrics/request_metrics.hpp"

namespace ridgeline::sim {

struct PerfettoOptions {
  core::SimTime from;                            ///< What ends before it is left out ...
  core::SimTime until = core::SimTime::never();  ///< ... and what begins at it or later.
  std::int64_t most_events = 1'000'000;          ///< At least 1.
  bool is_fleet = false;  ///< Requests pass a gateway on their way to an instance.
};

/// Keeps what happens in a run and writes it as a trace of Perfetto (ui.perfetto.dev) afterwards:
/// per instance a track of steps, lanes of requests (queued, prefill, decode) and counters; of a
/// fleet a gateway with each request's way to its instance. Of more than most_events events it
/// keeps those that begin first, whatever order they come in, and cuts all tracks at one instant.
/// Memory follows most_events. Times are nanoseconds, rounded down.
class PerfettoTrace final : public metrics::Listener {
 public:
  explicit PerfettoTrace(const PerfettoOptions& options) : options_(options) {}

  void on_request(const domain::RequestRecord& record,
                  const metrics::RequestMetrics& metrics) override;
  [[nodiscard]] bool needs_steps() const override { return true; }
  void on_steps(const domain::StepRecord& record) override;

  /// After the run.
  void settle();
  /// Where the trace is cut, known then; nothing where everything fits.
  [[nodiscard]] std::optional<core::SimTime> cut() const { return cut_; }
  /// The trace, in order of time; after settle().
  void write(std::ostream& out) const;

 private:
  /// A request's stretches; instants that it did not reach are never().
  struct Life {
    core::RequestId id;
    core::InstanceId instance;
    domain::Outcome outcome;
    std::int32_t preemptions;
    std::int64_t prompt_tokens;
    std::int64_t cached_tokens;
    std::int64_t output_tokens;
    core::SimTime arrival;
    core::SimTime queued;
    core::SimTime first_scheduled;
    core::SimTime first_token;
    core::SimTime end;
  };
  struct Steps {
    core::InstanceId instance;
    core::SimTime start;
    core::SimTime end;
    std::int64_t steps;
    std::int64_t decodes;
    std::int64_t prefills;
    std::int64_t prefill_tokens;
    std::int64_t kv_tokens;  ///< Whose KV the batch holds when the last step ends.
    domain::Bottleneck bottleneck;
  };
  class Writer;

  /// Whether a stretch is wanted so far.
  [[nodiscard]] bool is_in(core::SimTime begin, core::SimTime end) const;
  /// Where stretches end at the latest.
  [[nodiscard]] core::SimTime limit() const;
  /// Drops what begins too late for most_events.
  void keep_first();

  PerfettoOptions options_;
  std::int64_t events_ = 0;
  std::optional<core::SimTime> cut_;
  std::vector<Life> lives_;
  std::vector<Steps> steps_;
};

}  // namespace ridgeline::sim
