#include "cluster/admission_part.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "admission/admission.hpp"
#include "admission/settings.hpp"
#include "cluster/gateway.hpp"
#include "cluster/part.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "domain/record.hpp"
#include "domain/tenants.hpp"

namespace ridgeline::cluster {
namespace {

using core::SimTime;
using domain::Outcome;

/// What an end causes happens at least this much later (Fleet).
constexpr core::Duration kOnePicosecond = core::Duration::ticks(1);

}  // namespace

AdmissionPart::AdmissionPart(Fleet& fleet,
                             const admission::Settings& settings,
                             domain::Tenants& tenants,
                             std::uint64_t seed)
    : fleet_(fleet), control_(settings, tenants, seed) {
  fleet_.gateway().keep(control_.needs());
}

SimTime AdmissionPart::next_instant() const {
  if (control_.empty()) {
    return SimTime::never();
  }
  const Gateway& gateway = fleet_.gateway();
  SimTime change = gateway.num_changes() != changes_seen_
                       ? gateway.last_change()
                       : control_.next_change(gateway.views(), tried_);
  if (control_.needs().own) {
    change = std::min(change, SimTime::saturating_sum(gateway.next_notice(), after_an_end()));
  }
  return std::min(control_.tick_after(change), control_.next_sweep());
}

/// From the instant at which an end is known to that at which it may have an effect.
core::Duration AdmissionPart::after_an_end() const {
  const bool is_known_at_once = fleet_.gateway().times().notice_latency == core::Duration();
  return is_known_at_once ? kOnePicosecond : core::Duration();
}

void AdmissionPart::act(SimTime now) {
  const std::vector<core::RequestId> expired = control_.sweep(now);
  for (const core::RequestId id : expired) {
    fleet_.end(*fleet_.find(id), Outcome::kExpired, now);
  }
  Gateway& gateway = fleet_.gateway();
  static_cast<void>(gateway.ready_views(now));  // Reads the notices that have come.
  const bool has_news = gateway.num_changes() != changes_seen_ ||
                        control_.next_change(gateway.views(), tried_) <= now;
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
