// Rolling updates: instances that are replaced by new ones, batch by batch.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cluster/lifecycle.hpp"
#include "cluster/operations.hpp"
#include "cluster/scaling/rolling_update.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"

namespace ridgeline::cluster {

using core::SimTime;

void Operations::begin_update(std::int64_t number) {
  const Places& places = inputs_.places[inputs_.updates[static_cast<std::size_t>(number)].places];
  totals_.updates.push_back(
      {.update = number, .replicas = num_replicas(places), .fewest_ready = num_ready(places)});
}

const Places& Operations::places_of(const UpdateReport& report) const {
  return inputs_.places[inputs_.updates[static_cast<std::size_t>(report.update)].places];
}

/// The update of these places that has begun and is not over; null without one.
const UpdateReport* Operations::update_under_way(const Places& places) const {
  const auto found = std::ranges::find_if(totals_.updates, [&](const UpdateReport& report) {
    return report.over == SimTime::never() && places_of(report).first == places.first;
  });
  return found == totals_.updates.end() ? nullptr : &*found;
}

/// After all else of an instant, so that the order of its events makes no difference.
void Operations::go_on_with_updates(SimTime now) {
  for (UpdateReport& report : totals_.updates) {
    if (report.over != SimTime::never()) {
      continue;
    }
    while (take_step(report, now)) {
    }
    const Places& places = places_of(report);
    report.fewest_ready = std::min(report.fewest_ready, num_ready(places));
    bool is_over = num_ready(places) == report.replicas;
    report.starting = 0;
    for (std::size_t place = places.first; place < places.first + places.count; ++place) {
      const Life& one = lives_[place];
      is_over &= one.state == Lifecycle::kGone || one.is_updated;
      report.starting += one.is_updated && is_starting(one.state) ? 1 : 0;
    }
    if (is_over) {
      report.over = now;
    }
  }
}

/// False where there is nothing to do now.
bool Operations::take_step(UpdateReport& report, SimTime now) {
  const Places& places = places_of(report);
  const scaling::UpdateRule& rule = inputs_.updates[static_cast<std::size_t>(report.update)].rule;
  scaling::UpdateState state{.free_places = num_gone(places)};
  for (std::size_t place = places.first; place < places.first + places.count; ++place) {
    const Life& one = lives_[place];
    if (one.state != Lifecycle::kGone && one.state != Lifecycle::kDraining) {
      const bool is_ready = one.state == Lifecycle::kReady;
      ++(one.is_updated ? (is_ready ? state.new_ready : state.new_unready)
                        : (is_ready ? state.old_ready : state.old_unready));
    }
  }
  const scaling::UpdateStep step =
      scaling::update_step(scaling::update_limits(report.replicas, rule), state);
  start(step.start, now, places);
  const auto retire_some = [&](std::int64_t count, auto may_go) {
    for (; count > 0; --count) {
      retire_one(now, places, may_go);
    }
  };
  retire_some(step.retire_new, [](const Life& one) { return one.is_updated; });
  retire_some(step.retire_unready,
              [](const Life& one) { return !one.is_updated && one.state != Lifecycle::kReady; });
  retire_some(step.retire_ready,
              [](const Life& one) { return !one.is_updated && one.state == Lifecycle::kReady; });
  report.replaced += step.retire_unready + step.retire_ready;
  return step != scaling::UpdateStep{};
}

/// Whether an update of these places has begun.
bool Operations::is_updating(const Places& places) const {
  return std::ranges::any_of(totals_.updates, [&](const UpdateReport& report) {
    return places_of(report).first == places.first;
  });
}

/// The report of the update that an old instance goes by; -1: none.
std::int64_t Operations::update_of(core::InstanceId id) const {
  for (std::size_t i = 0; i < totals_.updates.size(); ++i) {
    if (places_of(totals_.updates[i]).has(id)) {
      return static_cast<std::int64_t>(i);
    }
  }
  return -1;
}

}  // namespace ridgeline::cluster
