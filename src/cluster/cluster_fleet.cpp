// What the parts of a cluster may do with it, and what its instances report to it.
#include <algorithm>
#include <memory>
#include <optional>
#include <ranges>
#include <utility>

#include "cluster/cluster.hpp"
#include "cluster/gateway.hpp"
#include "cluster/part.hpp"
#include "cluster/request_story.hpp"
#include "cluster/tickets.hpp"
#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/instance.hpp"
#include "engine/leg.hpp"
#include "engine/server.hpp"

namespace ridgeline::cluster {

using core::SimTime;

void Cluster::submit_to(const domain::Request& request,
                        core::InstanceId id,
                        const engine::Leg& leg) {
  note_sent(request, id);
  read_gauges(id);
  instances_[id.value()]->submit_leg(request, leg);
  note_change(id);
}

/// What an instance was given may change when it next shows something, and its gauges.
void Cluster::note_change(core::InstanceId id) {
  last_changes_[id.value()] = ++num_changes_;
  note_gauges_change(id);
  if (ends_are_watched_) {
    look_at(unit_of(id));
  }
}

void Cluster::submit(const domain::Request& request, core::InstanceId id, const engine::Leg& leg) {
  static_cast<void>(instance(id, request.arrival));
  if (stories_) {
    const Share share = leg.loads ? Share::kDecode : Share::kPrefill;
    stories_->on_sent(request.id, id, share, request.arrival, request.arrival);
  }
  if (serves_[id.value()]) {
    submit_to(request, id, leg);
  } else {
    refuse(request, id, request.arrival);
  }
}

void Cluster::finish_load(engine::LoadId id, core::InstanceId place, SimTime at, bool arrived) {
  if (stories_ && arrived) {
    stories_->on_loaded(id.request, place, at);
  }
  instance(place, at).finish_load(id, at, arrived);
  note_change(place);
}

void Cluster::release_blocks(core::RequestId id, core::InstanceId place, SimTime at) {
  instance(place, at).release_blocks(id, at);
  note_change(place);
  note_release(place, at);
}

void Cluster::note_release(core::InstanceId place, SimTime at) {
  for (const OwnPart& own : parts_) {
    own.part->on_release(place, at);
  }
}

bool Cluster::is_empty(core::InstanceId id) {
  return gateway_of(id).views()[id.value()].true_requests == 0 &&
         std::ranges::none_of(parts_, [&](const OwnPart& own) { return own.part->is_kept(id); });
}

void Cluster::on_load_start(const engine::LoadStart& load, SimTime at) {
  for (const OwnPart& own : parts_) {
    own.part->on_load_start(load, at);
  }
}

void Cluster::on_prefill_step(const engine::PrefillStep& step, SimTime at) {
  for (const OwnPart& own : parts_) {
    own.part->on_prefill_step(step, at);
  }
}

void Cluster::abort_leg(core::RequestId id, core::InstanceId place, SimTime at) {
  instance(place, at).abort(id, at);
  note_change(place);
}

bool Cluster::dispatch(Ticket& ticket, SimTime now) {
  for (const OwnPart& own : parts_) {
    if (const auto sent = own.part->on_dispatch(ticket, now)) {
      return *sent;
    }
  }
  if (!gateway_.route_to(ticket.counted, ticket.request, now, ticket.group)) {
    if (gateway_.has_refused()) {
      ticket.is_refused = true;
      end(ticket, domain::Outcome::kRejected, now);
      return true;
    }
    return false;
  }
  note_dispatch(ticket);
  deliver(ticket.request,
          ticket.counted.instance,
          SimTime::saturating_sum(now, gateway_.times().gateway_latency));
  return true;
}

void Cluster::send(Ticket& ticket, SimTime now) {
  if (dispatch(ticket, now)) {
    return;
  }
  const bool is_held = std::ranges::any_of(
      parts_, [&](const OwnPart& own) { return own.part->on_no_instance(ticket, now); });
  if (!is_held) {
    end(ticket, domain::Outcome::kRejected, now);
  }
}

void Cluster::deliver(const domain::Request& request, core::InstanceId instance, SimTime at) {
  Ticket& ticket = *tickets_.find(request.id);
  domain::Request sent = request;
  sent.arrival = at;
  if (stories_) {
    stories_->on_sent(request.id, instance, Share::kWhole, reached_, at);
  }
  ticket.is_delivered = false;
  ticket.delivery = num_deliveries_++;
  deliveries_.push(
      {.at = at, .instance = instance, .sequence = ticket.delivery, .request = std::move(sent)});
}

void Cluster::end(Ticket& ticket, domain::Outcome outcome, SimTime at) {
  if (ticket.is_counted) {
    gateway_.note_end(ticket.counted, ticket.first_token_seen, at);
  }
  ended_ = true;
  domain::RequestRecord record = unserved(ticket.request, outcome, at);
  for (const OwnPart& own : parts_) {
    own.part->on_end(ticket, record);
  }
  tickets_.erase(ticket.request.id);
  report(record, at);
}

/// A request has ended for good.
void Cluster::report(const domain::RequestRecord& record, SimTime at) {
  last_end_ = std::max(last_end_, at);
  if (stories_) {
    stories_->on_end(record, at);
  }
  sink_.on_request(record);
}

engine::Instance& Cluster::instance(core::InstanceId id, SimTime now) {
  read_gauges(id);  // They may be about to change.
  return advanced(id, now);
}

engine::Instance& Cluster::advanced(core::InstanceId id, SimTime now) {
  while (advance_one(unit_of(id), now, false, kAllSegments) == engine::Pause::kBudget) {
  }
  return *instances_[id.value()];
}

/// A request reaches an instance that is dead.
void Cluster::refuse(const domain::Request& request, core::InstanceId id, SimTime now) {
  domain::RequestRecord record = unserved(request, domain::Outcome::kFailed, now);
  record.instance = id;
  record.failed = now;
  on_request(record);
  ended_ = true;
}

void Cluster::stop(core::InstanceId id, SimTime now) {
  RIDGELINE_CHECK(groups_.empty(), "no rank of a group stops by itself");
  serves_[id.value()] = false;
  engine::Instance& dying = instance(id, now);
  for (const OwnPart& own : parts_) {
    own.part->on_stop(id, now);
  }
  dying.fail(now);
  ended_ = true;  // What it had: a closed loop's clients go on from here.
  note_change(id);
}

Gateway& Cluster::gateway_of(core::InstanceId id) {
  for (const OwnPart& own : parts_) {
    if (Gateway* const found = own.part->gateway_of(id); found != nullptr) {
      return *found;
    }
  }
  return gateway_;
}

void Cluster::restart_gateways(Gateway::Routers routers, SimTime now) {
  gateway_.restart(std::move(routers), now);
  for (const OwnPart& own : parts_) {
    own.part->on_gateway_restart(now);
  }
}

void Cluster::set_link(std::optional<std::int64_t> host, std::int64_t thousandths, SimTime now) {
  for (const OwnPart& own : parts_) {
    own.part->on_link_change(host, thousandths, now);
  }
}

void Cluster::renew(core::InstanceId id) {
  const std::size_t place = id.value();
  before_[place] = totals_of(id);
  read_gauges(id);
  instances_[place] = new_instance(id);
  for (const OwnPart& own : parts_) {
    own.part->on_renew(id);
  }
  note_change(id);
}

void Cluster::cut_all(SimTime now) {
  for (const auto& one : instances_) {
    instance(one->id(), now);
  }
  for (const core::RequestId id : tickets_.ids()) {
    abort(id, now);
  }
}

/// What was sent has ended: the gateway learns of it.
void Cluster::note_end(Ticket& ticket, const domain::RequestRecord& record) {
  if (record.outcome != domain::Outcome::kUnfinished) {
    if (ticket.is_counted) {
      gateway_.note_end(ticket.counted, ticket.first_token_seen, end_of(record));
    }
    ticket.is_counted = false;
    ticket.is_delivered = false;
  }
}

void Cluster::on_request(const domain::RequestRecord& record) {
  Ticket* const held = tickets_.find(record.id);
  if (std::ranges::any_of(parts_, [&](const OwnPart& own) {
        return own.part->is_beside(record.id, record.instance);
      })) {
    if (stories_ && held != nullptr) {
      stories_->on_leg_end(record, reached_);
    }
    return;
  }
  RIDGELINE_CHECK(held != nullptr, "a request ends once, where it was sent");
  Ticket& ticket = *held;
  RIDGELINE_CHECK(ticket.counted.instance == record.instance, "a request ends where it was sent");
  if (parts_.empty() && !stories_ && record.arrival == ticket.arrival) {
    // As it is: to read a copy in larger pieces than it was just changed in stalls the processor.
    note_end(ticket, record);
    tickets_.erase(record.id);
    report(record, end_of(record));
    return;
  }
  domain::RequestRecord own = record;
  own.arrival = ticket.arrival;
  if (ticket.is_failing && record.outcome == domain::Outcome::kAborted) {
    own.outcome = domain::Outcome::kFailed;
    own.failed = aborted_at_;
  }
  note_end(ticket, record);
  if (stories_) {
    stories_->on_leg_end(own, end_of(own));
  }
  bool goes_on = false;
  for (const OwnPart& part : std::views::reverse(parts_)) {
    goes_on = part.part->on_leg_end(ticket, own) || goes_on;
  }
  if (goes_on) {
    return;
  }
  for (const OwnPart& part : parts_) {
    part.part->on_end(ticket, own);
  }
  tickets_.erase(record.id);
  report(own, end_of(own));
}

void Cluster::expect(core::RequestId id) {
  tickets_.fetch_line(id);
  gateway_.expect(id);
}

void Cluster::on_first_token(core::RequestId id, SimTime at) {
  Ticket& ticket = *tickets_.find(id);
  if (ticket.is_counted && !ticket.first_token_seen) {
    ticket.first_token_seen = true;
    gateway_.note_first_token(ticket.counted, at);
  }
}

}  // namespace ridgeline::cluster
