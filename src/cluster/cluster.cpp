#include "cluster/cluster.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "cluster/gateway.hpp"
#include "cluster/part.hpp"
#include "cluster/routing_audit.hpp"
#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/parallel.hpp"
#include "core/time.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/instance.hpp"
#include "engine/server.hpp"
#include "routing/router.hpp"

namespace ridgeline::cluster {
namespace {

using core::SimTime;
using engine::Pause;

/// The shortest time: an advance to an instant and this goes through that instant.
constexpr core::Duration kTick = core::Duration::ticks(1);
/// No limit to what one call may simulate.
constexpr std::int64_t kAllSegments = std::numeric_limits<std::int64_t>::max();

bool ends_the_call(Pause pause) {
  return pause != Pause::kLimit && pause != Pause::kIdle;
}

void add(engine::EngineTotals& all, const engine::EngineTotals& one) {
  all.steps += one.steps;
  all.preemptions += one.preemptions;
  all.step_time.cpu += one.step_time.cpu;
  for (std::size_t part = 0; part < domain::kNumBottlenecks; ++part) {
    all.step_time.by_bottleneck[part] += one.step_time.by_bottleneck[part];
  }
  all.busy += one.busy;
  all.prefix_queries += one.prefix_queries;
  all.prefix_hits += one.prefix_hits;
  all.peak_used_blocks += one.peak_used_blocks;
  all.used_block_seconds += one.used_block_seconds;
  all.jumped_steps += one.jumped_steps;
}

/// The record of a request that ends at no instance.
domain::RequestRecord unserved(const domain::Request& request,
                               domain::Outcome outcome,
                               SimTime at) {
  domain::RequestRecord record;
  record.id = request.id;
  record.label_set = request.label_set;
  record.outcome = outcome;
  record.prompt_tokens = request.prompt_tokens;
  record.arrival = request.arrival;
  record.queued = at;
  return record;
}

/// The policies of all gateways.
Gateway::Routers all_routers(ClusterInputs& inputs) {
  Gateway::Routers all = std::move(inputs.more_routers);
  all.insert(all.begin(), std::move(inputs.router));
  return all;
}

}  // namespace

Cluster::Cluster(ClusterInputs inputs)
    : sink_(inputs.instance.engine.sink),
      eager_(inputs.eager),
      threads_(inputs.parts.empty() && inputs.router->needs().nothing() && inputs.audit.empty()
                   ? inputs.threads
                   : 1),
      gateway_(all_routers(inputs),
               {.num_instances = inputs.num_instances, .may_change = !inputs.parts.empty()},
               inputs.times,
               inputs.seed,
               inputs.split),
      like_(inputs.instance) {
  for (const routing::InstanceView& view : gateway_.views()) {
    if (threads_ > 1) {
      held_.push_back(std::make_unique<HeldRecords>());
    }
    instances_.push_back(new_instance(view.id));
    visible_.add();
  }
  gateway_.look_at_caches(
      [this](const domain::Request& request, core::InstanceId id, SimTime as_of) {
        return instance(id, as_of).cached_prefix_at(request, as_of);
      });
  serves_.assign(instances_.size(), true);
  before_.resize(instances_.size());
  gateway_.watch_decisions(inputs.decisions);
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
}

/// One that has done nothing yet.
std::unique_ptr<engine::Instance> Cluster::new_instance(core::InstanceId id) {
  return std::make_unique<engine::Instance>(engine::InstanceInputs{
      .engine = {.options = like_.engine.options,
                 .model = like_.engine.model,
                 .host = like_.engine.host,
                 .sink =
                     threads_ > 1 ? static_cast<domain::RecordSink&>(*held_[id.value()]) : *this,
                 .horizon = like_.engine.horizon,
                 .tokens = like_.engine.tokens,
                 .first_tokens = gateway_.needs().first_token ? this : nullptr,
                 .kv_history =
                     gateway_.needs().cache ? gateway_.times().kv_events_delay : core::Duration(),
                 .loads = this},
      .path = like_.path,
      .id = id,
      .core = like_.core,
      .jump = like_.jump,
      .may_slow_down = like_.may_slow_down});
}

void Cluster::submit(const domain::Request& request) {
  RIDGELINE_CHECK(arrivals_.empty() || arrivals_.back().arrival <= request.arrival,
                  "requests are submitted in order of arrival");
  arrivals_.push_back(request);
}

void Cluster::abort(core::RequestId id, SimTime at) {
  const auto waiting = std::ranges::find(arrivals_, id, &domain::Request::id);
  if (waiting != arrivals_.end()) {
    const domain::Request gone = std::move(*waiting);
    arrivals_.erase(waiting);
    sink_.on_request(unserved(gone, domain::Outcome::kAborted, at));
    return;
  }
  Ticket* const ticket = tickets_.find(id);
  if (ticket == nullptr) {
    return;
  }
  aborted_at_ = at;
  if (ticket->is_delivered) {
    const std::size_t place = ticket->counted.instance.value();
    instances_[place]->abort(id, at);
    visible_.set(place, instances_[place]->next_visible());
    return;
  }
  for (const OwnPart& own : parts_) {
    own.part->on_abort(*ticket);
  }
  end(*ticket, domain::Outcome::kAborted, at);
}

Pause Cluster::advance(SimTime limit, bool pause_at_completion, std::int64_t max_segments) {
  watch_ends(pause_at_completion || gateway_.needs().ends() || gateway_.is_audited() ||
             !parts_.empty());
  for (std::int64_t rounds = 0; rounds < max_segments; ++rounds) {
    const SimTime event = next_event();
    const SimTime visible = ends_are_watched_ ? visible_.least() : SimTime::never();
    const bool is_idle = tickets_.empty() && arrivals_.empty() && limit == SimTime::never();
    Pause pause = Pause::kLimit;
    if (visible < std::min(event, limit)) {
      pause = settle(visible, pause_at_completion, max_segments);
    } else if (event >= limit || is_idle) {
      return finish(limit, max_segments);
    } else {
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

/// Whether the ends and first tokens of instances are taken in as they come.
void Cluster::watch_ends(bool watched) {
  if (watched && !ends_are_watched_) {
    for (std::size_t place = 0; place < instances_.size(); ++place) {
      visible_.set(place, instances_[place]->next_visible());
    }
  }
  ends_are_watched_ = watched;
}

Pause Cluster::advance_one(std::size_t place,
                           SimTime limit,
                           bool pause_at_completion,
                           std::int64_t max_segments) {
  engine::Instance& one = *instances_[place];
  const Pause pause = one.advance(limit, pause_at_completion, max_segments);
  if (!held_.empty()) {
    held_[place]->hand_on(*this);
  }
  if (ends_are_watched_) {
    visible_.set(place, one.next_visible());
  }
  return pause;
}

/// Every instant before `limit` of every instance.
Pause Cluster::advance_all(SimTime limit, std::int64_t max_segments) {
  if (threads_ > 1 && !ends_are_watched_) {
    return advance_apart(limit);
  }
  for (std::size_t place = 0; place < instances_.size(); ++place) {
    const Pause pause = advance_one(place, limit, false, max_segments);
    if (ends_the_call(pause)) {
      return pause;
    }
  }
  return Pause::kLimit;
}

/// The same, each instance by itself on one of the threads. Their records are handed on as one
/// thread would have them.
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
  if (eager_) {
    if (const Pause pause = advance_all(instant, max_segments); ends_the_call(pause)) {
      return pause;
    }
  }
  // Each once: after a pause an instance may still be due at this instant.
  due_.clear();
  for (; visible_.least() <= instant; visible_.set(due_.back(), SimTime::never())) {
    due_.push_back(visible_.first());
  }
  for (const std::size_t place : due_) {
    visible_.set(place, instant);  // Of those that an early return leaves out.
  }
  bool ended = false;
  for (const std::size_t place : due_) {
    const Pause pause = advance_one(place, instant + kTick, pause_at_completion, max_segments);
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
  return Pause::kIdle;
}

/// All that is due in the cluster at `now`.
void Cluster::process(SimTime now) {
  reached_ = std::max(reached_, now);
  act(now, PartKind::kFaults, PartKind::kLinks);
  read_gauges(now);
  take_arrivals(now);
  act(now, PartKind::kAdmission, PartKind::kFlowControl);
  hand_over_deliveries(now);
  act(now, PartKind::kScaling, PartKind::kScaling);
}

void Cluster::act(SimTime now, PartKind first, PartKind last) {
  for (const OwnPart& own : parts_) {
    if (own.kind >= first && own.kind <= last && own.part->next_instant() <= now) {
      own.part->act(now);
    }
  }
}

void Cluster::read_gauges(SimTime now) {
  while (gateway_.next_scrape() <= now) {
    const SimTime at = gateway_.next_scrape();
    gateway_.scrape(gauges(gateway_.next_scraped(), at));
  }
}

routing::Gauges Cluster::gauges(core::InstanceId id, SimTime at) {
  const engine::InstanceState state = instance(id, at).state(at);
  const auto used = static_cast<double>(state.used_blocks.value());
  const auto all = static_cast<double>((state.used_blocks + state.free_blocks).value());
  return {
      .waiting = state.waiting, .running = state.running, .kv_usage = all > 0.0 ? used / all : 0.0};
}

SimTime Cluster::end_of(const domain::RequestRecord& record) const {
  if (record.outcome == domain::Outcome::kAborted) {
    return aborted_at_;
  }
  if (record.outcome == domain::Outcome::kFailed) {
    return record.failed;
  }
  return record.last_token == SimTime::never() ? record.queued : record.last_token;
}

void Cluster::take_arrivals(SimTime now) {
  for (; next_arrival() == now; arrivals_.pop_front()) {
    Ticket& ticket = tickets_.add(std::move(arrivals_.front()));
    const bool is_kept = std::ranges::any_of(
        parts_, [&](const OwnPart& own) { return own.part->on_arrival(ticket, now); });
    if (is_kept || dispatch(ticket, now)) {
      continue;
    }
    const bool is_held = std::ranges::any_of(
        parts_, [&](const OwnPart& own) { return own.part->on_no_instance(ticket, now); });
    if (!is_held) {
      end(ticket, domain::Outcome::kRejected, now);
    }
  }
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

void Cluster::submit_to(const domain::Request& request,
                        core::InstanceId id,
                        const engine::Leg& leg) {
  instances_[id.value()]->submit_leg(request, leg);
  note_change(id);
}

/// What an instance was given may change when it next shows something.
void Cluster::note_change(core::InstanceId id) {
  if (ends_are_watched_) {
    visible_.set(id.value(), instances_[id.value()]->next_visible());
  }
}

void Cluster::submit(const domain::Request& request, core::InstanceId id, const engine::Leg& leg) {
  static_cast<void>(instance(id, request.arrival));
  submit_to(request, id, leg);
}

void Cluster::finish_load(core::RequestId id, core::InstanceId place, SimTime at, bool arrived) {
  instance(place, at).finish_load(id, at, arrived);
  note_change(place);
}

void Cluster::release_blocks(core::RequestId id, core::InstanceId place, SimTime at) {
  instance(place, at).release_blocks(id, at);
  note_change(place);
}

void Cluster::on_load_start(const engine::LoadStart& load, SimTime at) {
  for (const OwnPart& own : parts_) {
    own.part->on_load_start(load, at);
  }
}

bool Cluster::dispatch(Ticket& ticket, SimTime now) {
  for (const OwnPart& own : parts_) {
    if (const auto sent = own.part->on_dispatch(ticket, now)) {
      return *sent;
    }
  }
  const std::optional<Gateway::Counted> counted = gateway_.route(ticket.request, now);
  if (!counted) {
    return false;
  }
  ticket.counted = *counted;
  ticket.is_counted = true;
  ticket.first_token_seen = false;
  ++ticket.dispatches;
  deliver(ticket.request,
          counted->instance,
          SimTime::saturating_sum(now, gateway_.times().gateway_latency));
  return true;
}

void Cluster::deliver(const domain::Request& request, core::InstanceId instance, SimTime at) {
  Ticket& ticket = *tickets_.find(request.id);
  domain::Request sent = request;
  sent.arrival = at;
  if (parts_.empty()) {
    // Deliveries keep the order of arrivals: there is nothing to wait for.
    ticket.is_delivered = true;
    submit_to(sent, instance, {});
    return;
  }
  ticket.is_delivered = false;
  ticket.delivery = num_deliveries_++;
  deliveries_.push(
      {.at = at, .instance = instance, .sequence = ticket.delivery, .request = std::move(sent)});
}

void Cluster::end(Ticket& ticket, domain::Outcome outcome, SimTime at) {
  if (ticket.is_counted) {
    gateway_.note_end(ticket.counted, ticket.first_token_seen, at);
  }
  ended_ = true;
  domain::RequestRecord record = unserved(ticket.request, outcome, at);
  for (const OwnPart& own : parts_) {
    own.part->on_end(ticket, record);
  }
  tickets_.erase(ticket.request.id);
  sink_.on_request(record);
}

engine::Instance& Cluster::instance(core::InstanceId id, SimTime now) {
  while (advance_one(id.value(), now, false, kAllSegments) == Pause::kBudget) {
  }
  return *instances_[id.value()];
}

/// A request reaches an instance that is dead.
void Cluster::refuse(const domain::Request& request, core::InstanceId id, SimTime now) {
  domain::RequestRecord record = unserved(request, domain::Outcome::kFailed, now);
  record.instance = id;
  record.failed = now;
  on_request(record);
}

void Cluster::stop(core::InstanceId id, SimTime now) {
  serves_[id.value()] = false;
  instance(id, now).fail(now);
  note_change(id);
}

void Cluster::renew(core::InstanceId id) {
  const std::size_t place = id.value();
  before_[place] = totals_of(id);
  instances_[place] = new_instance(id);
  note_change(id);
}

void Cluster::cut_all(SimTime now) {
  for (const auto& one : instances_) {
    instance(one->id(), now);
  }
  for (const core::RequestId id : tickets_.ids()) {
    abort(id, now);
  }
}

SimTime Cluster::next_arrival() const {
  return arrivals_.empty() ? SimTime::never() : arrivals_.front().arrival;
}

/// The next instant at which the cluster itself does something.
SimTime Cluster::next_event() const {
  SimTime next = std::min(next_arrival(), gateway_.next_scrape());
  if (!deliveries_.empty()) {
    next = std::min(next, deliveries_.top().at);
  }
  for (const OwnPart& own : parts_) {
    next = std::min(next, own.part->next_instant());
  }
  return next;
}

void Cluster::on_request(const domain::RequestRecord& record) {
  Ticket* const held = tickets_.find(record.id);
  RIDGELINE_CHECK(held != nullptr, "a request ends once, where it was sent");
  Ticket& ticket = *held;
  RIDGELINE_CHECK(ticket.counted.instance == record.instance, "a request ends where it was sent");
  domain::RequestRecord own = record;
  own.arrival = ticket.request.arrival;
  if (record.outcome != domain::Outcome::kUnfinished) {
    if (ticket.is_counted) {
      gateway_.note_end(ticket.counted, ticket.first_token_seen, end_of(record));
    }
    ticket.is_counted = false;
    ticket.is_delivered = false;
  }
  for (const OwnPart& part : parts_) {
    if (part.part->on_leg_end(ticket, own)) {
      return;
    }
  }
  for (const OwnPart& part : parts_) {
    part.part->on_end(ticket, own);
  }
  tickets_.erase(record.id);
  sink_.on_request(own);
}

void Cluster::on_first_token(core::RequestId id, SimTime at) {
  Ticket& ticket = *tickets_.find(id);
  if (ticket.is_counted && !ticket.first_token_seen) {
    ticket.first_token_seen = true;
    gateway_.note_first_token(ticket.counted, at);
  }
}

engine::InstanceState Cluster::state(SimTime at) const {
  engine::InstanceState all{.at = at};
  for (const auto& instance : instances_) {
    const engine::InstanceState one = instance->state(at);
    all.running += one.running;
    all.waiting += one.waiting;
    all.queued_prompt_tokens += one.queued_prompt_tokens;
    all.used_blocks += one.used_blocks;
    all.free_blocks += one.free_blocks;
  }
  return all;
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

engine::EngineTotals Cluster::totals_of(core::InstanceId id) const {
  engine::EngineTotals all = before_[id.value()];
  const core::Blocks peak = all.peak_used_blocks;
  const engine::EngineTotals now = instances_[id.value()]->totals();
  add(all, now);
  all.peak_used_blocks = std::max(peak, now.peak_used_blocks);
  return all;
}

engine::EngineTotals Cluster::totals() const {
  engine::EngineTotals all;
  for (const auto& instance : instances_) {
    add(all, totals_of(instance->id()));
  }
  return all;
}

void Cluster::drop_all() {
  const SimTime at = now();
  for (const auto& instance : instances_) {
    instance->drop_all();
  }
  drop_tickets(at);
  for (; !arrivals_.empty(); arrivals_.pop_front()) {
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
