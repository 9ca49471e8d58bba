#include "sim/driver.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/time.hpp"
#include "domain/record.hpp"
#include "engine/frontend.hpp"
#include "engine/options.hpp"
#include "engine/server.hpp"
#include "metrics/request_metrics.hpp"

namespace ridgeline::sim {
namespace {

using core::SimTime;
using engine::Pause;

/// Segments between two looks at the clock and the interrupt flag: milliseconds of work.
constexpr std::int64_t kSegmentsPerCall = 1024;
/// Requests of an open loop that are sent ahead of time, together, for each instance.
constexpr std::int64_t kSentAhead = 64;
/// Calls of advance() between two progress reports: each costs a look at a clock.
constexpr std::int64_t kRoundsPerReport = 8;

metrics::RequestLatency latency_of(const engine::RequestPath& path,
                                   const domain::RequestRecord& record) {
  if (!metrics::completed(record.outcome)) {
    // A refusal travels back like a first token; nothing else of such a request is read.
    metrics::RequestLatency refusal;
    if (record.outcome != domain::Outcome::kUnfinished) {
      const core::SimTime told =
          record.failed != core::SimTime::never() ? record.failed : record.queued;
      refusal.client_end = told + path.emit + path.deliver;
    }
    return refusal;
  }
  const engine::PathTimes times = engine::path_times(path, record);
  return {.client_ttft = times.client_ttft,
          .client_e2e = times.client_e2e,
          .server_ttft = times.server_ttft,
          .server_e2e = times.server_e2e,
          .client_end = times.client_end};
}

}  // namespace

Driver::Driver(const DriverInputs& inputs)
    : inputs_(inputs),
      source_(inputs.source),
      recorder_(inputs.recorder),
      closed_loop_(inputs.source.is_closed_loop()) {}

Driver::End Driver::run(engine::Server& server) {
  recorder_.start(source_.next_arrival().value_or(SimTime()));
  const End end = run_to_end(server);
  if (end == End::kInterrupted) {
    server.drop_all();
  }
  record_ended();
  return end;
}

Driver::End Driver::run_to_end(engine::Server& server) {
  bool wants_more = !closed_loop_;
  while (!interrupted()) {
    if (wants_more) {
      send_ahead(server);
    }
    const SimTime next = next_event();
    const Pause pause = server.advance(next, closed_loop_, kSegmentsPerCall);
    report_progress(server.now(), pause == Pause::kBudget);
    if (pause == Pause::kHorizon) [[unlikely]] {
      return End::kPastHorizon;
    }
    // An open loop sends more once the server has done what it was sent.
    wants_more = !closed_loop_ && pause != Pause::kBudget;
    if (pause == Pause::kBudget || pause == Pause::kCompletion) {
      continue;
    }
    if (next == SimTime::never()) {
      // A request that would be sent after the end of simulated time is left over.
      return source_.next_arrival() ? End::kPastHorizon : End::kComplete;
    }
    if (closed_loop_) {
      send_due(server, next);
    }
    if (!cancellations_.empty()) [[unlikely]] {
      // Requests are sent ahead again when those that were have been sent.
      wants_more = wants_more && next >= source_.next_arrival().value_or(SimTime::never());
      cancel_due(server, next);
    }
  }
  return End::kInterrupted;
}

bool Driver::interrupted() const {
  return inputs_.interrupt != nullptr && inputs_.interrupt->load(std::memory_order_relaxed);
}

/// An open loop's requests are known whatever the server does, so that it may run on to the arrival
/// of the first that it does not have.
void Driver::send_ahead(engine::Server& server) {
  const std::int64_t most = kSentAhead * inputs_.instances;
  for (std::int64_t i = 0; i < most && source_.next_arrival(); ++i) {
    send_next(server);
  }
}

/// A closed loop's request is taken when its time has come.
void Driver::send_due(engine::Server& server, SimTime now) {
  while (!completions_.empty() && completions_.top().first <= now) {
    const auto [time, id] = completions_.top();
    completions_.pop();
    source_.on_completion(id, time);
  }
  while (source_.next_arrival().value_or(SimTime::never()) <= now) {
    send_next(server);
  }
}

void Driver::send_next(engine::Server& server) {
  source_.pop_into(request_);
  if (request_.gives_up != SimTime::never()) [[unlikely]] {
    cancellations_.push({request_.gives_up, request_.id});
  }
  send(server, request_);
}

void Driver::send(engine::Server& server, const domain::Request& request) {
  if (inputs_.listener != nullptr) [[unlikely]] {
    inputs_.listener->on_arrival(request);
  }
  server.submit(request);
}

/// At equal instants, requests are sent first.
void Driver::cancel_due(engine::Server& server, SimTime now) {
  cancelled_ = now;
  for (; !cancellations_.empty() && cancellations_.top().first <= now; cancellations_.pop()) {
    server.abort(cancellations_.top().second, now);
  }
}

SimTime Driver::next_event() {
  SimTime next = source_.next_arrival().value_or(SimTime::never());
  if (!completions_.empty()) {
    next = std::min(next, completions_.top().first);
  }
  if (!cancellations_.empty()) [[unlikely]] {
    next = std::min(next, cancellations_.top().first);
  }
  return next;
}

void Driver::on_request(const domain::RequestRecord& record) {
  ++done_;
  if (closed_loop_) [[unlikely]] {
    note_completion(record);
  }
  if (inputs_.records != nullptr) [[unlikely]] {
    inputs_.records->on_request(record);
  }
  ended_[num_ended_++] = record;
  if (num_ended_ == ended_.size()) [[unlikely]] {
    record_ended();
  }
}

void Driver::on_steps(const domain::StepRecord& record) {
  recorder_.on_steps(record);
  if (inputs_.records != nullptr || inputs_.steps != nullptr) [[unlikely]] {
    hand_on(record);
  }
}

void Driver::hand_on(const domain::StepRecord& record) {
  if (inputs_.records != nullptr) {
    inputs_.records->on_steps(record);
  }
  if (inputs_.steps != nullptr) {
    inputs_.steps->on_segment(inputs_.watch->segment(record));
  }
}

void Driver::note_completion(const domain::RequestRecord& record) {
  if (record.outcome == domain::Outcome::kAborted && record.failed == SimTime::never()) {
    completions_.push({cancelled_, record.id});  // Its client is free as it gives up.
  } else if (record.outcome != domain::Outcome::kUnfinished) {
    completions_.push({latency_of(inputs_.path, record).client_end, record.id});
  }
}

void Driver::record_ended() {
  for (std::size_t i = 0; i < num_ended_; ++i) {
    recorder_.on_request(ended_[i], latency_of(inputs_.path, ended_[i]));
  }
  num_ended_ = 0;
}

void Driver::report_progress(SimTime now, bool at_once) {
  if (inputs_.progress && (at_once || ++rounds_ % kRoundsPerReport == 0)) {
    inputs_.progress({.now = now, .done = done_, .total = source_.size()});
  }
}

}  // namespace ridgeline::sim
