#include "cluster/gateway.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "cluster/decision.hpp"
#include "cluster/routing_audit.hpp"
#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/rng.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "routing/connection.hpp"
#include "routing/router.hpp"

namespace ridgeline::cluster {

using core::SimTime;

namespace {

Gateway::Routers only(std::unique_ptr<routing::Router> router) {
  Gateway::Routers routers;
  routers.push_back(std::move(router));
  return routers;
}

}  // namespace

Gateway::Gateway(std::unique_ptr<routing::Router> router,
                 const Instances& instances,
                 const GatewayTimes& times,
                 std::uint64_t seed)
    : Gateway(only(std::move(router)), instances, times, seed) {}

Gateway::Gateway(Routers routers,
                 const Instances& instances,
                 const GatewayTimes& times,
                 std::uint64_t seed,
                 GatewaySplit split,
                 std::int64_t connections)
    : split_(split), connections_(connections), times_(times), seed_(seed) {
  const std::int64_t num_instances = instances.num_instances;
  RIDGELINE_CHECK(!routers.empty() && num_instances > 0, "a cluster has a gateway and an instance");
  RIDGELINE_CHECK(times.refresh_interval > core::Duration(), "gauges are read now and then");
  if (num_instances > 1 || instances.may_change) {
    needs_ = routers.front()->needs();
  }  // With one instance there is nothing to choose, and so nothing to know.
  router_reads_own_ = needs_.own;
  counts_ = needs_.ends() || instances.may_change;
  groups_ = instances.groups;
  sites_ = instances.sites;
  is_weighted_ = std::ranges::any_of(
      instances.weights, [&](double weight) { return weight != instances.weights.front(); });
  for (auto& router : routers) {
    desks_.push_back({.router = std::move(router), .views = {}});
  }
  for (std::int64_t i = 0; i < num_instances; ++i) {
    for (Desk& desk : desks_) {
      routing::InstanceView& view = desk.views.emplace_back();
      view.id = core::InstanceId(static_cast<core::InstanceId::Rep>(i));
      if (!instances.weights.empty()) {
        view.weight = instances.weights[static_cast<std::size_t>(i)];
      }
    }
    is_ready_.push_back(true);
    is_readable_.push_back(true);
    event_losses_.emplace_back();
    // Each on its own phase of the interval, the last one at its end.
    next_readings_.push_back(SimTime::at(
        core::Duration::ticks(times_.refresh_interval.count() / num_instances) * (i + 1)));
    is_known_.push_back(false);
    ++num_ready_;
  }
  turn_at_ = next_readings_.front();
}

void Gateway::keep(const routing::Needs& needs) {
  RIDGELINE_CHECK(totals_.decisions == 0, "what is kept is known before the first request");
  needs_.own = needs_.own || needs.own;
  needs_.gauges = needs_.gauges || needs.gauges;
  watched_ = needs;
  counts_ = counts_ || needs_.ends();
}

void Gateway::audit(Routers routers, const RoutingAudit::Look& look) {
  RIDGELINE_CHECK(routers.size() == desks_.size(), "each gateway has its audit");
  for (auto& router : routers) {
    audits_.emplace_back(std::move(router), look);
  }
}

std::optional<double> Gateway::regret() const {
  std::int64_t decisions = 0;
  std::int64_t regretted = 0;
  for (const RoutingAudit& one : audits_) {
    decisions += one.decisions();
    regretted += one.regretted();
  }
  return decisions == 0
             ? std::nullopt
             : std::optional(static_cast<double>(regretted) / static_cast<double>(decisions));
}

core::Tokens Gateway::hit_lost() const {
  core::Tokens lost;
  for (const RoutingAudit& one : audits_) {
    lost += one.hit_lost();
  }
  return lost;
}

/// Which gateway a request comes to: a draw by the request or by its session.
std::size_t Gateway::gateway_of(const domain::Request& request) const {
  if (desks_.size() == 1) {
    return 0;
  }
  if (split_ == GatewaySplit::kConnection) {
    const std::uint64_t connection = routing::connection_of(domain::view(request), connections_);
    return core::RngStream(seed_, 0, "gateway of connection", connection).below(desks_.size());
  }
  const bool by_session = split_ == GatewaySplit::kSession && request.session.valid();
  core::RngStream draws =
      by_session ? core::RngStream(seed_, 0, "gateway of session", request.session.value())
                 : core::RngStream(seed_, 0, "gateway", request.id.value());
  return draws.below(desks_.size());
}

void Gateway::set_ready(core::InstanceId instance, bool ready, SimTime now) {
  if (is_ready_[instance.value()] != ready) {
    is_ready_[instance.value()] = ready;
    num_ready_ = ready ? num_ready_ + 1 : num_ready_ - 1;
    note_change(now);
  }
}

std::span<const routing::InstanceView> Gateway::ready_views(SimTime now) {
  read_all_gauges();
  read_notices(now);
  const Desk& desk = desks_.front();
  if (num_ready_ == desk.views.size()) {
    return desk.views;
  }
  candidates_.clear();
  std::ranges::copy_if(
      desk.views, std::back_inserter(candidates_), [&](const routing::InstanceView& view) {
        return is_ready_[view.id.value()];
      });
  return candidates_;
}

/// The views of the ready instances of a group.
std::span<const routing::InstanceView> Gateway::candidates(const Desk& desk, std::uint32_t group) {
  if (num_ready_ == desk.views.size() && groups_.empty()) {
    return desk.views;
  }
  candidates_.clear();
  std::ranges::copy_if(desk.views,
                       std::back_inserter(candidates_),
                       [&](const routing::InstanceView& view) { return may_get(view.id, group); });
  return candidates_;
}

/// Puts into the views what KV events have reported of the request's prompt. No instance has a part
/// of a prompt that is its request's own before that was sent.
void Gateway::look_at_caches(Desk& desk,
                             const domain::Request& request,
                             SimTime now,
                             std::uint32_t group) {
  const bool is_own = request.prompt.empty() && request.id.value() >= next_id_;
  next_id_ = std::max(next_id_, request.id.value() + 1);
  Reported known = reported(desk.views.front().id, now);
  for (routing::InstanceView& view : desk.views) {
    if (times_.may_forget_events) {
      known = reported(view.id, now);
    }
    view.cache_as_of = known.as_of;
    view.cached_tokens = 0;
    if (!is_own && may_get(view.id, group)) {
      view.cached_tokens = look_at_cache_(request, view.id, known).value();
      RIDGELINE_CHECK(
          view.cached_tokens >= 0 && view.cached_tokens <= request.prompt_tokens.value(),
          "of a prompt no more is cached than it has");
    }
  }
}

/// Looks at the tiers outside the GPUs for every instance.
void Gateway::look_at_tiers(std::span<const routing::InstanceView> views,
                            const domain::Request& request,
                            SimTime now) {
  tiers_.clear();
  for (const routing::InstanceView& view : views) {
    tiers_.push_back(look_at_tier_(request, view.id, reported(view.id, now)));
  }
}

bool Gateway::route_to(Counted& counted,
                       const domain::Request& request,
                       SimTime now,
                       std::uint32_t group,
                       core::InstanceId other_leg) {
  has_refused_ = false;
  read_all_gauges();
  read_notices(now);
  const std::size_t gateway = gateway_of(request);
  Desk& desk = desks_[gateway];
  if (needs_.cache) {
    look_at_caches(desk, request, now, group);
  }
  const std::span<const routing::InstanceView> ready = candidates(desk, group);
  if (needs_.tiers && look_at_tier_) {
    look_at_tiers(ready, request, now);
  }
  const domain::RequestView known = domain::view(request);
  scores_.clear();
  const routing::RouteInput input{.request = known,
                                  .prompt = request.prompt,
                                  .instances = ready,
                                  .now = now,
                                  .tiers = tiers_,
                                  .scores = decisions_ != nullptr ? &scores_ : nullptr,
                                  .group = group,
                                  .is_weighted = is_weighted_,
                                  .targets = targets_of(request),
                                  .sites = sites_,
                                  .other_leg = other_leg};
  if (input.instances.empty()) {
    return false;
  }
  core::RngStream draws(seed_, 0, "routing", request.id.value());
  const bool is_pinned =
      request.rank >= 0 && static_cast<std::size_t>(request.rank) < desk.views.size() &&
      may_get(core::InstanceId(static_cast<core::InstanceId::Rep>(request.rank)), group);
  const routing::Pick pick =
      is_pinned
          ? routing::Pick{.instance =
                              core::InstanceId(static_cast<core::InstanceId::Rep>(request.rank))}
          : desk.router->pick(input, draws);
  RIDGELINE_CHECK(pick.is_refusal() ||
                      (pick.instance.value() < desk.views.size() && may_get(pick.instance, group)),
                  "a policy chooses an instance that exists, is ready and serves the request");
  report(input, pick, gateway);
  if (!audits_.empty()) {
    const core::RngStream again(seed_, 0, "routing", request.id.value());
    audits_[gateway].on_decision(request, input, pick, again);
  }
  if (pick.is_refusal()) {
    has_refused_ = true;
    return false;
  }
  desk.router->on_dispatch(input, pick.instance);
  routing::InstanceView& view = desk.views[pick.instance.value()];
  RIDGELINE_CHECK(view.gauges_as_of <= now, "no gauge is known before it was read");
  const std::int64_t tokens = request.prompt_tokens.value();
  counted.request = request.id;
  counted.instance = pick.instance;
  counted.tokens = tokens;
  counted.prefill_tokens = pick.uncached_tokens < 0 ? tokens : pick.uncached_tokens;
  counted.epoch = epoch_;
  counted.gateway = static_cast<std::uint32_t>(gateway);
  if (counts_) {
    view.own.requests += 1;
    view.own.tokens += counted.tokens;
    view.own.prefill_tokens += counted.prefill_tokens;
    for (Desk& each : desks_) {
      each.views[pick.instance.value()].true_requests += 1;
    }
  }
  if (needs_.gauges) {
    totals_.gauge_age += now - view.gauges_as_of;
  }
  return true;
}

routing::LatencyTargets Gateway::targets_of(const domain::Request& request) const {
  return targets_of_ ? targets_of_(request) : routing::LatencyTargets();
}

Gateway::Outlook Gateway::outlook(const domain::Request& request,
                                  SimTime now,
                                  std::uint32_t group) {
  read_all_gauges();
  read_notices(now);
  Desk& desk = desks_[gateway_of(request)];
  const std::span<const routing::InstanceView> ready = candidates(desk, group);
  Outlook outlook{.instances = ready, .headroom = {}};
  const routing::LatencyTargets targets = targets_of(request);
  if (!ready.empty() && (targets.ttft_ms > 0.0 || targets.tpot_ms > 0.0)) {
    const domain::RequestView known = domain::view(request);
    outlook.headroom = desk.router->headroom({.request = known,
                                              .prompt = request.prompt,
                                              .instances = ready,
                                              .now = now,
                                              .group = group,
                                              .is_weighted = is_weighted_,
                                              .targets = targets});
  }
  return outlook;
}

void Gateway::set_readable(core::InstanceId instance, bool readable) {
  read_gauges(instance);
  is_readable_[instance.value()] = readable;
  is_known_[instance.value()] = false;
}

Gateway::Reported Gateway::reported(core::InstanceId instance, SimTime now) const {
  const SimTime told = now - std::min(times_.kv_events_delay, now - SimTime());
  const EventLoss& loss = event_losses_[instance.value()];
  const bool is_lost = loss.begin < told && told <= loss.end;
  return {.as_of = is_lost ? loss.begin : told,
          .since = told > loss.dropped ? loss.dropped : loss.before};
}

void Gateway::begin_event_loss(core::InstanceId instance, SimTime now) {
  event_losses_[instance.value()].begin = now;
  event_losses_[instance.value()].end = SimTime::never();
}

void Gateway::end_event_loss(core::InstanceId instance, SimTime now, bool replays) {
  EventLoss& loss = event_losses_[instance.value()];
  loss.end = now;
  if (!replays) {
    loss.before = std::exchange(loss.dropped, now);
  }
}

void Gateway::forget(core::InstanceId instance) {
  for (Desk& desk : desks_) {
    desk.router->on_gone(instance);
  }
}

void Gateway::restart(Routers routers, SimTime now) {
  RIDGELINE_CHECK(routers.size() == desks_.size(), "every gateway starts again");
  read_all_gauges();
  is_known_.assign(is_known_.size(), false);
  notices_.clear();
  ++epoch_;
  for (std::size_t i = 0; i < desks_.size(); ++i) {
    desks_[i].router = std::move(routers[i]);
    for (routing::InstanceView& view : desks_[i].views) {
      view.own = {};
      view.gauges = {};
      view.gauges_as_of = now;
    }
  }
}

/// Counts a decision, and hands it out.
void Gateway::report(const routing::RouteInput& input,
                     const routing::Pick& pick,
                     std::size_t gateway) {
  totals_.decisions += 1;
  totals_.ties += pick.equals > 1 ? 1 : 0;
  totals_.by_reason[static_cast<std::size_t>(pick.reason)] += 1;
  if (decisions_ != nullptr) {
    decisions_->on_decision({.request = input.request.id,
                             .at = input.now,
                             .gateway = static_cast<std::int64_t>(gateway),
                             .pick = pick,
                             .instances = input.instances,
                             .scores = scores_,
                             .needs = needs_,
                             .notice_latency = times_.notice_latency});
  }
}

/// The gateway that sent the request gets it one notice latency later. It is filled where it
/// stands: reading what was just written member by member in larger pieces would stall the
/// processor.
Gateway::Notice& Gateway::new_notice(const Counted& counted, SimTime at) {
  Notice& notice = notices_.extend();
  notice.at = SimTime::saturating_sum(at, times_.notice_latency);
  notice.instance = counted.instance;
  notice.gateway = counted.gateway;
  return notice;
}

/// Brings the newest notice to its place. The audit gets it now.
void Gateway::send(const Counted& counted, Notice& notice) {
  if (!audits_.empty()) {
    audits_[counted.gateway].subtract(counted.instance, notice.change);
    if (notice.ended.valid() && router_reads_own_) {
      audits_[counted.gateway].on_end(notice.ended, counted.instance);
    }
  }
  if (counted.epoch != epoch_) {  // It does not know of the request any more.
    notices_.pop_back();
    return;
  }
  // Mostly they come in order, so that nothing moves.
  for (std::size_t i = notices_.size() - 1; i > 0 && notices_[i - 1] > notices_[i]; --i) {
    std::swap(notices_[i - 1], notices_[i]);
  }
}

void Gateway::note_first_token(const Counted& counted, SimTime at) {
  Notice& notice = new_notice(counted, at);
  notice.change.requests = 0;
  notice.change.tokens = 0;
  notice.change.prefill_tokens = counted.prefill_tokens;
  notice.ended = {};
  send(counted, notice);
}

void Gateway::note_end(const Counted& counted, bool first_token_seen, SimTime at) {
  if (!counts_) {
    return;
  }
  for (Desk& desk : desks_) {
    desk.views[counted.instance.value()].true_requests -= 1;
  }
  Notice& notice = new_notice(counted, at);
  notice.change.requests = 1;
  notice.change.tokens = counted.tokens;
  notice.change.prefill_tokens = first_token_seen ? 0 : counted.prefill_tokens;
  notice.ended = counted.request;
  send(counted, notice);
}

void Gateway::read_notices(SimTime now) {
  for (; !notices_.empty() && notices_.front().at <= now; notices_.pop_front()) {
    const Notice& notice = notices_.front();
    Desk& desk = desks_[notice.gateway];
    routing::OwnCounters& own = desk.views[notice.instance.value()].own;
    own.requests -= notice.change.requests;
    own.tokens -= notice.change.tokens;
    own.prefill_tokens -= notice.change.prefill_tokens;
    RIDGELINE_CHECK(own.requests >= 0 && own.tokens >= 0 && own.prefill_tokens >= 0,
                    "nothing ends that was not sent");
    if (notice.ended.valid() && router_reads_own_) {
      desk.router->on_end(notice.ended, notice.instance);
    }
    // Policies differ in whether they follow first tokens; admission does not.
    if (watched_.own && notice.ended.valid()) {
      note_change(now);
    }
  }
}

void Gateway::read_gauges_from(GaugeSource& source, bool each) {
  source_ = &source;
  reads_each_ = each;
}

void Gateway::read_all_gauges() {
  if (!needs_.gauges || turn_at_ >= passed_) {
    return;
  }
  const core::Duration interval = times_.refresh_interval;
  const auto instances = static_cast<std::int64_t>(next_readings_.size());
  const core::Duration phase = core::Duration::ticks(interval.count() / instances);
  // Only the last reading of every instance counts: whole rounds before it are left out.
  if (const std::int64_t rounds = (passed_ - turn_at_ - kTick).count() / interval.count();
      rounds > 0) {
    turn_at_ += interval * rounds;
    for (const routing::InstanceView& view : desks_.front().views) {
      read_gauges(view.id);
    }
  }
  while (turn_at_ < passed_) {
    read_gauges(desks_.front().views[turn_].id);
    const bool is_last = ++turn_ == next_readings_.size();
    turn_ = is_last ? 0 : turn_;
    turn_at_ =
        SimTime::saturating_sum(turn_at_, is_last ? interval - phase * (instances - 1) : phase);
  }
}

/// The last one that is due.
void Gateway::take_reading(core::InstanceId instance, SimTime limit) {
  SimTime& next = next_readings_[instance.value()];
  const core::Duration interval = times_.refresh_interval;
  const std::int64_t rounds = (passed_ - next - kTick).count() / interval.count();
  const SimTime at = next + interval * rounds;
  if (!needs_.gauges || at >= limit) {
    return;
  }
  next = SimTime::saturating_sum(at, interval);
  if (!is_readable_[instance.value()]) {
    return;
  }
  last_reading_ = std::max(last_reading_, at);
  const bool is_new = reads_each_ || !is_known_[instance.value()];
  const routing::Gauges gauges = is_new ? source_->gauges(instance, at) : routing::Gauges();
  for (Desk& desk : desks_) {
    routing::InstanceView& view = desk.views[instance.value()];
    view.gauges = is_new ? gauges : view.gauges;
    view.gauges_as_of = at;
  }
  if (is_new) {
    is_known_[instance.value()] = source_->is_still(instance);
    if (watched_.gauges) {
      note_change(at);
    }
  }
}

SimTime Gateway::next_reading(bool of_all) const {
  SimTime next = SimTime::never();
  for (std::size_t i = 0; needs_.gauges && i < next_readings_.size(); ++i) {
    if (is_readable_[i] && (of_all || reads_each_ || !is_known_[i])) {
      next = std::min(next, next_readings_[i]);
    }
  }
  return next;
}

void Gateway::note_change(SimTime at) {
  ++num_changes_;
  last_change_ = std::max(last_change_, at);
}

void Gateway::settle_counts() {
  read_notices(SimTime::never());
  for (const Desk& desk : desks_) {
    for (const routing::InstanceView& view : desk.views) {
      RIDGELINE_CHECK(view.own == routing::OwnCounters() && view.true_requests == 0,
                      "what was sent has ended");
    }
  }
}

}  // namespace ridgeline::cluster
