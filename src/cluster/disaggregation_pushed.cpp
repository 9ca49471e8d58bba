// Prefill and decode apart where the prefill instance writes the KV: two legs at once.
#include <algorithm>
#include <cstdint>
#include <utility>

#include "cluster/disaggregation.hpp"
#include "cluster/part.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "engine/leg.hpp"

namespace ridgeline::cluster {

using core::SimTime;

/// Pushed: from here on the request has what it has at the prefill instance, and its other leg
/// waits beside that.
void Disaggregation::start_prefill(Serial serial) {
  HandOver& part = parts_.at(serial);
  Ticket& ticket = *fleet_.find(part.request);
  ticket.counted = part.at_prefill;
  ticket.is_counted = false;
  part.is_at_decode = false;
  part.counts_decode = true;
  part.is_beside = true;
  beside_.emplace(part.request, part.at_decode->instance);
}

/// Pushed: the prompt is computed, and the request has what it has at the decode instance.
void Disaggregation::end_prefill(Serial serial, Ticket& ticket, SimTime end) {
  HandOver& part = parts_.at(serial);
  beside_.erase({part.request, part.at_decode->instance});
  ticket.counted = *part.at_decode;
  ticket.is_counted = true;
  ticket.is_delivered = true;
  part.is_beside = false;
  part.is_at_decode = true;
  part.counts_decode = false;
  part.lease_end = end;  // The sender itself sees that no KV goes out.
  part.awaits_setup = true;
  plan(after(end, block_time(part)), serial, Action::kStartTransfer);
}

/// A step passes its layers one after the other, each in the same time. All but its last may move
/// while it runs, from the instant at which it has passed the first; the last one of an earlier
/// step moves with them.
void Disaggregation::on_prefill_step(const engine::PrefillStep& step, SimTime at) {
  const auto serial = serial_of(step.request);
  if (!serial || !parts_.at(*serial).is_beside) {
    return;
  }
  const HandOver& part = parts_.at(*serial);
  const core::Tokens prompt = fleet_.find(step.request)->request.prompt_tokens;
  const core::Tokens block = inputs_.transfer.block_size;
  const std::int64_t all = core::ceil_div(prompt, block);
  const auto bytes_through = [&](core::Tokens tokens) {
    const std::int64_t blocks = tokens >= prompt ? all : tokens / block;
    return bytes_of(part, std::max<std::int64_t>(blocks - (all - part.blocks.value()), 0));
  };
  const std::int64_t before = bytes_through(step.before);
  const std::int64_t new_bytes = bytes_through(step.through) - before;
  const std::int64_t layers = inputs_.transfer.layers;
  const std::int64_t last_layer = (new_bytes + layers - 1) / layers;
  plan(std::max(after(at, {}),
                step.start + core::Duration::ticks((step.end - step.start).count() / layers)),
       *serial,
       Action::kSendLayers,
       before + new_bytes - last_layer);
}

void Disaggregation::send_layers(Serial serial, std::int64_t computed, SimTime now) {
  HandOver& part = parts_.at(serial);
  if (part.is_beside) {
    part.computed = std::max(part.computed, computed);
    send_computed(serial, now);
  }
}

/// Pushed: the decode instance dies while its prompt is computed for it. The prefill ends without a
/// word, and the request fails with the leg that is there.
void Disaggregation::lose_both(Serial serial, SimTime now) {
  HandOver& part = parts_.at(serial);
  if (part.is_transferring) {
    stop_transfer(part, now);
  }
  const auto prefill = std::pair(part.request, part.at_prefill.instance);
  beside_.erase({part.request, part.at_decode->instance});
  beside_.insert(prefill);
  fleet_.abort_leg(part.request, part.at_prefill.instance, now);
  beside_.erase(prefill);
  Ticket& ticket = *fleet_.find(part.request);
  ticket.counted = *part.at_decode;
  ticket.is_counted = true;
  part.is_beside = false;
  part.is_at_decode = true;
  part.counts_decode = false;
}

/// Pushed: the request has ended, or failed, with its prefill. The leg that waited beside it goes.
void Disaggregation::leave_decode(Serial serial, SimTime now) {
  HandOver& part = parts_.at(serial);
  if (!part.is_beside) {
    return;
  }
  if (part.is_transferring) {
    stop_transfer(part, now);
  }
  const core::InstanceId place = part.at_decode->instance;
  fleet_.abort_leg(part.request, place, now);
  fleet_.finish_load(part.request, place, now, false);
  beside_.erase({part.request, place});
  part.is_beside = false;
  fleet_.note_release(place, now);
  forget_if_over(serial);
}

}  // namespace ridgeline::cluster
