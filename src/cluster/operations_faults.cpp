// Faults as they strike, and their ends.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cluster/faults/fault.hpp"
#include "cluster/gateway.hpp"
#include "cluster/lifecycle.hpp"
#include "cluster/operations.hpp"
#include "cluster/part.hpp"
#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "domain/record.hpp"
#include "engine/instance.hpp"

namespace ridgeline::cluster {

using core::SimTime;
using faults::FaultKind;

namespace {

constexpr std::int64_t kWholeRate = 1000;  ///< In thousandths.

}  // namespace

void Operations::strike(std::int64_t number, SimTime now) {
  const faults::Fault fault = faults_[static_cast<std::size_t>(number)];
  const auto report = static_cast<std::int64_t>(totals_.faults.size());
  totals_.faults.push_back({.fault = fault});
  if (fault.kind == FaultKind::kGatewayRestart) {
    restart_gateway(report, now);
    return;
  }
  if (faults::is_of_link(fault.kind)) {
    weaken_link(report, now);
    return;
  }
  const core::InstanceId id = fault.instance;
  Life& one = life(id);
  if (one.state != Lifecycle::kReady) {
    totals_.faults.back().over = now;  // There is nothing that it could strike.
    return;
  }
  switch (fault.kind) {
    case FaultKind::kCrash:
      crash(id, report, now);
      return;
    case FaultKind::kHang:
      hang(id, report, now);
      return;
    case FaultKind::kSlowdown:
      close_report(one.slow, now);
      one.slow = report;
      fleet_.instance(id, now).set_slowdown({.thousandths = fault.factor_thousandths});
      fleet_.note_change(id);
      break;
    case FaultKind::kScrapeLoss:
      close_report(one.unread, now);
      one.unread = report;
      fleet_.gateway_of(id).set_readable(id, false);
      break;
    case FaultKind::kEventLoss:
      miss_events(id, report, now);
      break;
    case FaultKind::kGatewayRestart:
    case FaultKind::kLinkDegraded:
    case FaultKind::kLinkDown:
      break;
  }
  if (fault.lasts) {
    push(SimTime::saturating_sum(now, *fault.lasts), Step::kFaultEnd, id, report);
  }
}

/// By chance: the next one of an instance that serves from now on.
void Operations::await_fault(core::InstanceId id, SimTime now) {
  if (const auto fault = inputs_.faults.of_service(id, life(id).services++, now)) {
    faults_.push_back(*fault);
    push(fault->at, Step::kFault, id, std::ssize(faults_) - 1);
  }
}

void Operations::await_host_fault(std::int64_t number, std::int64_t host, SimTime start) {
  HostFault& one = host_faults_[static_cast<std::size_t>(number)];
  one.next = inputs_.faults.of_host(one.which, host, one.nth++, start);
  push(one.next.at, Step::kHostFault, {}, number);
}

/// By chance: a node is lost with all its instances, or a link fails. The host is well again when
/// that is over, and the time to its next fault begins.
void Operations::strike_host(std::int64_t number, SimTime now) {
  faults::Fault fault = host_faults_[static_cast<std::size_t>(number)].next;
  const std::int64_t host = *fault.host;
  if (faults::is_of_link(fault.kind)) {
    strike_now(fault, now);
  } else {
    fault.host.reset();
    const std::int64_t first = host * inputs_.instances_per_host;
    const std::int64_t last =
        std::min<std::int64_t>(first + inputs_.instances_per_host, std::ssize(lives_));
    for (std::int64_t place = first; place < last; ++place) {
      fault.instance = core::InstanceId(static_cast<core::InstanceId::Rep>(place));
      strike_now(fault, now);
    }
  }
  await_host_fault(number, host, SimTime::saturating_sum(now, *fault.lasts));
}

void Operations::strike_now(const faults::Fault& fault, SimTime now) {
  faults_.push_back(fault);
  strike(std::ssize(faults_) - 1, now);
}

/// What was lost before is not sent again while more is lost.
void Operations::miss_events(core::InstanceId id, std::int64_t report, SimTime now) {
  Life& one = life(id);
  if (one.unheard >= 0) {
    close_report(one.unheard, now);
  } else {
    fleet_.gateway_of(id).begin_event_loss(id, now);
  }
  one.unheard = report;
}

void Operations::hear_events(core::InstanceId id, SimTime now) {
  Life& one = life(id);
  if (one.unheard >= 0) {
    const faults::Fault& fault = totals_.faults[static_cast<std::size_t>(one.unheard)].fault;
    fleet_.gateway_of(id).end_event_loss(id, now, fault.replays_events);
    close_report(one.unheard, now);
  }
}

/// All requests of an instance are lost; it starts again, or lies still for as long as the fault
/// says.
void Operations::crash(core::InstanceId id, std::int64_t report, SimTime now) {
  Life& one = life(id);
  const auto lasts = totals_.faults[static_cast<std::size_t>(report)].fault.lasts;
  const bool is_noticed_hang = one.hangs;
  if (one.down != report) {
    close_report(one.down, now);
  }
  close_report(one.slow, now);
  close_report(one.unread, now);
  hear_events(id, now);
  one.down = report;
  leave_ready(id, now);
  lose_requests(id, report, now);
  if (!lasts || is_noticed_hang) {
    begin_start(id, now);
    return;
  }
  fleet_.renew(id);
  one.state = Lifecycle::kWarming;  // Ready when the time is over.
  push(SimTime::saturating_sum(now, *lasts), Step::kLifecycle, id);
}

/// No step ends, until the fault is over or the health check has noticed and restarts it.
void Operations::hang(core::InstanceId id, std::int64_t report, SimTime now) {
  Life& one = life(id);
  if (one.hangs) {
    totals_.faults[static_cast<std::size_t>(report)].over = now;
    return;
  }
  one.hangs = true;
  one.down = report;
  fleet_.instance(id, now).hang(now);
  fleet_.note_change(id);
  const SimTime noticed = inputs_.health_check.noticed(now);
  const auto lasts = totals_.faults[static_cast<std::size_t>(report)].fault.lasts;
  const SimTime over = lasts ? SimTime::saturating_sum(now, *lasts) : SimTime::never();
  if (over <= noticed) {
    push(over, Step::kFaultEnd, id, report);
  } else {
    push(noticed, Step::kHealthCheck, id, report);
  }
}

void Operations::end_fault(core::InstanceId id, std::int64_t report, SimTime now) {
  if (!id.valid()) {
    end_link_fault(report, now);
    return;
  }
  Life& one = life(id);
  if (one.slow == report) {
    fleet_.instance(id, now).set_slowdown({});
    fleet_.note_change(id);
    close_report(one.slow, now);
  } else if (one.unread == report) {
    fleet_.gateway_of(id).set_readable(id, true);
    close_report(one.unread, now);
  } else if (one.unheard == report) {
    hear_events(id, now);
  } else if (one.down == report && one.hangs) {
    one.hangs = false;
    fleet_.instance(id, now).go_on(now);
    fleet_.note_change(id);
    close_report(one.down, now);
    await_fault(id, now);
  }
}

/// That fault is over.
void Operations::close_report(std::int64_t& report, SimTime now) {
  if (report >= 0) {
    totals_.faults[static_cast<std::size_t>(report)].over = now;
    report = -1;
  }
}

/// Every request at the instance, or on its way there, fails now.
void Operations::lose_requests(core::InstanceId id, std::int64_t report, SimTime now) {
  life(id).hangs = false;
  losing_ = report;
  fleet_.gateway_of(id).set_readable(id, true);
  fleet_.stop(id, now);
  losing_ = -1;
}

void Operations::restart_gateway(std::int64_t report, SimTime now) {
  FaultReport& own = totals_.faults[static_cast<std::size_t>(report)];
  own.over = now;
  if (own.fault.cuts_requests) {
    losing_ = report;
    cuts_ = true;
    fleet_.cut_all(now);
    cuts_ = false;
    losing_ = -1;
  }
  fleet_.restart_gateways(inputs_.new_routers(), now);
}

/// The newest fault of a card, or of the fabric, is the one that counts.
void Operations::weaken_link(std::int64_t report, SimTime now) {
  const faults::Fault fault = totals_.faults[static_cast<std::size_t>(report)].fault;
  std::int64_t& current = links_.try_emplace(fault.host, -1).first->second;
  close_report(current, now);
  current = report;
  fleet_.set_link(
      fault.host, fault.kind == FaultKind::kLinkDown ? 0 : fault.factor_thousandths, now);
  if (fault.lasts) {
    push(SimTime::saturating_sum(now, *fault.lasts), Step::kFaultEnd, {}, report);
  }
}

void Operations::end_link_fault(std::int64_t report, SimTime now) {
  const auto host = totals_.faults[static_cast<std::size_t>(report)].fault.host;
  std::int64_t& current = links_.at(host);
  if (current == report) {
    fleet_.set_link(host, kWholeRate, now);
    close_report(current, now);
  }
}

}  // namespace ridgeline::cluster
