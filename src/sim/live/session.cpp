#include "sim/live/session.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "cluster/cluster.hpp"
#include "cluster/decision.hpp"
#include "core/check.hpp"
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
#include "sim/driver.hpp"
#include "sim/live/arrival_log.hpp"
#include "sim/live/clock.hpp"
#include "sim/simulation.hpp"
#include "sim/wired_run.hpp"
#include "workload/source.hpp"

namespace ridgeline::live {
namespace {

constexpr core::Duration kTick = core::Duration::ticks(1);

}  // namespace

/// The clients, of which nothing is known before they come.
class Session::Requests final : public workload::Source {
 public:
  std::optional<core::SimTime> next_arrival() override { return std::nullopt; }
  domain::Request pop() override {
    RIDGELINE_CHECK(false, "requests of a session are sent, not pulled");
    return {};
  }
  [[nodiscard]] bool may_give_up() const override { return true; }
};

/// What the run reports, as the session hands it on.
class Session::Watcher final : public domain::TokenSink,
                               public domain::RecordSink,
                               public cluster::DecisionSink {
 public:
  Watcher(Events& events, ArrivalLog* log) : events_(events), log_(log) {}
  void on_tokens(core::SimTime end, std::span<const domain::TokenEvent> events) override {
    events_.on_tokens(end, events);
  }
  void on_request(const domain::RequestRecord& record) override {
    if (log_ != nullptr) {
      log_->end(record.id);
    }
    events_.on_end(record);
  }
  void on_steps(const domain::StepRecord& record) override { events_.on_steps(record); }
  void on_token_gaps(const domain::TokenGaps& gaps) override { static_cast<void>(gaps); }
  void on_decision(const cluster::Decision& decision) override {
    if (decision.pick.instance.valid()) {
      events_.on_place(decision.request, decision.pick.instance);
    }
  }

 private:
  Events& events_;
  ArrivalLog* log_;
};

Session::Session(Clock& clock, std::unique_ptr<ArrivalLog> log, Events& events)
    : clock_(clock),
      log_(std::move(log)),
      requests_(std::make_unique<Requests>()),
      watcher_(std::make_unique<Watcher>(events, log_.get())) {}

Session::~Session() = default;

core::Result<std::unique_ptr<Session>> Session::open(const scenario::Resolved& resolved,
                                                     Clock& clock,
                                                     Events& events,
                                                     std::unique_ptr<ArrivalLog> log,
                                                     sim::RunControls controls) {
  std::unique_ptr<Session> session(new Session(clock, std::move(log), events));
  controls.tokens = session->watcher_.get();
  controls.records = session->watcher_.get();
  controls.decisions = session->watcher_.get();
  controls.is_pushed = true;
  auto run = sim::WiredRun::make(resolved, *session->requests_, controls);
  if (!run) {
    return core::fail(run.error());
  }
  session->run_ = std::make_unique<sim::WiredRun>(std::move(*run));
  return session;
}

/// Later than every stamp before: the order of the log is the order of the simulation.
core::SimTime Session::stamp(core::SimTime came) {
  last_stamp_ = std::max({came, reached_, last_stamp_ + kTick});
  advance_to(last_stamp_);
  return last_stamp_;
}

void Session::advance_to(core::SimTime limit) {
  constexpr std::int64_t kAllSegments = std::numeric_limits<std::int64_t>::max();
  if (is_over_ || limit < reached_) {
    return;
  }
  is_over_ = run_->server().advance(limit, false, kAllSegments) == engine::Pause::kHorizon;
  reached_ = limit;
}

core::RequestId Session::submit(domain::Request request,
                                core::SimTime came,
                                std::string_view adapter) {
  request.arrival = stamp(came);
  request.id = core::RequestId(static_cast<core::RequestId::Rep>(num_requests_));
  if (num_requests_++ == 0) {
    run_->driver().start(request.arrival);
  }
  if (log_ != nullptr) {
    log_->arrive(request, adapter);
  }
  run_->driver().send(run_->server(), request);
  return request.id;
}

void Session::abort(core::RequestId id) {
  const core::SimTime at = stamp(clock_.now());
  if (log_ != nullptr) {
    log_->cancel(id, at);
  }
  run_->server().abort(id, at);
}

void Session::advance() {
  advance_to(std::max(clock_.now(), last_stamp_));
}

core::SimTime Session::next_instant() const {
  return is_over_ ? core::SimTime::never() : run_->server().next_instant();
}

engine::InstanceState Session::state() {
  return run_->server().state(reached_);
}

engine::InstanceState Session::state_of(core::InstanceId instance) const {
  return run_->cluster()->instances()[instance.value()]->state(reached_);
}

engine::EngineTotals Session::totals_of(core::InstanceId instance) const {
  return run_->cluster()->totals_of(instance);
}

core::Result<sim::RunOutcome> Session::finish() {
  advance_to(core::SimTime::never());
  run_->driver().end();
  flush_log();
  return run_->finish(is_over_ ? sim::Driver::End::kPastHorizon : sim::Driver::End::kComplete);
}

}  // namespace ridgeline::live
