#include "cluster/routing_audit.hpp"

#include <algorithm>
#include <cstdint>

#include "core/ids.hpp"
#include "core/rng.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "routing/router.hpp"

namespace ridgeline::cluster {

void RoutingAudit::on_decision(const domain::Request& request,
                               const routing::RouteInput& input,
                               const routing::Pick& pick,
                               core::RngStream draws) {
  own_.resize(std::max(own_.size(), input.id_room()));
  views_.assign(input.instances.begin(), input.instances.end());
  core::Tokens most;
  core::Tokens here;
  for (routing::InstanceView& view : views_) {
    const TrueState now = look_(request, view.id, input.now);
    view.own = own_[view.id.value()];
    view.gauges = now.gauges;
    view.cached_tokens = now.cached.value();
    view.gauges_as_of = view.cache_as_of = input.now;
    most = std::max(most, now.cached);
    here = view.id == pick.instance ? now.cached : here;
  }
  const routing::RouteInput fresh{.request = input.request,
                                  .prompt = input.prompt,
                                  .instances = views_,
                                  .now = input.now,
                                  .tiers = input.tiers,
                                  .scores = nullptr,
                                  .group = input.group,
                                  .is_weighted = input.is_weighted,
                                  .targets = input.targets,
                                  .sites = input.sites,
                                  .other_leg = input.other_leg};
  ++decisions_;
  regretted_ += router_->pick(fresh, draws).instance != pick.instance ? 1 : 0;
  if (pick.is_refusal()) {
    return;
  }
  hit_lost_ += most - here;
  router_->on_dispatch(fresh, pick.instance);
  const std::int64_t tokens = request.prompt_tokens.value();
  routing::OwnCounters& own = own_[pick.instance.value()];
  own.requests += 1;
  own.tokens += tokens;
  own.prefill_tokens += pick.uncached_tokens < 0 ? tokens : pick.uncached_tokens;
}

void RoutingAudit::subtract(core::InstanceId instance, const routing::OwnCounters& change) {
  routing::OwnCounters& own = own_[instance.value()];
  own.requests -= change.requests;
  own.tokens -= change.tokens;
  own.prefill_tokens -= change.prefill_tokens;
}

}  // namespace ridgeline::cluster
