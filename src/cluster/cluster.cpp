#include "cluster/cluster.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "cluster/gateway.hpp"
#include "cluster/part.hpp"
#include "cluster/pools.hpp"
#include "cluster/routing_audit.hpp"
#include "cluster/tickets.hpp"
#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/parallel.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/instance.hpp"
#include "engine/instance_group.hpp"
#include "engine/kv_look.hpp"
#include "engine/server.hpp"
#include "routing/router.hpp"

namespace ridgeline::cluster {
namespace {

using core::SimTime;
using engine::Pause;

/// After so many rounds in a row that move no request, and in which nothing is due but what repeats
/// itself for ever, a cluster is taken to be in a loop without an end. Ours to choose.
constexpr std::int64_t kMostIdleRounds = 10'000'000;

bool ends_the_call(Pause pause) {
  return pause != Pause::kLimit && pause != Pause::kIdle;
}

/// The policies of all gateways.
Gateway::Routers all_routers(ClusterInputs& inputs) {
  Gateway::Routers all = std::move(inputs.more_routers);
  all.insert(all.begin(), std::move(inputs.router));
  return all;
}

/// What the gateway has to know of the instances.
Gateway::Instances instances_behind(const ClusterInputs& inputs) {
  Gateway::Instances behind{.num_instances = inputs.num_instances,
                            .may_change = !inputs.parts.empty(),
                            .sites = inputs.sites};
  const std::vector<std::size_t> pool_of = pools_of_instances(inputs.pools);
  for (const std::size_t pool : pool_of) {
    behind.weights.push_back(inputs.pools[pool].weight);
  }
  for (const std::vector<bool>& members : inputs.groups.members) {
    std::vector<bool>& group = behind.groups.emplace_back();
    for (const std::size_t pool : pool_of) {
      group.push_back(members[pool]);
    }
  }
  return behind;
}

}  // namespace

Cluster::Cluster(ClusterInputs inputs)
    : sink_(inputs.instance.engine.sink),
      eager_(inputs.eager),
      threads_(inputs.parts.empty() && inputs.router->needs().nothing() && inputs.audit.empty() &&
                       inputs.ranks_in_lock_step == 1 && !have_ranks(inputs.pools)
                   ? inputs.threads
                   : 1),
      gateway_(all_routers(inputs),
               instances_behind(inputs),
               inputs.times,
               inputs.seed,
               inputs.split,
               inputs.connections),
      looks_ahead_(inputs.arrivals_are_known && !inputs.eager && inputs.parts.empty() &&
                   inputs.ranks_in_lock_step == 1 && !have_ranks(inputs.pools) &&
                   gateway_.needs().cache && inputs.times.kv_events_delay > core::Duration()),
      ranks_in_lock_step_(inputs.ranks_in_lock_step),
      like_(inputs.instance),
      pools_(inputs.pools),
      pool_of_(pools_of_instances(inputs.pools)),
      pool_groups_(std::move(inputs.groups)),
      seed_(inputs.seed) {
  RIDGELINE_CHECK(pools_.empty() || std::ssize(pool_of_) == inputs.num_instances,
                  "the pools have all instances");
  if (!eager_ && (gateway_.needs().cache || !inputs.parts.empty())) {
    sent_.emplace(gateway_.views().size());
  }
  for (const routing::InstanceView& view : gateway_.views()) {
    if (threads_ > 1) {
      held_.push_back(std::make_unique<HeldRecords>());
    }
    const std::span<const domain::Request> warm_from =
        inputs.warm_from.empty() ? std::span<const domain::Request>()
                                 : inputs.warm_from[static_cast<std::size_t>(view.id.value())];
    for (const domain::Request& request : warm_from) {
      note_sent(request, view.id);
    }
    instances_.push_back(new_instance(view.id, warm_from));
  }
  make_units();
  gateway_.look_at_caches(
      [this](const domain::Request& request, core::InstanceId id, const Gateway::Reported& known) {
        if (looks_ahead_) {
          return looks_.front().empty() ? core::Tokens() : looks_.front()[id.value()];
        }
        if (!may_hold(request, id)) {
          return core::Tokens();
        }
        return instance(id, known.as_of)
            .cached_prefix_at(request, {.as_of = known.as_of, .since = known.since});
      });
  gateway_.set_targets(std::move(inputs.targets_of));
  serves_.assign(instances_.size(), true);
  last_changes_.assign(instances_.size(), 0);
  before_.resize(instances_.size());
  gateway_.watch_decisions(inputs.decisions);
  if (inputs.stories != nullptr) {
    stories_ = std::make_unique<Stories>(*inputs.stories);
  }
  if (!inputs.audit.empty()) {
    gateway_.audit(std::move(inputs.audit),
                   [this](const domain::Request& request, core::InstanceId id, SimTime now) {
                     const routing::Gauges read = gauges(id, now);
                     return TrueState{.gauges = read,
                                      .cached = instance(id, now).cached_prefix(request)};
                   });
  }
  std::ranges::stable_sort(inputs.parts, {}, &PartMaker::kind);
  for (const PartMaker& maker : inputs.parts) {
    parts_.push_back({.kind = maker.kind, .part = maker.make(*this)});
  }
  find_readers();
}

/// One that has done nothing yet.
std::unique_ptr<engine::Instance> Cluster::new_instance(
    core::InstanceId id, std::span<const domain::Request> warm_from) {
  const InstancePool pool = pool_of_.empty() ? InstancePool{.options = &like_.engine.options,
                                                            .model = &like_.engine.model,
                                                            .host = &like_.engine.host}
                                             : pools_[pool_of_[id.value()]];
  return std::make_unique<engine::Instance>(engine::InstanceInputs{
      .engine = {.options = *pool.options,
                 .model = *pool.model,
                 .host = *pool.host,
                 .sink =
                     threads_ > 1 ? static_cast<domain::RecordSink&>(*held_[id.value()]) : *this,
                 .horizon = like_.engine.horizon,
                 .tokens = like_.engine.tokens,
                 .first_tokens = gateway_.needs().first_token ? this : nullptr,
                 .kv_history =
                     gateway_.needs().cache && !looks_ahead_
                         ? engine::KvHistory{.kept = gateway_.times().kv_history(),
                                             .keeps_ages = gateway_.times().may_forget_events}
                         : engine::KvHistory{},
                 .loads = this},
      .path = like_.path,
      .id = id,
      .core = like_.core,
      .jump = like_.jump,
      .may_slow_down = like_.may_slow_down,
      .in_lock_step = ranks_of(id) > 1,
      .pace = own_pace(pool.spread, id, seed_),
      .warm_from = warm_from,
      .kv_events = like_.kv_events});
}

/// Ranks of the group that an instance is of; 1 where it is of none.
std::int64_t Cluster::ranks_of(core::InstanceId id) const {
  return pools_.empty() ? ranks_in_lock_step_ : pools_[pool_of_[id.value()]].ranks_in_lock_step;
}

void Cluster::make_units() {
  bool have_groups = false;
  for (std::size_t first = 0; first < instances_.size(); first += units_.back().size) {
    const auto size = static_cast<std::size_t>(ranks_of(instances_[first]->id()));
    RIDGELINE_CHECK(
        first + size <= instances_.size() &&
            ranks_of(instances_[first + size - 1]->id()) == ranks_of(instances_[first]->id()),
        "every group of ranks is whole");
    unit_of_.insert(unit_of_.end(), size, units_.size());
    units_.push_back({.first = first, .size = size});
    visible_.add();
    have_groups = have_groups || size > 1;
  }
  for (const Unit& unit : have_groups ? units_ : std::vector<Unit>()) {
    std::vector<engine::Instance*> ranks;
    for (std::size_t rank = 0; rank < unit.size; ++rank) {
      ranks.push_back(instances_[unit.first + rank].get());
    }
    groups_.push_back(unit.size > 1 ? std::make_unique<engine::InstanceGroup>(std::move(ranks))
                                    : nullptr);
  }
}

void Cluster::submit(const domain::Request& request) {
  RIDGELINE_CHECK(arrivals_.empty() || arrivals_.back().arrival <= request.arrival,
                  "requests are submitted in order of arrival");
  arrivals_.extend() = request;
}

void Cluster::abort(core::RequestId id, SimTime at) {
  for (std::size_t i = 0; i < arrivals_.size(); ++i) {
    if (arrivals_[i].id == id) {
      const domain::RequestRecord gone = unserved(arrivals_[i], domain::Outcome::kAborted, at);
      arrivals_.erase_at(i);
      if (i < looks_.size()) {
        looks_.erase_at(i);
      }
      sink_.on_request(gone);
      return;
    }
  }
  Ticket* const ticket = tickets_.find(id);
  if (ticket == nullptr) {
    return;
  }
  aborted_at_ = at;
  ended_ = true;  // If a part did it, a closed loop's client goes on from here.
  ++num_changes_;
  if (ticket->is_delivered) {
    const core::InstanceId place = ticket->counted.instance;
    read_gauges(place);
    instances_[place.value()]->abort(id, at);
    note_change(place);
    return;
  }
  for (const OwnPart& own : parts_) {
    own.part->on_abort(*ticket);
  }
  end(*ticket, domain::Outcome::kAborted, at);
}

Pause Cluster::advance(SimTime limit, bool pause_at_completion, std::int64_t max_segments) {
  if (looks_ahead_ && limit != SimTime::never()) {
    // Caches are still to be looked into as of this instant, for the first request not yet known.
    limit = known_at(limit);
  }
  watch_ends(pause_at_completion || gateway_.needs().ends() || gateway_.is_audited() ||
             !parts_.empty());
  for (std::int64_t rounds = 0; rounds < max_segments; ++rounds) {
    const SimTime event = next_event();
    const SimTime visible = ends_are_watched_ ? visible_.least() : SimTime::never();
    // A rank may still wait for KV that a part is about to give up: its group would go on for ever.
    const bool is_idle = tickets_.empty() && arrivals_.empty() && limit == SimTime::never() &&
                         (groups_.empty() || !have_parts_a_duty());
    Pause pause = Pause::kLimit;
    if (visible < std::min(event, limit)) {
      check_progress(visible, visible);
      pause = settle(visible, pause_at_completion, max_segments);
    } else if (event >= limit || is_idle) {
      return finish(limit, max_segments);
    } else {
      check_progress(event, visible);
      if (eager_) {
        pause = advance_all(event, max_segments);
      }
      if (!ends_the_call(pause)) {
        ended_ = false;
        process(event);
        pause = pause_at_completion && ended_ ? Pause::kCompletion : pause;
      }
    }
    if (ends_the_call(pause)) {
      return pause;
    }
  }
  return Pause::kBudget;
}

/// Checks a round at `instant`. Requests move in it, or will, where time goes on and an instance
/// has something to show (`visible`), a request is on its way, or a part has a duty.
void Cluster::check_progress(SimTime instant, SimTime visible) {
  const bool moves = !ends_are_watched_ || visible != SimTime::never() || tickets_.empty() ||
                     !arrivals_.empty() || !deliveries_.empty() || have_parts_a_duty();
  idle_rounds_ = instant > last_round_ && moves ? 0 : idle_rounds_ + 1;
  last_round_ = instant;
  if (idle_rounds_ == kMostIdleRounds) [[unlikely]] {
    end_without_progress(instant);
  }
}

/// Whether the ends and first tokens of instances are taken in as they come.
void Cluster::watch_ends(bool watched) {
  if (watched && !ends_are_watched_) {
    for (std::size_t unit = 0; unit < num_units(); ++unit) {
      look_at(unit);
    }
  }
  ends_are_watched_ = watched;
}

/// When a unit next shows something.
void Cluster::look_at(std::size_t unit) {
  const engine::InstanceGroup* const ranks = group(unit);
  visible_.set(
      unit,
      ranks == nullptr ? instances_[units_[unit].first]->next_visible() : ranks->next_visible());
}

Pause Cluster::advance_one(std::size_t unit,
                           SimTime limit,
                           bool pause_at_completion,
                           std::int64_t max_segments) {
  const auto [first, size] = units_[unit];
  for (std::size_t rank = 0; !readers_.empty() && rank < size; ++rank) {
    read_gauges(instances_[first + rank]->id(), limit);
  }
  engine::InstanceGroup* const ranks = group(unit);
  const Pause pause = ranks == nullptr
                          ? instances_[first]->advance(limit, pause_at_completion, max_segments)
                          : ranks->advance(limit, pause_at_completion, max_segments);
  if (!held_.empty()) {
    held_[unit]->hand_on(*this);
  }
  if (ends_are_watched_) {
    look_at(unit);
  }
  return pause;
}

/// Every instant before `limit` of every instance.
Pause Cluster::advance_all(SimTime limit, std::int64_t max_segments) {
  if (threads_ > 1 && !ends_are_watched_) {
    return advance_apart(limit);
  }
  for (std::size_t unit = 0; unit < num_units(); ++unit) {
    const Pause pause = advance_one(unit, limit, false, max_segments);
    if (ends_the_call(pause)) {
      return pause;
    }
  }
  return Pause::kLimit;
}

/// advance_all() with each instance by itself on one of the threads. Their records are handed on as
/// one thread would have them.
Pause Cluster::advance_apart(SimTime limit) {
  std::vector<Pause> pauses(instances_.size(), Pause::kLimit);
  core::for_each_job(instances_.size(), threads_, [&](std::size_t place) {
    pauses[place] = instances_[place]->advance(limit, false, kAllSegments);
  });
  Pause all = Pause::kLimit;
  for (std::size_t place = 0; place < instances_.size(); ++place) {
    held_[place]->hand_on(*this);
    all = ends_the_call(pauses[place]) ? pauses[place] : all;
  }
  return all;
}

/// Instances may show an end or a first token at `instant`, and none before: goes through it. Where
/// the caller asked for pauses, no batch is formed where a request ended.
Pause Cluster::settle(SimTime instant, bool pause_at_completion, std::int64_t max_segments) {
  passed_ = instant + kTick;
  pass_gauges(passed_);
  if (eager_) {
    if (const Pause pause = advance_all(instant, max_segments); ends_the_call(pause)) {
      return pause;
    }
  }
  // Each once: after a pause an instance may still be due at this instant.
  due_.clear();
  visible_.list_due(instant, due_);
  bool ended = false;
  for (const std::size_t unit : due_) {
    const Pause pause = advance_one(unit, instant + kTick, pause_at_completion, max_segments);
    if (pause == Pause::kBudget || pause == Pause::kHorizon) {
      return pause;
    }
    ended = ended || pause == Pause::kCompletion;
  }
  reached_ = std::max(reached_, instant);
  return ended ? Pause::kCompletion : Pause::kLimit;
}

/// Nothing happens in the cluster before `limit`: every instance is advanced to it, however little
/// the gateway needs to know, since the caller may ask for their state.
Pause Cluster::finish(SimTime limit, std::int64_t max_segments) {
  if (limit != SimTime::never()) {
    passed_ = std::max(passed_, limit);
    pass_gauges(limit);
  }
  if (const Pause pause = advance_all(limit, max_segments); ends_the_call(pause)) {
    return pause;
  }
  if (limit != SimTime::never()) {
    reached_ = std::max(reached_, limit);
    return tickets_.empty() && arrivals_.empty() ? Pause::kIdle : Pause::kLimit;
  }
  if (next_event() != SimTime::never() && !(tickets_.empty() && arrivals_.empty())) {
    return Pause::kLimit;  // What just ended made work for a part.
  }
  drop_tickets(reached_);
  gateway_.settle_counts();
  if (next_event() == SimTime::never()) {
    check_rest();
  }
  return Pause::kIdle;
}

/// Blocks that were taken are free again when all requests have ended.
void Cluster::check_rest() const {
  for (const auto& instance : instances_) {
    const engine::InstanceState state = instance->state(instance->now());
    RIDGELINE_CHECK(
        state.running == 0 && state.waiting == 0 && state.used_blocks == core::Blocks(0),
        "an instance without requests holds no blocks");
  }
}

/// All that is due in the cluster at `now`.
void Cluster::process(SimTime now) {
  reached_ = std::max(reached_, now);
  passed_ = std::max(passed_, now);
  pass_gauges(now);
  look_ahead(now);
  act(now, PartKind::kFaults, PartKind::kLinks);
  pass_gauges(now + kTick);
  take_arrivals(now);
  act(now, PartKind::kAdmission, PartKind::kFlowControl);
  hand_over_deliveries(now);
  act(now, PartKind::kScaling, PartKind::kScaling);
}

void Cluster::act(SimTime now, PartKind first, PartKind last) {
  for (const OwnPart& own : parts_) {
    if (own.kind >= first && own.kind <= last && own.part->next_instant() <= now) {
      own.part->act(now);
      num_changes_ += own.kind < PartKind::kScaling ? 1 : 0;
    }
  }
}

SimTime Cluster::end_of(const domain::RequestRecord& record) const {
  if (record.failed != SimTime::never()) {
    return record.failed;
  }
  if (record.outcome == domain::Outcome::kAborted) {
    return aborted_at_;
  }
  return record.last_token == SimTime::never() ? record.queued : record.last_token;
}

void Cluster::take_arrivals(SimTime now) {
  for (; next_arrival() == now; pop_arrival()) {
    domain::Request& request = arrivals_.front();
    ++num_changes_;
    Ticket& ticket = tickets_.add(request.id, request.arrival);
    const std::optional<std::uint32_t> group =
        pool_groups_.of ? pool_groups_.of(request) : std::optional(std::uint32_t{0});
    if (!group) {
      ticket.request = std::move(request);
      end(ticket, domain::Outcome::kNoSuchModel, now);
      continue;
    }
    if (parts_.empty()) {
      send_at_once(ticket, request, *group, now);
      continue;
    }
    ticket.request = std::move(request);
    ticket.group = *group;
    const bool is_kept = std::ranges::any_of(
        parts_, [&](const OwnPart& own) { return own.part->on_arrival(ticket, now); });
    if (!is_kept) {
      send(ticket, now);
    }
  }
  if (arrivals_.empty()) {
    arrivals_.clear();  // The next ones stand in the same memory.
    looks_.clear();
  }
}

/// Without parts. Deliveries keep the order of arrivals: there is nothing to wait for, and no copy
/// of the request to keep.
void Cluster::send_at_once(Ticket& ticket,
                           domain::Request& request,
                           std::uint32_t group,
                           SimTime now) {
  if (!gateway_.route_to(ticket.counted, request, now, group)) {
    ticket.request = request;
    end(ticket, domain::Outcome::kRejected, now);
    return;
  }
  const core::InstanceId instance = ticket.counted.instance;
  note_dispatch(ticket);
  ticket.is_delivered = true;
  request.arrival = SimTime::saturating_sum(now, gateway_.times().gateway_latency);
  if (stories_) {
    stories_->on_sent(request.id, instance, Share::kWhole, now, request.arrival);
  }
  submit_to(request, instance, {});
}

void Cluster::note_dispatch(Ticket& ticket) {
  ticket.is_counted = true;
  ticket.first_token_seen = false;
  ++ticket.dispatches;
}

void Cluster::hand_over_deliveries(SimTime now) {
  for (; !deliveries_.empty() && deliveries_.top().at <= now; deliveries_.pop()) {
    const Delivery& delivery = deliveries_.top();
    Ticket* const ticket = tickets_.find(delivery.request.id);
    if (ticket == nullptr || ticket->delivery != delivery.sequence) {
      continue;  // It was aborted, or sent elsewhere.
    }
    ticket->is_delivered = true;
    if (serves_[delivery.instance.value()]) {
      submit_to(delivery.request, delivery.instance, {});
    } else {
      refuse(delivery.request, delivery.instance, now);
    }
  }
}

SimTime Cluster::next_arrival() const {
  return arrivals_.empty() ? SimTime::never() : arrivals_.front().arrival;
}

/// The next instant at which the cluster itself does something.
SimTime Cluster::next_event() const {
  SimTime next = std::min(next_arrival(), next_look());
  if (eager_) {
    next = std::min(next, next_reading());
  }
  if (!deliveries_.empty()) {
    next = std::min(next, deliveries_.top().at);
  }
  for (const OwnPart& own : parts_) {
    next = std::min(next, own.part->next_instant());
  }
  return next;
}

SimTime Cluster::next_instant() const {
  SimTime next = next_event();
  for (const auto& instance : instances_) {
    next = std::min(next, instance->next_instant());
  }
  return next;
}

bool Cluster::have_parts_a_duty() const {
  return std::ranges::any_of(
      parts_, [](const OwnPart& own) { return own.part->next_duty() != SimTime::never(); });
}

SimTime Cluster::now() const {
  SimTime first = SimTime::never();
  for (const auto& instance : instances_) {
    if (instance->next_instant() != SimTime::never()) {
      first = std::min(first, instance->now());
    }
  }
  return first == SimTime::never() ? reached_ : std::max(reached_, first);
}

void Cluster::drop_all() {
  const SimTime at = now();
  for (const auto& instance : instances_) {
    instance->drop_all(SimTime::never());
  }
  drop_tickets(at);
  for (; !arrivals_.empty(); pop_arrival()) {
    if (arrivals_.front().arrival <= at) {
      sink_.on_request(unserved(arrivals_.front(), domain::Outcome::kUnfinished, at));
    }
  }
}

/// Reports every request that is at no instance as unfinished, in the order of their ids.
void Cluster::drop_tickets(SimTime at) {
  for (const core::RequestId id : tickets_.ids()) {
    end(*tickets_.find(id), domain::Outcome::kUnfinished, at);
  }
}

}  // namespace ridgeline::cluster
