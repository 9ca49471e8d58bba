// Prefill and decode apart where something fails: leases that end, instances that die, links.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "cluster/disaggregation.hpp"
#include "cluster/gateway.hpp"
#include "cluster/link/kv_link.hpp"
#include "cluster/part.hpp"
#include "core/ids.hpp"
#include "core/int128.hpp"
#include "core/time.hpp"

namespace ridgeline::cluster {

using core::SimTime;

namespace {

constexpr std::int64_t kThousandths = 1000;

}  // namespace

/// The blocks that no transfer has begun to read are free.
void Disaggregation::end_lease(Serial serial, SimTime now) {
  HandOver& part = parts_.at(serial);
  const bool is_read = part.transfer_start != SimTime::never() && !part.is_decode_lost;
  if (part.holds_blocks && !is_read) {
    part.is_lost = true;
    release(serial, now);
  }
}

void Disaggregation::count_failure(const HandOver& part) {
  ++totals_.failed;
  totals_.failed_by_crash += part.is_lost_by_crash ? 1 : 0;
  totals_.recomputed += inputs_.transfer.failure == LoadFailure::kRecompute ? 1 : 0;
}

void Disaggregation::fail_load(HandOver& part, SimTime now) {
  count_failure(part);
  const core::RequestId request = part.request;
  const core::InstanceId place = part.at_decode->instance;
  if (inputs_.transfer.failure == LoadFailure::kFail) {
    static_cast<void>(fleet_.instance(place, now));
    fleet_.find(request)->is_failing = true;
    fleet_.abort(request, now);  // Which may forget the part.
  }
  fleet_.finish_load(request, place, now, false);
}

/// KV that waits on a prefill instance dies with it, and so does a transfer under way: its load
/// fails a tick later.
void Disaggregation::lose_prefill(Serial serial, SimTime now) {
  HandOver& part = parts_.at(serial);
  if (!part.holds_blocks) {
    return;
  }
  part.holds_blocks = false;
  if (part.transfer_end == SimTime::never()) {
    part.is_lost = true;
    part.is_lost_by_crash = true;
  }
  if (part.is_transferring) {
    stop_transfer(part, now);
    part.awaits_setup = true;
    plan(after(now, {}), serial, Action::kStartTransfer);
  }
  forget_if_over(serial);
}

/// The lease gives a prompt's blocks back if its decode instance dies with the request.
void Disaggregation::lose_decode(Serial serial, SimTime now) {
  HandOver& part = parts_.at(serial);
  if (part.decode_delivered == SimTime::never()) {
    return;
  }
  if (part.is_beside) {
    return part.counts_decode ? lose_both(serial, now) : leave_decode(serial, now);
  }
  part.is_decode_lost = true;
  part.awaits_setup = false;
  if (part.is_transferring) {
    stop_transfer(part, now);
  }
  if (part.transfer_end == SimTime::never() && part.lease_end <= now) {
    plan(after(now, {}), serial, Action::kRelease);
  }
  forget_if_over(serial);
}

void Disaggregation::stop_transfer(HandOver& part, SimTime now) {
  link_.stop(part.transfer, now);
  transfers_.erase(part.transfer);
  part.is_transferring = false;
}

void Disaggregation::on_stop(core::InstanceId id, SimTime now) {
  for (auto next = parts_.begin(); next != parts_.end();) {
    const auto& [serial, part] = *next++;
    if (part.at_prefill.instance == id) {
      lose_prefill(serial, now);
    } else if (part.at_decode && part.at_decode->instance == id) {
      lose_decode(serial, now);
    }
  }
}

/// A prefill instance whose KV waits to be read is still needed, and a decode instance that waits.
bool Disaggregation::is_kept(core::InstanceId id) const {
  return std::ranges::any_of(parts_, [&](const auto& entry) {
    const HandOver& part = entry.second;
    return (part.holds_blocks && part.at_prefill.instance == id) ||
           (part.is_beside && part.at_decode->instance == id);
  });
}

Gateway* Disaggregation::gateway_of(core::InstanceId id) {
  return std::cmp_less(id.value(), inputs_.prefill_instances) ? &prefill_gateway_ : nullptr;
}

void Disaggregation::on_gateway_restart(SimTime now) {
  Gateway::Routers routers;
  routers.push_back(inputs_.new_prefill_router());
  prefill_gateway_.restart(std::move(routers), now);
}

/// A degraded link keeps the least rate that there is.
void Disaggregation::on_link_change(std::optional<std::int64_t> host,
                                    std::int64_t thousandths,
                                    SimTime now) {
  for (const link::WireId wire : inputs_.transfer.topology.wires_of(host)) {
    const auto part = static_cast<std::int64_t>(core::Int128{link_.totals(wire).capacity} *
                                                thousandths / kThousandths);
    link_.set_capacity(
        wire, thousandths == 0 ? 0 : std::max(part, link::KvLink::kLeastCapacity), now);
  }
}
}  // namespace ridgeline::cluster
