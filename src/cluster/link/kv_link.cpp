#include "cluster/link/kv_link.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <vector>

#include "core/check.hpp"
#include "core/int128.hpp"
#include "core/time.hpp"

namespace ridgeline::link {
namespace {

using core::Int128;
using core::SimTime;

/// Byte picoseconds per second of so many bytes.
constexpr Int128 ticks_of(std::int64_t bytes) {
  return static_cast<Int128>(bytes) * core::Duration::kTicksPerSecond;
}

/// The first instant at which nothing is left at that rate.
core::Duration time_for(Int128 left, std::int64_t rate) {
  if (left == 0) {
    return {};
  }
  if (rate == 0) {
    return core::Duration::max();
  }
  const Int128 ticks = (left + rate - 1) / rate;
  return ticks > std::numeric_limits<std::int64_t>::max()
             ? core::Duration::max()
             : core::Duration::ticks(static_cast<std::int64_t>(ticks));
}

}  // namespace

KvLink::KvLink(Sharing sharing, const std::vector<std::int64_t>& capacities) : sharing_(sharing) {
  for (const std::int64_t capacity : capacities) {
    RIDGELINE_CHECK(capacity >= kLeastCapacity, "a wire moves a megabyte per second or more");
    wires_.push_back({.nominal = capacity, .capacity = capacity});
  }
}

TransferId KvLink::start(std::int64_t bytes, const Route& route, SimTime at) {
  RIDGELINE_CHECK(bytes > 0 && !route.empty(), "a transfer moves something somewhere");
  move_to(at);
  const TransferId id(num_started_++);
  flows_.emplace(id, Flow{.route = route, .whole = ticks_of(bytes), .left = ticks_of(bytes)});
  find_rates();
  return id;
}

void KvLink::stop(TransferId id, SimTime at) {
  move_to(at);
  if (const auto flow = flows_.find(id); flow != flows_.end()) {
    settle(flow->second);
    flows_.erase(flow);
    check_bytes();
    find_rates();
  }
}

void KvLink::set_capacity(WireId wire, std::int64_t capacity, SimTime at) {
  RIDGELINE_CHECK(capacity == 0 || capacity >= kLeastCapacity,
                  "a wire moves nothing, or a megabyte per second or more");
  move_to(at);
  wires_[wire].capacity = capacity;
  find_rates();
}

SimTime KvLink::next_end() const {
  core::Duration least = core::Duration::max();
  for (const auto& [id, flow] : flows_) {
    least = std::min(least, time_for(flow.left, flow.rate));
  }
  return SimTime::saturating_sum(now_, least);
}

std::vector<TransferId> KvLink::end_next() {
  std::vector<TransferId> ended;
  move_to(next_end());
  for (auto flow = flows_.begin(); flow != flows_.end();) {
    if (flow->second.left == 0) {
      ended.push_back(flow->first);
      settle(flow->second);
      flow = flows_.erase(flow);
    } else {
      ++flow;
    }
  }
  RIDGELINE_CHECK(!ended.empty(), "a transfer ends at the next end");
  check_bytes();
  find_rates();
  return ended;
}

core::Duration KvLink::alone(std::int64_t bytes, const Route& route) const {
  std::int64_t rate = std::numeric_limits<std::int64_t>::max();
  for (const WireId wire : route) {
    rate = std::min(rate, wires_[wire].nominal);
  }
  return time_for(ticks_of(bytes), rate);
}

WireTotals KvLink::totals(WireId wire) const {
  const Wire& asked = wires_[wire];
  return {.capacity = asked.nominal,
          .bytes = static_cast<double>(asked.moved) /
                   static_cast<double>(core::Duration::kTicksPerSecond)};
}

/// Every transfer moves at its rate until `at`; in its last picosecond, what is left.
void KvLink::move_to(SimTime at) {
  RIDGELINE_CHECK(at >= now_ && at <= next_end(), "a link's clock passes no end");
  const std::int64_t ticks = (at - now_).count();
  for (Wire& wire : wires_) {
    wire.could_move += static_cast<Int128>(wire.capacity) * ticks;
  }
  for (auto& [id, flow] : flows_) {
    const Int128 moved = std::min(flow.left, static_cast<Int128>(flow.rate) * ticks);
    flow.left -= moved;
    for (const WireId wire : flow.route) {
      wires_[wire].moved += moved;
    }
  }
  now_ = at;
}

/// A transfer is over.
void KvLink::settle(const Flow& flow) {
  for (const WireId wire : flow.route) {
    wires_[wire].over += flow.whole - flow.left;
  }
}

void KvLink::check_bytes() const {
  core::IndexVector<Int128, WireId> of_transfers;
  for (const Wire& wire : wires_) {
    of_transfers.push_back(wire.over);
  }
  for (const auto& [id, flow] : flows_) {
    for (const WireId wire : flow.route) {
      of_transfers[wire] += flow.whole - flow.left;
    }
  }
  auto sum = of_transfers.begin();
  for (const Wire& wire : wires_) {
    RIDGELINE_CHECK(wire.moved == *sum++, "a wire has moved the sum of its transfers");
    RIDGELINE_CHECK(wire.moved <= wire.could_move, "a wire has moved no more than it can");
  }
}

void KvLink::find_rates() {
  for (Wire& wire : wires_) {
    wire.room = wire.capacity;
    wire.num_flows = 0;
    wire.is_taken = false;
  }
  for (auto& [id, flow] : flows_) {
    flow.has_rate = false;
    for (const WireId wire : flow.route) {
      ++wires_[wire].num_flows;
    }
  }
  if (sharing_ == Sharing::kFifo) {
    serve_in_line();
  } else {
    fill_progressively();
  }
}

/// The wire that gives each of its transfers the least settles theirs; and so on with the others.
void KvLink::fill_progressively() {
  const auto share = [](const Wire& wire) {
    return wire.num_flows == 0 ? std::numeric_limits<std::int64_t>::max()
                               : wire.room / wire.num_flows;
  };
  for (std::int64_t settled = 0; settled < num_active();) {
    const auto tightest = std::ranges::min_element(wires_, {}, share);
    const std::int64_t rate = share(*tightest);
    const WireId wire(static_cast<WireId::Rep>(std::distance(wires_.begin(), tightest)));
    for (auto& [id, flow] : flows_) {
      if (!flow.has_rate && std::ranges::find(flow.route, wire) != flow.route.end()) {
        give(flow, rate);
        ++settled;
      }
    }
  }
}

void KvLink::serve_in_line() {
  for (auto& [id, flow] : flows_) {
    std::int64_t rate = std::numeric_limits<std::int64_t>::max();
    for (const WireId wire : flow.route) {
      rate = std::min(rate, wires_[wire].is_taken ? 0 : wires_[wire].capacity);
    }
    for (const WireId wire : flow.route) {
      wires_[wire].is_taken = true;
    }
    give(flow, rate);
  }
}

void KvLink::give(Flow& flow, std::int64_t rate) {
  flow.rate = rate;
  flow.has_rate = true;
  for (const WireId wire : flow.route) {
    wires_[wire].room -= rate;
    --wires_[wire].num_flows;
    RIDGELINE_CHECK(wires_[wire].room >= 0, "no wire moves more than it can");
  }
}

}  // namespace ridgeline::link
