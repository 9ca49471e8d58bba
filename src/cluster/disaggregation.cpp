#include "cluster/disaggregation.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "cluster/disaggregation/registry.hpp"
#include "cluster/gateway.hpp"
#include "cluster/link/kv_link.hpp"
#include "cluster/part.hpp"
#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/leg.hpp"

namespace ridgeline::cluster {

using core::SimTime;
using disaggregation::FirstToken;
using disaggregation::LegOrder;
using disaggregation::TransferMode;

Disaggregation::Disaggregation(DisaggregationInputs inputs, Fleet& fleet)
    : inputs_(std::move(inputs)),
      fleet_(fleet),
      prefill_gateway_(std::move(inputs_.prefill_router),
                       {.num_instances = inputs_.prefill_instances,
                        .may_change = inputs_.new_prefill_router != nullptr,
                        .sites = inputs_.sites},
                       inputs_.times,
                       inputs_.seed),
      link_(
          inputs_.transfer.sharing,
          inputs_.transfer.topology.capacities(static_cast<std::int64_t>(fleet.num_instances()))) {
  prefill_gateway_.look_at_caches(
      [this](const domain::Request& request, core::InstanceId id, const Gateway::Reported& known) {
        return fleet_.may_hold(request, id)
                   ? fleet_.instance(id, known.as_of)
                         .cached_prefix_at(request, {.as_of = known.as_of, .since = known.since})
                   : core::Tokens();
      });
  totals_.prefills.resize(static_cast<std::size_t>(inputs_.prefill_instances));
  // The cluster's gateway chooses among the others.
  for (std::int64_t i = 0; i < inputs_.prefill_instances; ++i) {
    const core::InstanceId id(static_cast<core::InstanceId::Rep>(i));
    prefill_gateway_.set_ready(id, fleet_.gateway().is_ready(id), SimTime());
    fleet_.gateway().set_ready(id, false, SimTime());
  }
}

/// What an instance causes happens a tick later at the earliest (Fleet).
SimTime Disaggregation::after(SimTime at, core::Duration duration) {
  return SimTime::saturating_sum(at, std::max(duration, core::Duration::ticks(1)));
}

void Disaggregation::plan(SimTime at, Serial serial, Action action, std::int64_t bytes) {
  events_.push({.at = at, .serial = serial, .action = action, .bytes = bytes});
}

std::optional<Disaggregation::Serial> Disaggregation::serial_of(core::RequestId request) const {
  const auto found = serials_.find(request);
  return found == serials_.end() ? std::nullopt : std::optional(found->second);
}

SimTime Disaggregation::next_instant() const {
  return std::min(events_.empty() ? SimTime::never() : events_.top().at, link_.next_end());
}

/// Transfers that end first, so that a lease or an instance that ends with them changes nothing.
void Disaggregation::act(SimTime now) {
  if (link_.next_end() <= now) {
    end_transfers(now);
  }
  while (!events_.empty() && events_.top().at <= now) {
    const Event event = events_.top();
    events_.pop();
    perform(event);
  }
}

void Disaggregation::perform(const Event& event) {
  if (!parts_.contains(event.serial)) {
    return;
  }
  const bool is_gone = parts_.at(event.serial).is_gone;
  switch (event.action) {
    case Action::kDeliverPrefill:
      return is_gone && !pushes() ? void() : deliver_prefill(event.serial, event.at);
    case Action::kHandOver:
      return is_gone ? void() : hand_over(event.serial, event.at);
    case Action::kDeliverDecode:
      return is_gone ? void() : deliver_decode(event.serial, event.at);
    case Action::kSendLayers:
      return is_gone ? void() : send_layers(event.serial, event.bytes, event.at);
    case Action::kStartTransfer:
      return start_transfer(event.serial, event.at);
    case Action::kRelease:
      return release(event.serial, event.at);
    case Action::kEndLease:
      return end_lease(event.serial, event.at);
    case Action::kLeaveDecode:
      return leave_decode(event.serial, event.at);
  }
}

std::optional<bool> Disaggregation::on_dispatch(Ticket& ticket, SimTime now) {
  const core::RequestId id = ticket.request.id;
  if (const auto earlier = serial_of(id)) {
    let_go(*earlier, now);
  }
  ticket.is_failing = false;
  ticket.computed_apart = {};
  std::optional<Gateway::Counted> decode;
  if (inputs_.order == LegOrder::kDecodeFirst || pushes()) {
    decode = fleet_.gateway().route(ticket.request, now);
    if (!decode) {
      return end_if_refused(ticket, fleet_.gateway(), now);
    }
  }
  const core::Tokens cached(decode ? decode->tokens - decode->prefill_tokens : 0);
  if (!inputs_.decider->disaggregates(
          {.tokens = ticket.request.prompt_tokens, .cached_on_decode = cached})) {
    if (!decode) {
      decode = fleet_.gateway().route(ticket.request, now);
    }
    if (!decode) {
      return end_if_refused(ticket, fleet_.gateway(), now);
    }
    send_whole(ticket, *decode, now);
    return true;
  }
  const auto prefill = prefill_gateway_.route(
      ticket.request, now, 0, decode ? decode->instance : core::InstanceId());
  if (!prefill) {
    if (decode) {
      fleet_.gateway().note_end(*decode, false, now);
    }
    return end_if_refused(ticket, prefill_gateway_, now);
  }
  const Serial serial = num_parts_++;
  HandOver& part =
      parts_.emplace(serial, HandOver{.request = id, .at_prefill = *prefill, .at_decode = decode})
          .first->second;
  serials_[id] = serial;
  part.is_at_decode = pushes();
  part.counts_decode = decode && !pushes();
  ticket.counted = pushes() ? *decode : *prefill;
  ticket.is_counted = pushes();  // Else by this part's own gateway.
  ticket.first_token_seen = false;
  ++ticket.dispatches;
  ++totals_.disaggregated;
  ++totals_.prefills[prefill->instance.value()];
  plan(SimTime::saturating_sum(now, inputs_.times.gateway_latency),
       serial,
       pushes() ? Action::kDeliverDecode : Action::kDeliverPrefill);
  return true;
}

/// A gateway has chosen no instance. False where none is ready: the request may wait for one.
bool Disaggregation::end_if_refused(Ticket& ticket, const Gateway& gateway, SimTime now) {
  if (!gateway.has_refused()) {
    return false;
  }
  ticket.is_refused = true;
  fleet_.end(ticket, domain::Outcome::kRejected, now);
  return true;
}

void Disaggregation::send_whole(Ticket& ticket, const Gateway::Counted& counted, SimTime now) {
  ticket.counted = counted;
  ticket.is_counted = true;
  ticket.first_token_seen = false;
  ++ticket.dispatches;
  fleet_.deliver(ticket.request,
                 counted.instance,
                 SimTime::saturating_sum(now, inputs_.times.gateway_latency));
}

/// The set-up of a decode instance's blocks is over. False where nothing comes into them any more:
/// the instance has died, or the request is gone, and an engine that keeps them gives them back.
bool Disaggregation::end_setup(Serial serial, SimTime now) {
  HandOver& part = parts_.at(serial);
  if (!part.awaits_setup) {
    return false;
  }
  part.awaits_setup = false;
  if (!part.is_gone) {
    return true;
  }
  const bool was_sending = part.is_transferring;
  if (was_sending) {
    stop_transfer(part, now);
  }
  // Layers were on their way as the request went, and may have come since: nothing else is sent.
  if (was_sending || (part.holds_blocks && !part.is_decode_lost)) {
    plan(after(now, inputs_.times.notice_latency), serial, Action::kRelease);
  }
  fleet_.finish_load(part.request, part.at_decode->instance, now, false);
  forget_if_over(serial);
  return false;
}

/// The prompt and one token, whose blocks stay.
void Disaggregation::deliver_prefill(Serial serial, SimTime now) {
  if (pushes() && !end_setup(serial, now)) {
    return;
  }
  HandOver& part = parts_.at(serial);
  Ticket& ticket = *fleet_.find(part.request);
  domain::Request leg = ticket.request;
  leg.arrival = now;
  leg.output_tokens = core::Tokens(1);
  leg.max_tokens = core::Tokens(1);
  part.delivered = now;
  ticket.is_delivered = true;
  if (pushes()) {
    start_prefill(serial);
  }
  fleet_.submit(leg,
                part.at_prefill.instance,
                {.holds_blocks = true,
                 .reports_steps = inputs_.transfer.mode == TransferMode::kLayerWise,
                 .was_sent_before = ticket.dispatches > 1});
}

/// The answer of the prefill instance is known.
void Disaggregation::hand_over(Serial serial, SimTime now) {
  HandOver& part = parts_.at(serial);
  Ticket& ticket = *fleet_.find(part.request);
  if (!part.at_decode) {
    part.at_decode = fleet_.gateway().route(ticket.request, now, 0, part.at_prefill.instance);
    part.counts_decode = part.at_decode.has_value();
  }
  if (!part.at_decode) {
    fleet_.end(ticket, domain::Outcome::kRejected, now);
    return;
  }
  plan(SimTime::saturating_sum(now, inputs_.times.gateway_latency), serial, Action::kDeliverDecode);
}

/// The whole request again, with the KV of its prompt to be loaded; where the client has the first
/// token, that one is part of the prompt.
void Disaggregation::deliver_decode(Serial serial, SimTime now) {
  HandOver& part = parts_.at(serial);
  Ticket& ticket = *fleet_.find(part.request);
  domain::Request leg = ticket.request;
  leg.arrival = now;
  if (inputs_.first_token != FirstToken::kDecode) {
    core::Tokens stated;
    for (const auto& segment : leg.prompt) {
      stated += segment.length;
    }
    if (stated == leg.prompt_tokens) {
      leg.prompt.push_back({domain::output_content(leg.id), core::Tokens(1)});
    }
    leg.prompt_tokens += core::Tokens(1);
    leg.output_tokens -= core::Tokens(1);
    leg.max_tokens -= core::Tokens(1);
  }
  ticket.counted = *part.at_decode;
  ticket.is_counted = true;
  ticket.is_delivered = true;
  part.is_at_decode = true;
  part.counts_decode = false;
  part.decode_delivered = now;
  const bool recomputes = part.is_lost && inputs_.transfer.failure == LoadFailure::kRecompute;
  if (recomputes) {
    count_failure(part);
  }
  fleet_.submit(leg,
                part.at_decode->instance,
                {.remote_tokens = recomputes ? core::Tokens() : ticket.request.prompt_tokens,
                 .loads = !recomputes,
                 .was_sent_before = ticket.dispatches > 1});
}

/// The decode instance has blocks for the KV.
void Disaggregation::on_load_start(const engine::LoadStart& load, SimTime at) {
  const auto serial = serial_of(load.request);
  RIDGELINE_CHECK(serial.has_value(), "what loads has a prefill leg");
  HandOver& part = parts_.at(*serial);
  RIDGELINE_CHECK(part.load_start == SimTime::never(), "a leg loads once");
  part.load_start = at;
  part.blocks = load.blocks;
  if (load.blocks == core::Blocks(0)) {
    part.transfer_start = part.transfer_end = at;
    if (pushes()) {  // No prompt is left to compute.
      stop_counting(part, at);
    } else {
      plan(after(at, inputs_.times.notice_latency), *serial, Action::kRelease);
    }
    return;
  }
  part.awaits_setup = true;
  if (pushes()) {
    plan(after(at, inputs_.transfer.setup), *serial, Action::kDeliverPrefill);
    return;
  }
  plan(after(at, core::Duration::saturating_sum(inputs_.transfer.setup, block_time(part))),
       *serial,
       Action::kStartTransfer);
}

/// What the descriptors of a transfer take that are not written beside the prefill: of one layer
/// where all are sent as they are computed.
core::Duration Disaggregation::block_time(const HandOver& part) const {
  const core::Duration all =
      core::Duration::saturating_product(inputs_.transfer.per_block, part.blocks.value());
  return inputs_.transfer.mode == TransferMode::kLayerWise
             ? core::Duration::ticks(all.count() / inputs_.transfer.layers)
             : all;
}

/// Each rank of the decode instance reads what it holds of those blocks.
std::int64_t Disaggregation::bytes_of(const HandOver& part, std::int64_t blocks) const {
  const auto& own = inputs_.transfer.bytes_per_block_of;
  return blocks *
         (own.empty() ? inputs_.transfer.bytes_per_block : own[part.at_decode->instance.value()]);
}

void Disaggregation::start_transfer(Serial serial, SimTime now) {
  HandOver& part = parts_.at(serial);
  if (!end_setup(serial, now)) {
    return;
  }
  if (part.is_lost) {
    fail_load(part, now);
    return;
  }
  RIDGELINE_CHECK(part.holds_blocks && part.prefill.last_token <= now,
                  "KV is sent after it was computed, from blocks that hold it");
  part.transfer_start = now;
  part.computed = bytes_of(part);
  send_computed(serial, now);
}

/// One transfer after the other, until all that is computed has moved.
void Disaggregation::send_computed(Serial serial, SimTime now) {
  HandOver& part = parts_.at(serial);
  if (part.is_transferring || part.sent == part.computed) {
    return;
  }
  part.is_transferring = true;
  part.flow_start = now;
  part.flow_bytes = part.computed - part.sent;
  part.sent = part.computed;
  part.transfer = link_.start(
      part.flow_bytes,
      inputs_.transfer.topology.route(part.at_prefill.instance, part.at_decode->instance),
      now);
  transfers_.emplace(part.transfer, serial);
}

void Disaggregation::end_transfers(SimTime now) {
  for (const link::TransferId id : link_.end_next()) {
    const Serial serial = transfers_.at(id);
    transfers_.erase(id);
    HandOver& part = parts_.at(serial);
    part.is_transferring = false;
    last_end_ = now;
    const core::Duration taken = now - part.flow_start;
    part.busy += taken;
    part.waited += taken - link_.alone(part.flow_bytes,
                                       inputs_.transfer.topology.route(part.at_prefill.instance,
                                                                       part.at_decode->instance));
    if (part.sent == bytes_of(part)) {
      finish_transfer(serial, now);
    } else {
      send_computed(serial, now);
    }
  }
}

void Disaggregation::finish_transfer(Serial serial, SimTime now) {
  HandOver& part = parts_.at(serial);
  part.transfer_end = now;
  ++totals_.count;
  totals_.bytes += bytes_of(part);
  totals_.busy += part.busy;
  totals_.waited += part.waited;
  fleet_.finish_load(part.request, part.at_decode->instance, now, true);
  plan(after(now, inputs_.times.notice_latency), serial, Action::kRelease);
}

void Disaggregation::release(Serial serial, SimTime now) {
  HandOver& part = parts_.at(serial);
  if (part.holds_blocks) {
    part.holds_blocks = false;
    fleet_.release_blocks(part.request, part.at_prefill.instance, now);
  }
  forget_if_over(serial);
}

void Disaggregation::forget_if_over(Serial serial) {
  const HandOver& part = parts_.at(serial);
  if (part.is_gone && !part.holds_blocks && !part.awaits_setup && !part.is_transferring &&
      !part.is_beside) {
    parts_.erase(serial);
  }
}

/// The request has ended or is tried anew: what it has here is given back.
void Disaggregation::let_go(Serial serial, SimTime at) {
  HandOver& part = parts_.at(serial);
  stop_counting(part, at);
  part.is_gone = true;
  serials_.erase(part.request);
  if (part.is_beside) {
    plan(after(at, {}), serial, Action::kLeaveDecode);
  }
  if (part.holds_blocks && !part.is_transferring && !part.is_decode_lost) {
    plan(after(at, inputs_.times.notice_latency), serial, Action::kRelease);
  }
  forget_if_over(serial);
}

void Disaggregation::stop_counting(HandOver& part, SimTime at) {
  if (std::exchange(part.counts_prefill, false)) {
    prefill_gateway_.note_end(part.at_prefill, false, at);
    fleet_.note_release(part.at_prefill.instance, at);
  }
  if (std::exchange(part.counts_decode, false)) {
    fleet_.gateway().note_end(*part.at_decode, false, at);
    fleet_.note_release(part.at_decode->instance, at);
  }
}

bool Disaggregation::on_leg_end(Ticket& ticket, domain::RequestRecord& record) {
  const auto serial = serial_of(ticket.request.id);
  if (!serial || record.outcome == domain::Outcome::kUnfinished) {
    return false;
  }
  HandOver& part = parts_.at(*serial);
  const bool has_failed = record.outcome == domain::Outcome::kFailed;
  if (part.is_at_decode) {
    if (has_failed && !ticket.is_failing) {
      ++totals_.decode_lost;
      part.is_decode_lost = true;
    }
    return false;  // The answer's leg: the request ends with it.
  }
  const bool has_prompt = record.outcome == domain::Outcome::kFinished;
  const SimTime end = has_prompt ? record.last_token : fleet_.end_of(record);
  if (has_failed) {
    stop_counting(part, end);
    if (part.is_beside) {
      plan(after(end, {}), *serial, Action::kLeaveDecode);
    } else {
      part.at_decode.reset();
    }
  }
  if (part.counts_prefill) {
    prefill_gateway_.note_end(part.at_prefill, false, end);
    part.counts_prefill = false;
  }
  part.holds_blocks = has_prompt;
  part.prefill = record;
  if (has_prompt) {
    ticket.computed_apart = record.prompt_tokens - record.cached_tokens;
    ticket.has_answer = inputs_.first_token == FirstToken::kPrefill;
    part.lease_end = after(end, inputs_.transfer.lease);
  }
  const bool is_all =
      inputs_.first_token != FirstToken::kDecode &&
      std::min(ticket.request.output_tokens, ticket.request.max_tokens) == core::Tokens(1);
  if (!has_prompt || is_all) {
    return false;
  }
  if (pushes()) {
    end_prefill(*serial, ticket, end);
    return true;
  }
  plan(after(end, inputs_.times.notice_latency), *serial, Action::kHandOver);
  plan(part.lease_end, *serial, Action::kEndLease);
  return true;
}

void Disaggregation::on_end(const Ticket& ticket, domain::RequestRecord& record) {
  const auto serial = serial_of(ticket.request.id);
  if (!serial) {
    return;
  }
  HandOver& part = parts_.at(*serial);
  const SimTime end = fleet_.end_of(record);
  if (part.is_at_decode && part.prefill.last_token != SimTime::never()) {
    complete(part, ticket, record);
  }
  let_go(*serial, end);
}

/// The record of the answer's leg becomes that of the request.
void Disaggregation::complete(const HandOver& part,
                              const Ticket& ticket,
                              domain::RequestRecord& record) {
  record.queued = part.prefill.queued;
  record.first_scheduled = part.prefill.first_scheduled;
  record.cached_tokens = part.prefill.cached_tokens;
  record.preemptions += part.prefill.preemptions;
  record.prompt_tokens = ticket.request.prompt_tokens;
  const SimTime first = record.first_token;
  if (inputs_.first_token != FirstToken::kDecode) {
    const bool comes_with_kv =
        inputs_.first_token == FirstToken::kTransfer && part.transfer_end != SimTime::never();
    record.first_token = comes_with_kv ? part.transfer_end : part.prefill.first_token;
    record.output_tokens += core::Tokens(1);
    if (first == SimTime::never()) {
      record.last_token = record.first_token;
    } else {
      fleet_.sink().on_token_gaps({.gap = first - record.first_token, .growth = {}});
    }
  }
  if (first == SimTime::never() || part.transfer_end == SimTime::never()) {
    return;
  }
  RIDGELINE_CHECK(part.prefill.last_token <= part.transfer_start &&
                      part.transfer_start <= part.transfer_end && part.transfer_end <= first,
                  "a prefill ends, its KV moves, and then the answer begins");
  ++totals_.answered;
  totals_.gateway += std::min(part.delivered, part.decode_delivered) - ticket.request.arrival;
  totals_.prefill += part.prefill.last_token - part.delivered;
  totals_.decode_wait += part.load_start - part.decode_delivered;
  if (pushes()) {
    totals_.setup +=
        (part.delivered - part.load_start) + (part.transfer_start - part.prefill.last_token);
  } else {
    totals_.hand_over += part.decode_delivered - part.prefill.last_token;
    totals_.setup += part.transfer_start - part.load_start;
  }
  totals_.transfer += part.transfer_end - part.transfer_start;
  totals_.first_step += first - part.transfer_end;
}

TransferTotals Disaggregation::totals() const {
  TransferTotals totals = totals_;
  totals.refused = prefill_gateway_.totals().refused();
  const double seconds = last_end_.to_seconds();
  const auto wires =
      inputs_.transfer.topology.capacities(static_cast<std::int64_t>(fleet_.num_instances()))
          .size();
  for (std::size_t wire = 0; wire < wires && seconds > 0.0; ++wire) {
    const link::WireTotals moved = link_.totals(link::WireId(static_cast<link::WireId::Rep>(wire)));
    totals.link_utilisation = std::max(
        totals.link_utilisation, moved.bytes / (static_cast<double>(moved.capacity) * seconds));
  }
  return totals;
}

}  // namespace ridgeline::cluster
