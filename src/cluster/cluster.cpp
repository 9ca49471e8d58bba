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

routing::Gauges gauges_of(const engine::InstanceState& state) {
  const auto used = static_cast<double>(state.used_blocks.value());
  const auto all = static_cast<double>((state.used_blocks + state.free_blocks).value());
  return {
      .waiting = state.waiting, .running = state.running, .kv_usage = all > 0.0 ? used / all : 0.0};
}

/// When a client or a gateway sees a request's end.
SimTime end_of(const domain::RequestRecord& record, SimTime aborted_at) {
  if (record.outcome == domain::Outcome::kAborted) {
    return aborted_at;
  }
  return record.last_token == SimTime::never() ? record.queued : record.last_token;
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
               inputs.split) {
  for (const routing::InstanceView& view : gateway_.views()) {
    add_instance(inputs.instance, view.id);
  }
  gateway_.look_at_caches(
      [this](const domain::Request& request, core::InstanceId id, SimTime as_of) {
        return instance(id, as_of).cached_prefix_at(request, as_of);
      });
  gateway_.watch_decisions(inputs.decisions);
  if (!inputs.audit.empty()) {
    gateway_.audit(std::move(inputs.audit),
                   [this](const domain::Request& request, core::InstanceId id, SimTime now) {
                     engine::Instance& one = instance(id, now);
                     return TrueState{.gauges = gauges_of(one.state(now)),
                                      .cached = one.cached_prefix(request)};
                   });
  }
  std::ranges::stable_sort(inputs.parts, {}, &PartMaker::kind);
  for (const PartMaker& maker : inputs.parts) {
    parts_.push_back({.kind = maker.kind, .part = maker.make(*this)});
  }
}

void Cluster::add_instance(const engine::InstanceInputs& like, core::InstanceId id) {
  if (threads_ > 1) {
    held_.push_back(std::make_unique<HeldRecords>());
  }
  instances_.push_back(std::make_unique<engine::Instance>(engine::InstanceInputs{
      .engine = {.options = like.engine.options,
                 .model = like.engine.model,
                 .host = like.engine.host,
                 .sink = threads_ > 1 ? static_cast<domain::RecordSink&>(*held_.back()) : *this,
                 .horizon = like.engine.horizon,
                 .tokens = like.engine.tokens,
                 .first_tokens = gateway_.needs().first_token ? this : nullptr,
                 .kv_history =
                     gateway_.needs().cache ? gateway_.times().kv_events_delay : core::Duration()},
      .path = like.path,
      .id = id,
      .core = like.core,
      .jump = like.jump}));
  visible_.add();
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
  if (ticket->is_delivered) {
    const std::size_t place = ticket->counted.instance.value();
    aborted_at_ = at;
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
        process(event);
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
    gateway_.scrape(gauges_of(instance(gateway_.next_scraped(), at).state(at)));
  }
}

void Cluster::take_arrivals(SimTime now) {
  for (; next_arrival() == now; arrivals_.pop_front()) {
    Ticket& ticket = tickets_.add(std::move(arrivals_.front()));
    const bool is_kept = std::ranges::any_of(
        parts_, [&](const OwnPart& own) { return own.part->on_arrival(ticket, now); });
    if (!is_kept && !dispatch(ticket, now)) {
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
    submit_to(delivery.request, delivery.instance);
  }
}

void Cluster::submit_to(const domain::Request& request, core::InstanceId id) {
  engine::Instance& one = *instances_[id.value()];
  one.submit(request);
  if (ends_are_watched_) {
    visible_.set(id.value(), one.next_visible());
  }
}

bool Cluster::dispatch(Ticket& ticket, SimTime now) {
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
    submit_to(sent, instance);
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
    gateway_.note_end(ticket.counted, ticket.first_token_seen, end_of(record, aborted_at_));
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
  if (!ticket.first_token_seen) {
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

engine::EngineTotals Cluster::totals() const {
  engine::EngineTotals all;
  for (const auto& instance : instances_) {
    const engine::EngineTotals one = instance->totals();
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
