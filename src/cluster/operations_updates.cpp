// Rolling updates: instances that are replaced by new ones, batch by batch.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cluster/lifecycle.hpp"
#include "cluster/operations.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "scaling/rolling_update.hpp"

namespace ridgeline::cluster {

using core::SimTime;

void Operations::begin_update(std::int64_t number) {
  const PlannedUpdate& update = inputs_.updates[static_cast<std::size_t>(number)];
  totals_.updates.push_back(
      {.update = number, .fewest_ready = num_ready(inputs_.places[update.places])});
}

/// After all else of an instant, so that the order of its events makes no difference.
void Operations::go_on_with_updates(SimTime now) {
  for (UpdateReport& report : totals_.updates) {
    if (report.over != SimTime::never()) {
      continue;
    }
    const PlannedUpdate& update = inputs_.updates[static_cast<std::size_t>(report.update)];
    while (take_step(update, report, now)) {
    }
    const Places& places = inputs_.places[update.places];
    report.fewest_ready = std::min(report.fewest_ready, num_ready(places));
    bool is_over = num_ready(places) == update.limits.replicas;
    for (std::size_t place = places.first; place < places.first + places.count; ++place) {
      is_over &= lives_[place].state == Lifecycle::kGone || lives_[place].is_updated;
    }
    if (is_over) {
      report.over = now;
    }
  }
}

/// False where there is nothing to do now.
bool Operations::take_step(const PlannedUpdate& update, UpdateReport& report, SimTime now) {
  const Places& places = inputs_.places[update.places];
  scaling::UpdateState state{.free_places = num_gone(places)};
  for (std::size_t place = places.first; place < places.first + places.count; ++place) {
    const Life& one = lives_[place];
    if (one.state != Lifecycle::kGone && one.state != Lifecycle::kDraining) {
      const bool is_ready = one.state == Lifecycle::kReady;
      ++(one.is_updated ? (is_ready ? state.new_ready : state.new_unready)
                        : (is_ready ? state.old_ready : state.old_unready));
    }
  }
  const scaling::UpdateStep step = scaling::update_step(update.limits, state);
  start(step.start, now, places);
  for (std::int64_t left = step.retire_unready; left > 0; --left) {
    retire_one(now, places, [](const Life& one) {
      return !one.is_updated && one.state != Lifecycle::kReady;
    });
  }
  for (std::int64_t left = step.retire_ready; left > 0; --left) {
    retire_one(now, places, [](const Life& one) {
      return !one.is_updated && one.state == Lifecycle::kReady;
    });
  }
  report.replaced += step.retire_unready + step.retire_ready;
  return step != scaling::UpdateStep{};
}

/// Whether an update of these places has begun.
bool Operations::is_updating(const Places& places) const {
  return std::ranges::any_of(totals_.updates, [&](const UpdateReport& report) {
    const PlannedUpdate& update = inputs_.updates[static_cast<std::size_t>(report.update)];
    return inputs_.places[update.places].first == places.first;
  });
}

/// The report of the update that an old instance goes by; -1: none.
std::int64_t Operations::update_of(core::InstanceId id) const {
  for (std::size_t i = 0; i < totals_.updates.size(); ++i) {
    const auto number = static_cast<std::size_t>(totals_.updates[i].update);
    if (inputs_.places[inputs_.updates[number].places].has(id)) {
      return static_cast<std::int64_t>(i);
    }
  }
  return -1;
}

}  // namespace ridgeline::cluster
