#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string_view>

#include "core/ids.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "domain/token_sink.hpp"
#include "engine/instance.hpp"
#include "engine/kv_events.hpp"
#include "engine/server.hpp"
#include "scenario/resolve.hpp"
#include "sim/live/arrival_log.hpp"
#include "sim/live/clock.hpp"
#include "sim/simulation.hpp"
#include "sim/wired_run.hpp"

namespace ridgeline::live {

/// What becomes of requests, as it happens on simulated time. Called from within the session's
/// functions, which must not be called from here.
class Events {
 public:
  virtual ~Events() = default;
  /// As domain::TokenSink::on_tokens().
  virtual void on_tokens(core::SimTime end, std::span<const domain::TokenEvent> events) = 0;
  /// A request has ended, in whatever way.
  virtual void on_end(const domain::RequestRecord& record) = 0;
  virtual void on_steps(const domain::StepRecord& record) = 0;
  /// The instance, one of several, that a request goes to. Before its tokens.
  virtual void on_place(core::RequestId request, core::InstanceId instance) {
    static_cast<void>(request);
    static_cast<void>(instance);
  }
};

/// A deployment that serves requests as they come, by a clock. Its law: a replay of the arrival log
/// under the same scenario gives the same digest, whatever the clock showed when. It holds because
/// a request's or a cancellation's simulated time is given here, once, later than all before it and
/// than everything simulated so far, and is all that the simulation knows of when it came. One
/// thread.
class Session {
 public:
  /// `resolved`, `clock`, `events` and what the controls point to outlive it; `log` may be null.
  /// Their tokens, records, decisions and is_pushed are set here. Fails as sim::simulate() does
  /// before its first request.
  [[nodiscard]] static core::Result<std::unique_ptr<Session>> open(
      const scenario::Resolved& resolved,
      Clock& clock,
      Events& events,
      std::unique_ptr<ArrivalLog> log,
      sim::RunControls controls = {});
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  /// A request has come at `came` on the clock: its id and its arrival are given here, `came` where
  /// nothing later is simulated yet; `adapter` is the name of request.lora. Its prompt may hold
  /// answers of requests before it (domain::output_content).
  core::RequestId submit(domain::Request request,
                         core::SimTime came,
                         std::string_view adapter = {});
  /// Submits a request that comes now.
  core::RequestId submit(domain::Request request, std::string_view adapter = {}) {
    return submit(std::move(request), clock_.now(), adapter);
  }
  /// The client of a request cancels it now. One that has ended stays as it is.
  void abort(core::RequestId id);
  /// Simulates what has happened by now.
  void advance();
  /// When something happens next, unless something comes before: never() where nothing is left.
  [[nodiscard]] core::SimTime next_instant() const;
  /// Whether the run has reached the end of simulated time: nothing happens any more.
  [[nodiscard]] bool is_over() const { return is_over_; }

  /// The simulated time of the last request or cancellation.
  [[nodiscard]] core::SimTime last_stamp() const { return last_stamp_; }
  /// How many requests have come: the id of the next one.
  [[nodiscard]] std::int64_t num_requests() const { return num_requests_; }
  /// As engine::Server, now.
  [[nodiscard]] engine::InstanceState state();
  [[nodiscard]] engine::EngineTotals totals() { return run_->server().totals(); }
  /// State of one instance among several.
  [[nodiscard]] engine::InstanceState state_of(core::InstanceId instance) const;
  [[nodiscard]] engine::EngineTotals totals_of(core::InstanceId instance) const;

  /// The listener of the controls gets the requests that have ended so far.
  void hand_over() { run_->driver().end(); }
  /// Writes the log as far as it goes; false where it could not be written.
  bool flush_log() { return log_ == nullptr || log_->flush(); }
  /// Why the log, of a session that has one, is no longer written.
  [[nodiscard]] std::string log_problem() const { return log_->problem(); }
  /// Simulates to the end of all that has come, at once, and sums up. Once, the last call.
  [[nodiscard]] core::Result<sim::RunOutcome> finish();

 private:
  class Requests;
  class Watcher;

  Session(Clock& clock, std::unique_ptr<ArrivalLog> log, Events& events);

  core::SimTime stamp(core::SimTime came);
  void advance_to(core::SimTime limit);

  Clock& clock_;
  std::unique_ptr<ArrivalLog> log_;
  std::unique_ptr<Requests> requests_;
  std::unique_ptr<Watcher> watcher_;
  std::unique_ptr<sim::WiredRun> run_;
  core::SimTime last_stamp_;
  core::SimTime reached_;  ///< Everything before it is simulated.
  std::int64_t num_requests_ = 0;
  bool is_over_ = false;
};

}  // namespace ridgeline::live
