// The lifecycle of instances, and what becomes of requests that lose theirs. Faults:
// cluster/operations_faults.cpp; updates: cluster/operations_updates.cpp.
#include "cluster/operations.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "cluster/faults/fault.hpp"
#include "cluster/gateway.hpp"
#include "cluster/part.hpp"
#include "cluster/scaling/cold_start.hpp"
#include "cluster/scaling/victim.hpp"
#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/rng.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"

namespace ridgeline::cluster {

using core::SimTime;

namespace {

core::InstanceId id_of(std::size_t place) {
  return core::InstanceId(static_cast<core::InstanceId::Rep>(place));
}

}  // namespace

Operations::Operations(Fleet& fleet, OperationsInputs inputs)
    : fleet_(fleet),
      inputs_(std::move(inputs)),
      lives_(fleet.num_instances()),
      faults_(inputs_.faults.listed()) {
  if (inputs_.places.empty()) {
    inputs_.places = {{.count = lives_.size(), .initial = inputs_.initial_instances}};
  }
  for (const Places& places : inputs_.places) {
    for (std::size_t place = 0; place < places.count; ++place) {
      const core::InstanceId id = id_of(places.first + place);
      if (static_cast<std::int64_t>(place) < places.initial) {
        life(id).was_used = true;
        become_ready(id, SimTime());
      } else {
        fleet_.gateway_of(id).set_ready(id, false, SimTime());
      }
    }
  }
  // Those by chance, behind them, are awaited as their instances become ready.
  for (std::size_t i = 0; i < inputs_.faults.listed().size(); ++i) {
    push(faults_[i].at, Step::kFault, faults_[i].instance, static_cast<std::int64_t>(i));
  }
  const std::int64_t per_host = inputs_.instances_per_host;
  const std::int64_t hosts = (std::ssize(lives_) + per_host - 1) / per_host;
  for (std::size_t which = 0; which < inputs_.faults.of_hosts().size(); ++which) {
    for (std::int64_t host = 0; host < hosts; ++host) {
      host_faults_.push_back({.which = which, .nth = 0, .next = {}});
      await_host_fault(std::ssize(host_faults_) - 1, host, SimTime());
    }
  }
  for (std::size_t i = 0; i < inputs_.updates.size(); ++i) {
    push(inputs_.updates[i].at, Step::kUpdate, {}, static_cast<std::int64_t>(i));
  }
}

void Operations::push(SimTime at, Step step, core::InstanceId instance, std::int64_t number) {
  agenda_.push({.at = at,
                .step = step,
                .instance = instance,
                .sequence = num_events_++,
                .life = instance.valid() ? life(instance).life : 0,
                .number = number});
}

SimTime Operations::next_instant() const {
  return agenda_.empty() ? SimTime::never() : agenda_.top().at;
}

void Operations::act(SimTime now) {
  seen_ = std::max(seen_, now);
  while (!agenda_.empty() && agenda_.top().at <= now) {
    const Event event = agenda_.top();
    agenda_.pop();
    const bool is_listed = event.step == Step::kFault &&
                           event.number < static_cast<std::int64_t>(inputs_.faults.listed().size());
    if (is_listed || !event.instance.valid() || life(event.instance).life == event.life) {
      handle(event, now);
    }
  }
  go_on_with_updates(now);
  // Every instance that comes back at this instant takes part.
  if (std::exchange(found_instances_, false)) {
    dispatch_held(now);
  }
}

void Operations::handle(const Event& event, SimTime now) {
  switch (event.step) {
    case Step::kLifecycle:
      move_on(event.instance, now);
      break;
    case Step::kFault:
      strike(event.number, now);
      break;
    case Step::kHostFault:
      strike_host(event.number, now);
      break;
    case Step::kFaultEnd:
      end_fault(event.instance, event.number, now);
      break;
    case Step::kHealthCheck:
      crash(event.instance, event.number, now);
      break;
    case Step::kDrained:
      become_gone(event.instance, now);
      break;
    case Step::kDrainTimeout:
      losing_update_ = update_of(event.instance);
      lose_requests(event.instance, -1, now);
      losing_update_ = -1;
      become_gone(event.instance, now);
      break;
    case Step::kUpdate:
      begin_update(event.number);
      break;
    case Step::kRetry:
      retry(core::RequestId(static_cast<core::RequestId::Rep>(event.number)), now);
      break;
  }
}

/// A new engine, without a cache.
void Operations::begin_start(core::InstanceId id, SimTime now) {
  Life& one = life(id);
  if (one.was_used) {
    fleet_.renew(id);
  }
  one.was_used = true;
  one.state = Lifecycle::kPending;
  core::RngStream draws(
      inputs_.seed, static_cast<std::uint64_t>(one.starts++), "cold start", id.value());
  const auto places =
      std::ranges::find_if(inputs_.places, [id](const Places& some) { return some.has(id); });
  one.start = scaling::start_times(places->cold_start.value_or(inputs_.cold_start), draws);
  push(SimTime::saturating_sum(now, one.start.pending), Step::kLifecycle, id);
}

void Operations::move_on(core::InstanceId id, SimTime now) {
  Life& one = life(id);
  if (one.state == Lifecycle::kPending) {
    one.state = Lifecycle::kLoading;
    push(SimTime::saturating_sum(now, one.start.loading), Step::kLifecycle, id);
  } else if (one.state == Lifecycle::kLoading) {
    one.state = Lifecycle::kWarming;
    push(SimTime::saturating_sum(now, one.start.warming), Step::kLifecycle, id);
  } else {
    become_ready(id, now);
  }
}

void Operations::become_ready(core::InstanceId id, SimTime now) {
  Life& one = life(id);
  one.state = Lifecycle::kReady;
  one.ready_since = now;
  close_report(one.down, now);
  fleet_.serve(id);
  fleet_.gateway_of(id).set_ready(id, true, now);
  await_fault(id, now);
  found_instances_ = true;
}

/// It serves no more: what was to happen to it is void.
void Operations::leave_ready(core::InstanceId id, SimTime now) {
  Life& one = life(id);
  one.ready += now - one.ready_since;
  ++one.life;
  fleet_.gateway_of(id).set_ready(id, false, now);
}

void Operations::become_gone(core::InstanceId id, SimTime now) {
  Life& one = life(id);
  close_report(one.down, now);
  close_report(one.slow, now);
  close_report(one.unread, now);
  hear_events(id, now);
  one.hangs = false;
  one.existed += now - one.created;
  one.state = Lifecycle::kGone;
  ++one.life;
  fleet_.stop(id, now);
  fleet_.gateway_of(id).forget(id);
}

void Operations::start(std::int64_t count, SimTime now, const Places& places) {
  for (std::size_t place = places.first; place < places.first + places.count && count > 0;
       ++place) {
    if (lives_[place].state == Lifecycle::kGone) {
      lives_[place].created = now;
      lives_[place].is_updated = is_updating(places);
      lives_[place].of_update = update_under_way(places) != nullptr;
      begin_start(id_of(place), now);
      --count;
    }
  }
  RIDGELINE_CHECK(count == 0, "no more instances are started than there are places for");
}

void Operations::scale(std::int64_t change, SimTime now, const Places& places) {
  if (const UpdateReport* const update = update_under_way(places); update != nullptr) {
    totals_.updates[static_cast<std::size_t>(update - totals_.updates.data())].replicas += change;
    go_on_with_updates(now);
  } else if (change > 0) {
    start(change, now, places);
  } else {
    retire(-change, now, places);
  }
}

void Operations::retire(std::int64_t count, SimTime now, const Places& places) {
  for (; count > 0; --count) {
    retire_one(now, places, [](const Life&) { return true; });
  }
}

void Operations::retire_one(SimTime now,
                            const Places& places,
                            const std::function<bool(const Life&)>& may_go) {
  std::vector<scaling::VictimCandidate> candidates;
  for (std::size_t place = places.first; place < places.first + places.count; ++place) {
    const Life& one = lives_[place];
    if (one.state != Lifecycle::kGone && one.state != Lifecycle::kDraining && may_go(one)) {
      candidates.push_back(
          {.id = id_of(place),
           .is_ready = one.state == Lifecycle::kReady,
           .created = one.created,
           .requests = fleet_.gateway_of(id_of(place)).views()[place].own.requests});
    }
  }
  const core::InstanceId id = candidates[scaling::victim(candidates, inputs_.victim)].id;
  if (life(id).state == Lifecycle::kReady) {
    drain(id, now);
  } else {
    become_gone(id, now);
  }
}

void Operations::drain(core::InstanceId id, SimTime now) {
  leave_ready(id, now);
  Life& one = life(id);
  one.state = Lifecycle::kDraining;
  if (fleet_.is_empty(id)) {
    become_gone(id, now);
    return;
  }
  if (one.hangs) {
    // What it has would never end: the health check's restart is its end.
    push(inputs_.health_check.noticed(now), Step::kDrainTimeout, id);
  }
  push(SimTime::saturating_sum(now, inputs_.drain_timeout), Step::kDrainTimeout, id);
}

std::int64_t Operations::num_in(const Places& places, Lifecycle state) const {
  return std::ranges::count(
      std::span(lives_).subspan(places.first, places.count), state, &Life::state);
}

std::int64_t Operations::num_gone(const Places& places) const {
  return num_in(places, Lifecycle::kGone);
}

std::int64_t Operations::num_ready(const Places& places) const {
  return num_in(places, Lifecycle::kReady);
}

std::int64_t Operations::num_replicas(const Places& places) const {
  if (const UpdateReport* const update = update_under_way(places); update != nullptr) {
    return update->replicas;
  }
  return std::ranges::count_if(
      std::span(lives_).subspan(places.first, places.count), [](const Life& one) {
        return one.state != Lifecycle::kGone && one.state != Lifecycle::kDraining;
      });
}

bool Operations::on_arrival(Ticket& ticket, SimTime) {
  if (ticket.group >= arrivals_.size()) {
    arrivals_.resize(ticket.group + 1U);
  }
  ++arrivals_[ticket.group];
  return false;
}

std::int64_t Operations::num_arrivals(const Places& places) const {
  std::int64_t arrivals = 0;
  for (std::size_t group = 0; group < arrivals_.size(); ++group) {
    arrivals += places.serves_group(group) ? arrivals_[group] : 0;
  }
  return arrivals;
}

std::int64_t Operations::num_held(const Places& places) const {
  return std::ranges::count_if(held_, [&](core::RequestId id) {
    const Ticket* const ticket = fleet_.find(id);
    return ticket != nullptr && places.serves_group(ticket->group);
  });
}

bool Operations::on_no_instance(Ticket& ticket, SimTime) {
  held_.push_back(ticket.request.id);
  ++totals_.held_requests;
  return true;
}

void Operations::dispatch_held(SimTime now) {
  std::deque<core::RequestId> held;
  held.swap(held_);
  for (const core::RequestId id : held) {
    Ticket* const ticket = fleet_.find(id);
    if (ticket != nullptr && !fleet_.dispatch(*ticket, now)) {
      held_.push_back(id);
    }
  }
}

bool Operations::on_leg_end(Ticket& ticket, domain::RequestRecord& record) {
  const core::InstanceId id = ticket.counted.instance;
  const bool has_failed = record.outcome == domain::Outcome::kFailed;
  seen_ = std::max(seen_, fleet_.end_of(record));
  check_drained(id, seen_);
  return has_failed && !cuts_ && goes_on(ticket, record);
}

void Operations::on_release(core::InstanceId id, SimTime now) {
  check_drained(id, now);
}

void Operations::check_drained(core::InstanceId id, SimTime now) {
  if (life(id).state == Lifecycle::kDraining && fleet_.is_empty(id)) {
    push(SimTime::saturating_sum(now, kTick), Step::kDrained, id);
  }
}

/// Whether a request that has failed is sent again.
bool Operations::goes_on(const Ticket& ticket, const domain::RequestRecord& record) {
  count_loss(ticket, record);
  const auto before = retries_.find(record.id.value());
  const std::int32_t retried = before == retries_.end() ? 0 : before->second;
  // After its first token the client sees the error.
  if (ticket.has_answer || record.output_tokens > core::Tokens(0) ||
      retried >= inputs_.retries.max_retries) {
    return false;
  }
  if (losing_update_ >= 0) {
    ++totals_.updates[static_cast<std::size_t>(losing_update_)].rerouted_requests;
  }
  retries_[record.id.value()] = retried + 1;
  totals_.retried_requests += retried == 0 ? 1 : 0;
  const core::Duration wait = core::Duration::saturating_sum(
      fleet_.gateway().times().notice_latency, inputs_.retries.backoff(retried + 1));
  push(SimTime::saturating_sum(record.failed, std::max(wait, kTick)),
       Step::kRetry,
       {},
       static_cast<std::int64_t>(record.id.value()));
  return true;
}

void Operations::count_loss(const Ticket& ticket, const domain::RequestRecord& record) {
  if (losing_ >= 0) {
    ++totals_.faults[static_cast<std::size_t>(losing_)].failed_requests;
  }
  if (losing_update_ >= 0) {
    ++totals_.updates[static_cast<std::size_t>(losing_update_)].failed_requests;
  }
  totals_.wasted_tokens += ticket.computed_apart;
  if (record.first_scheduled != SimTime::never()) {
    totals_.wasted_tokens += record.prompt_tokens - record.cached_tokens + record.output_tokens;
  }
}

void Operations::retry(core::RequestId id, SimTime now) {
  Ticket* const ticket = fleet_.find(id);
  if (ticket == nullptr) {
    return;  // Its client has given up.
  }
  ++totals_.retries;
  if (!fleet_.dispatch(*ticket, now)) {
    on_no_instance(*ticket, now);
  }
}

void Operations::on_end(const Ticket& ticket, domain::RequestRecord& record) {
  if (cuts_) {
    record.outcome = domain::Outcome::kFailed;
    record.failed = seen_;
    count_loss(ticket, record);
  }
  if (const auto retried = retries_.find(ticket.request.id.value()); retried != retries_.end()) {
    record.attempts += retried->second;
    retries_.erase(retried);
  }
  if (ticket.is_counted) {
    // It ends on its way to an instance, which may have waited for nothing else.
    seen_ = std::max(seen_, fleet_.end_of(record));
    check_drained(ticket.counted.instance, seen_);
  }
}

void Operations::on_abort(const Ticket& ticket) {
  std::erase(held_, ticket.request.id);
}

std::int64_t Operations::faults_after(SimTime end) const {
  return std::ranges::count_if(inputs_.faults.listed(),
                               [end](const faults::Fault& fault) { return fault.at > end; });
}

core::Duration Operations::existed(core::InstanceId id, SimTime end) const {
  const Life& one = life(id);
  return one.state == Lifecycle::kGone ? one.existed : one.existed + (end - one.created);
}

core::Duration Operations::was_ready(core::InstanceId id, SimTime end) const {
  const Life& one = life(id);
  return one.state == Lifecycle::kReady ? one.ready + (end - one.ready_since) : one.ready;
}

}  // namespace ridgeline::cluster
