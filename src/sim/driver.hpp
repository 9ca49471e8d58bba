#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/options.hpp"
#include "engine/server.hpp"
#include "metrics/recorder.hpp"
#include "metrics/request_metrics.hpp"
#include "sim/step_watch.hpp"
#include "workload/source.hpp"

namespace ridgeline::sim {

/// How far a run has come.
struct Progress {
  core::SimTime now;
  std::int64_t done = 0;              ///< Requests that have ended.
  std::optional<std::int64_t> total;  ///< Requests in all, when known.
};

/// What a driver connects. References and pointers outlive it.
struct DriverInputs {
  workload::Source& source;         ///< The clients: their requests, in order of arrival.
  const engine::RequestPath& path;  ///< From a record's instants to those that a client sees.
  metrics::Recorder& recorder;      ///< Gets every record, with the latencies of its request.
  std::int64_t instances = 1;       ///< Behind the server: so many more requests it takes at once.
  const std::atomic<bool>* interrupt = nullptr;  ///< Set: stop soon.
  std::function<void(const Progress&)> progress = {};
  metrics::Listener* listener = nullptr;  ///< Gets each request as it is sent.
  StepListener* steps = nullptr;          ///< Gets each logged step taken apart ...
  StepWatch* watch = nullptr;             ///< ... by this.
  domain::RecordSink* records = nullptr;  ///< Gets each record at once.
};

/// Drives a server through a workload: submits requests in the order in which clients send them,
/// and tells closed loops when their requests have ended. The server's record sink.
class Driver final : public domain::RecordSink {
 public:
  enum class End : std::uint8_t { kComplete, kInterrupted, kPastHorizon };

  explicit Driver(const DriverInputs& inputs);

  /// Until every request has ended, an interrupt, or the horizon. Once only.
  End run(engine::Server& server);
  /// For callers that drive the server themselves: sends a request that comes from outside, the
  /// first one after start().
  void start(core::SimTime first_arrival) { recorder_.start(first_arrival); }
  void send(engine::Server& server, const domain::Request& request);
  /// Hands over the records that are held back.
  void end() { record_ended(); }

  void on_request(const domain::RequestRecord& record) override;
  void on_steps(const domain::StepRecord& record) override;
  void on_token_gaps(const domain::TokenGaps& gaps) override {
    recorder_.on_token_gaps(gaps);
    if (inputs_.records != nullptr) [[unlikely]] {
      inputs_.records->on_token_gaps(gaps);
    }
  }

 private:
  using Completion = std::pair<core::SimTime, core::RequestId>;
  using Completions = std::priority_queue<Completion, std::vector<Completion>, std::greater<>>;

  End run_to_end(engine::Server& server);
  [[nodiscard]] bool interrupted() const;
  void send_ahead(engine::Server& server);
  void send_due(engine::Server& server, core::SimTime now);
  void send_next(engine::Server& server);
  void cancel_due(engine::Server& server, core::SimTime now);
  [[nodiscard]] core::SimTime next_event();
  [[gnu::noinline]] void hand_on(const domain::StepRecord& record);
  void note_completion(const domain::RequestRecord& record);
  void record_ended();
  void report_progress(core::SimTime now, bool at_once);

  /// Records that are handed to the recorder together: its code and the engine's do not fit into a
  /// core's first cache side by side, so that many in a row cost less.
  static constexpr std::size_t kRecordsTogether = 32;

  DriverInputs inputs_;
  workload::Source& source_;
  metrics::Recorder& recorder_;
  bool closed_loop_;
  domain::Request request_;  ///< Scratch: keeps its memory from one request to the next.
  std::array<domain::RequestRecord, kRecordsTogether> ended_;  ///< Not in the recorder yet.
  std::size_t num_ended_ = 0;
  /// Completions that a closed loop's clients do not know yet, by the time at which they will.
  Completions completions_;
  Completions cancellations_;  ///< Requests sent, by the time at which their clients give up.
  core::SimTime cancelled_;    ///< When clients gave up last.
  std::int64_t done_ = 0;
  std::int64_t rounds_ = 0;
};

}  // namespace ridgeline::sim
