#include "cluster/admission_part.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cluster/admission/admission.hpp"
#include "cluster/admission/settings.hpp"
#include "cluster/gateway.hpp"
#include "cluster/part.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "domain/record.hpp"
#include "domain/tenants.hpp"
#include "routing/router.hpp"

namespace ridgeline::cluster {
using core::SimTime;
using domain::Outcome;

AdmissionPart::AdmissionPart(Fleet& fleet,
                             const admission::Settings& settings,
                             domain::Tenants& tenants,
                             std::uint64_t seed)
    : fleet_(fleet),
      control_(settings, tenants, seed),
      grows_stale_(settings.metrics_staleness_threshold <
                   fleet.gateway().times().refresh_interval) {
  fleet_.gateway().keep(control_.needs());
}

SimTime AdmissionPart::next_instant() const {
  if (control_.empty()) {
    return SimTime::never();
  }
  const Gateway& gateway = fleet_.gateway();
  const SimTime unseen = unseen_news();
  SimTime change = unseen == SimTime::never() ? next_news() : unseen;
  if (control_.needs().own) {
    change = std::min(change, SimTime::saturating_sum(gateway.next_notice(), after_an_end()));
  }
  return std::min(control_.tick_after(change), control_.next_sweep());
}

/// What the gateway has seen since the queue was last tried; never() for nothing.
SimTime AdmissionPart::unseen_news() const {
  const Gateway& gateway = fleet_.gateway();
  if (gateway.num_changes() != changes_seen_) {
    return gateway.last_change();
  }
  const bool has_reading = counts_all_readings() && gateway.last_reading() > reading_seen_;
  return has_reading ? gateway.last_reading() : SimTime::never();
}

/// When what saturation reads may next be something else than when the queue was last tried. A
/// reading that shows what the last one did is that only where it makes gauges fresh again, or
/// where each look at the same may cut off further requests.
SimTime AdmissionPart::next_news() const {
  const Gateway& gateway = fleet_.gateway();
  const SimTime stale = control_.next_change(gateway.views(), tried_);
  if (!control_.needs().gauges) {
    return stale;
  }
  const SimTime reading = gateway.next_reading(counts_all_readings());
  if (counts_all_readings() || stale >= reading) {
    return std::min(stale, reading);
  }
  // Those whose readings are left out do not grow old.
  SimTime next = reading;
  for (const routing::InstanceView& view : gateway.views()) {
    if (!gateway.knows_gauges(view.id)) {
      next = std::min(next, control_.next_change({&view, 1}, tried_));
    }
  }
  return next;
}

/// From the instant at which an end is known to that at which it may have an effect.
core::Duration AdmissionPart::after_an_end() const {
  const bool is_known_at_once = fleet_.gateway().times().notice_latency == core::Duration();
  return is_known_at_once ? kTick : core::Duration();
}

void AdmissionPart::act(SimTime now) {
  const std::vector<core::RequestId> expired = control_.sweep(now);
  for (const core::RequestId id : expired) {
    fleet_.end(*fleet_.find(id), Outcome::kExpired, now);
  }
  Gateway& gateway = fleet_.gateway();
  static_cast<void>(gateway.ready_views(now));  // Reads the notices that have come.
  const bool has_news =
      unseen_news() <= now || control_.next_change(gateway.views(), tried_) <= now;
  // A notice of a first token alone is no news.
  if (has_news || !expired.empty()) {
    send_waiting(now);
    make_room(now);
  }
}

bool AdmissionPart::on_arrival(Ticket& ticket, SimTime now) {
  using Verdict = admission::Decision::Verdict;
  Gateway& gateway = fleet_.gateway();
  const Gateway::Outlook outlook =
      control_.needs_headroom()
          ? gateway.outlook(ticket.request, now, ticket.group)
          : Gateway::Outlook{.instances = gateway.ready_views(now), .headroom = {}};
  const auto decision = control_.arrive(ticket.request, outlook.instances, now, outlook.headroom);
  if (decision.verdict == Verdict::kReject) {
    is_refusing_ = true;
    fleet_.end(ticket, Outcome::kRejected, now);
    is_refusing_ = false;
  } else if (decision.verdict == Verdict::kQueue) {
    send_waiting(now);
    make_room(now);
  }
  return decision.verdict != Verdict::kAdmit;
}

/// All that wait and for which the instances have room.
void AdmissionPart::send_waiting(SimTime now) {
  Gateway& gateway = fleet_.gateway();
  while (const auto id = control_.next(gateway.ready_views(now), now)) {
    Ticket& ticket = *fleet_.find(*id);
    ticket.gateway_wait = now - ticket.request.arrival;
    // An instance is ready, but with prefill and decode apart the request may need one of the
    // others.
    fleet_.send(ticket, now);
  }
  tried_ = now;
  changes_seen_ = gateway.num_changes();
  reading_seen_ = gateway.last_reading();
}

/// Cuts requests off for those that are still held back. Between two changes of what the saturation
/// reads it would do so on the same news again: what was seen was seen.
void AdmissionPart::make_room(SimTime now) {
  for (const core::RequestId id : control_.evict(fleet_.gateway().ready_views(now), now)) {
    const Ticket* const ticket = fleet_.find(id);
    if (ticket != nullptr && ticket->is_delivered) {
      static_cast<void>(fleet_.instance(ticket->counted.instance, now));
    }
    evicting_ = id;
    fleet_.abort(id, now);
    evicting_ = {};
  }
}

void AdmissionPart::on_end(const Ticket& ticket, domain::RequestRecord& record) {
  record.gateway_wait = ticket.gateway_wait;
  if (record.id == evicting_ && record.outcome == Outcome::kAborted) {
    control_.note_evicted();
  }
  if (record.outcome == Outcome::kRejected && ticket.dispatches == 0 && !is_refusing_ &&
      !ticket.is_refused) {
    control_.note_no_endpoint();
  }
  if (!control_.remove(record.id)) {
    const SimTime end = record.last_token == SimTime::never() ? record.queued : record.last_token;
    control_.note_end(record.id,
                      record.output_tokens,
                      SimTime::saturating_sum(end, fleet_.gateway().times().notice_latency));
  }
}

void AdmissionPart::on_abort(const Ticket& ticket) {
  control_.remove(ticket.request.id);
}

}  // namespace ridgeline::cluster
