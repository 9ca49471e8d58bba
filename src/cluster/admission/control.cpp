#include "cluster/admission/control.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "cluster/admission/admission.hpp"
#include "cluster/admission/flow/flow_control.hpp"
#include "cluster/admission/registry.hpp"
#include "cluster/admission/settings.hpp"
#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/rng.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "domain/tenants.hpp"
#include "routing/router.hpp"

namespace ridgeline::admission {
namespace {

using core::SimTime;

/// llm-d-router ebab687: requests that one look at the queue evicts.
constexpr std::size_t kMostEvicted = 2;

/// The first multiple of `interval` that is not before `t`.
SimTime round_up(SimTime t, core::Duration interval) {
  const std::int64_t past = t.count() % interval.count();
  return past == 0 ? t : SimTime::saturating_sum(t, interval - core::Duration::ticks(past));
}

FlowOptions flow_options(const Settings& settings) {
  return {.order = dispatch_order(settings.dispatch_order),
          .fairness = find_fairness(settings.fairness_policy).value()->make,
          .min_ceiling = settings.min_ceiling,
          .max_ceiling = settings.max_ceiling,
          .ceilings_by_value = settings.ceilings_by_value,
          .band_requests = settings.per_band_requests,
          .band_bytes = settings.per_band_bytes};
}

}  // namespace

Control::Control(const Settings& settings, domain::Tenants& tenants, std::uint64_t seed)
    : settings_(settings),
      tenants_(tenants),
      seed_(seed),
      limits_(tenants, settings.rate_limit_window),
      policy_(find_policy(settings.policy).value()->make(settings)) {
  RIDGELINE_CHECK(settings.dispatch_tick_interval > core::Duration() &&
                      settings.expiry_interval > core::Duration(),
                  "ticks come one after the other");
  if (settings.flow_control) {
    const FlowOptions options = flow_options(settings);
    flow_.emplace(options);
    counts_output_ = options.fairness()->needs_output();
  }
  if (settings.flow_control || policy_->needs_saturation()) {
    detector_ = find_detector(settings.saturation_detector).value()->make(settings);
    needs_ = detector_->needs();
  }
  needs_.own = needs_.own || counts_output_ || policy_->needs_headroom();
  needs_.gauges = needs_.gauges || policy_->needs_headroom();
}

Claim Control::claim_of(const domain::Request& request, SimTime now) {
  const domain::TenantId id = tenants_.of(request.label_set);
  const domain::Tenant& tenant = tenants_[id];
  return {
      .request = request.id,
      .tenant = id,
      .share = tenant.share,
      .priority = tenant.priority.value_or(-std::int64_t{request.priority}),
      .prompt_tokens = request.prompt_tokens,
      .arrival = now,
      .slo_deadline =
          tenant.ttft ? SimTime::saturating_sum(request.arrival, *tenant.ttft) : SimTime::never(),
      .expires = SimTime::saturating_sum(now, tenant.request_ttl.value_or(settings_.request_ttl))};
}

Decision Control::arrive(const domain::Request& request,
                         Views instances,
                         SimTime now,
                         std::span<const routing::Headroom> headroom) {
  const Claim claim = claim_of(request, now);
  Decision decision = decide(claim, instances, now, headroom);
  if (decision.verdict == Decision::Verdict::kAdmit && flow_) {
    read_ends(now);
    const auto refused = flow_->enqueue(claim);
    decision = refused ? Decision::reject(*refused) : Decision::queue(claim);
  }
  if (decision.verdict == Decision::Verdict::kAdmit) {
    totals_.admitted += 1;
  } else if (decision.verdict == Decision::Verdict::kReject) {
    totals_.rejected[static_cast<std::size_t>(*decision.why)] += 1;
  }
  return decision;
}

Decision Control::decide(const Claim& claim,
                         Views instances,
                         SimTime now,
                         std::span<const routing::Headroom> headroom) {
  const double measured = policy_->needs_saturation() ? saturation(instances, now) : 0.0;
  core::RngStream draws(seed_, 0, "admission", claim.request.value());
  const Decision decision = policy_->decide(
      {.claim = claim, .instances = instances, .now = now, .headroom = headroom}, measured, draws);
  // The tenant's account last: what the policy refuses counts towards nothing.
  return decision.verdict == Decision::Verdict::kAdmit &&
                 !limits_.take(claim.tenant, claim.prompt_tokens, now)
             ? Decision::reject(Reason::kRateLimit)
             : decision;
}

double Control::saturation(Views instances, SimTime now) {
  return detector_->saturation(instances, now);
}

std::optional<core::RequestId> Control::next(Views instances, SimTime now) {
  if (empty() || instances.empty()) {
    return std::nullopt;
  }
  read_ends(now);
  const auto claim = flow_->dispatch(saturation(instances, now), now);
  if (!claim) {
    return std::nullopt;
  }
  totals_.admitted += 1;
  if (counts_output_) {
    sent_.emplace(claim->request.value(), *claim);
  }
  if (settings_.eviction && claim->priority < 0) {
    sheddable_.insert(
        {.priority = claim->priority, .newest_first = --newest_first_, .request = claim->request});
  }
  return claim->request;
}

std::vector<core::RequestId> Control::evict(Views instances, SimTime now) {
  std::vector<core::RequestId> evicted;
  if (sheddable_.empty() || empty() || instances.empty()) {
    return evicted;
  }
  const auto held_back = flow_->blocked_priority(saturation(instances, now), now);
  while (held_back >= 0 && evicted.size() < kMostEvicted && !sheddable_.empty()) {
    evicted.push_back(sheddable_.begin()->request);
    sheddable_.erase(sheddable_.begin());
  }
  return evicted;
}

std::vector<core::RequestId> Control::sweep(SimTime now) {
  std::vector<core::RequestId> expired;
  if (next_sweep() > now) {
    return expired;
  }
  for (const Claim& claim : flow_->sweep(now)) {
    expired.push_back(claim.request);
  }
  totals_.rejected[static_cast<std::size_t>(Reason::kExpired)] +=
      static_cast<std::int64_t>(expired.size());
  return expired;
}

void Control::note_no_endpoint() {
  totals_.admitted -= 1;
  totals_.rejected[static_cast<std::size_t>(Reason::kNoEndpoint)] += 1;
}

bool Control::remove(core::RequestId request) {
  return flow_ && flow_->remove(request).has_value();
}

void Control::note_end(core::RequestId request, core::Tokens output, SimTime known) {
  std::erase_if(sheddable_, [&](const Sheddable& one) { return one.request == request; });
  if (counts_output_ && sent_.contains(request.value())) {
    ends_.push({.known = known, .request = request, .output = output});
  }
}

void Control::read_ends(SimTime now) {
  for (; !ends_.empty() && ends_.top().known <= now; ends_.pop()) {
    const auto sent = sent_.find(ends_.top().request.value());
    flow_->note_output(sent->second, ends_.top().output, ends_.top().known);
    sent_.erase(sent);
  }
}

SimTime Control::next_sweep() const {
  const SimTime expiry = flow_ ? flow_->next_expiry() : SimTime::never();
  return expiry == SimTime::never() ? expiry : round_up(expiry, settings_.expiry_interval);
}

SimTime Control::tick_after(SimTime changed) const {
  return round_up(changed, settings_.dispatch_tick_interval);
}

SimTime Control::next_change(Views instances, SimTime now) const {
  return detector_ ? detector_->next_change(instances, now) : SimTime::never();
}

}  // namespace ridgeline::admission
