#include "cluster/gateway.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/rng.hpp"
#include "core/time.hpp"
#include "domain/request.hpp"
#include "routing/router.hpp"

namespace ridgeline::cluster {

using core::SimTime;

Gateway::Gateway(std::unique_ptr<routing::Router> router,
                 const Instances& instances,
                 const GatewayTimes& times,
                 std::uint64_t seed)
    : router_(std::move(router)),
      // With one instance there is nothing to choose, and so nothing to know.
      needs_(instances.num_instances > 1 || instances.may_change ? router_->needs()
                                                                 : routing::Needs{}),
      router_reads_own_(needs_.own),
      counts_(needs_.ends() || instances.may_change),
      times_(times),
      seed_(seed) {
  const std::int64_t num_instances = instances.num_instances;
  RIDGELINE_CHECK(num_instances > 0, "a cluster has an instance");
  RIDGELINE_CHECK(times.refresh_interval > core::Duration(), "gauges are read now and then");
  for (std::int64_t i = 0; i < num_instances; ++i) {
    views_.push_back({.id = core::InstanceId(static_cast<core::InstanceId::Rep>(i))});
    is_ready_.push_back(true);
    is_readable_.push_back(true);
    ++num_ready_;
  }
  start_scrapes();
}

/// Each instance on its own phase of the interval, the last one at its end.
void Gateway::start_scrapes() {
  const auto num_instances = static_cast<std::int64_t>(views_.size());
  for (std::int64_t i = 0; needs_.gauges && next_scrapes_.size() < views_.size(); ++i) {
    next_scrapes_.push_back(SimTime::at(
        core::Duration::ticks(times_.refresh_interval.count() / num_instances) * (i + 1)));
  }
}

void Gateway::keep(const routing::Needs& needs) {
  RIDGELINE_CHECK(totals_.decisions == 0, "what is kept is known before the first request");
  needs_.own = needs_.own || needs.own;
  needs_.gauges = needs_.gauges || needs.gauges;
  watched_ = needs;
  counts_ = counts_ || needs_.ends();
  start_scrapes();
}

void Gateway::set_ready(core::InstanceId instance, bool ready, SimTime now) {
  if (is_ready_[instance.value()] != ready) {
    is_ready_[instance.value()] = ready;
    num_ready_ = ready ? num_ready_ + 1 : num_ready_ - 1;
    note_change(now);
  }
}

std::span<const routing::InstanceView> Gateway::ready_views(SimTime now) {
  read_notices(now);
  if (num_ready_ == views_.size()) {
    return views_;
  }
  candidates_.clear();
  for (const routing::InstanceView& view : views_) {
    if (is_ready_[view.id.value()]) {
      candidates_.push_back(view);
    }
  }
  return candidates_;
}

/// Puts into the views what KV events have reported of the request's prompt.
void Gateway::look_at_caches(const domain::Request& request, SimTime now) {
  const core::Duration delay = std::min(times_.kv_events_delay, now - SimTime());
  for (routing::InstanceView& view : views_) {
    if (is_ready_[view.id.value()]) {
      view.cache_as_of = now - delay;
      view.cached_tokens = look_at_cache_(request, view.id, view.cache_as_of).value();
      RIDGELINE_CHECK(
          view.cached_tokens >= 0 && view.cached_tokens <= request.prompt_tokens.value(),
          "of a prompt no more is cached than it has");
    }
  }
}

std::optional<Gateway::Counted> Gateway::route(const domain::Request& request, SimTime now) {
  if (needs_.cache) {
    look_at_caches(request, now);
  }
  const domain::RequestView known = domain::view(request);
  const routing::RouteInput input{
      .request = known, .prompt = request.prompt, .instances = ready_views(now), .now = now};
  if (input.instances.empty()) {
    return std::nullopt;
  }
  core::RngStream draws(seed_, 0, "routing", request.id.value());
  const routing::Pick pick = router_->pick(input, draws);
  RIDGELINE_CHECK(pick.instance.valid() && pick.instance.value() < views_.size() &&
                      is_ready_[pick.instance.value()],
                  "a policy chooses an instance that exists and is ready");
  router_->on_dispatch(input, pick.instance);
  routing::InstanceView& view = views_[pick.instance.value()];
  RIDGELINE_CHECK(view.gauges_as_of <= now, "no gauge is known before it was read");
  const std::int64_t tokens = request.prompt_tokens.value();
  const Counted counted{.request = request.id,
                        .instance = pick.instance,
                        .tokens = tokens,
                        .prefill_tokens = pick.uncached_tokens < 0 ? tokens : pick.uncached_tokens,
                        .epoch = epoch_};
  if (counts_) {
    view.own.requests += 1;
    view.own.tokens += counted.tokens;
    view.own.prefill_tokens += counted.prefill_tokens;
    view.true_requests += 1;
  }
  totals_.decisions += 1;
  totals_.ties += pick.equals > 1 ? 1 : 0;
  if (needs_.gauges) {
    totals_.gauge_age += now - view.gauges_as_of;
  }
  return counted;
}

void Gateway::set_readable(core::InstanceId instance, bool readable) {
  is_readable_[instance.value()] = readable;
}

void Gateway::restart(std::unique_ptr<routing::Router> router, SimTime now) {
  router_ = std::move(router);
  notices_ = {};
  ++epoch_;
  for (routing::InstanceView& view : views_) {
    view.own = {};
    view.gauges = {};
    view.gauges_as_of = now;
  }
}

void Gateway::note_first_token(const Counted& counted, SimTime at) {
  if (counted.epoch != epoch_) {
    return;
  }
  notices_.push({.at = SimTime::saturating_sum(at, times_.notice_latency),
                 .instance = counted.instance,
                 .change = {.prefill_tokens = counted.prefill_tokens}});
}

void Gateway::note_end(const Counted& counted, bool first_token_seen, SimTime at) {
  if (!counts_) {
    return;
  }
  views_[counted.instance.value()].true_requests -= 1;
  if (counted.epoch != epoch_) {
    return;  // It does not know of the request any more.
  }
  notices_.push({.at = SimTime::saturating_sum(at, times_.notice_latency),
                 .instance = counted.instance,
                 .change = {.requests = 1,
                            .tokens = counted.tokens,
                            .prefill_tokens = first_token_seen ? 0 : counted.prefill_tokens},
                 .ended = counted.request});
}

void Gateway::read_notices(SimTime now) {
  for (; !notices_.empty() && notices_.top().at <= now; notices_.pop()) {
    const Notice& notice = notices_.top();
    routing::OwnCounters& own = views_[notice.instance.value()].own;
    own.requests -= notice.change.requests;
    own.tokens -= notice.change.tokens;
    own.prefill_tokens -= notice.change.prefill_tokens;
    RIDGELINE_CHECK(own.requests >= 0 && own.tokens >= 0 && own.prefill_tokens >= 0,
                    "nothing ends that was not sent");
    if (notice.ended.valid() && router_reads_own_) {
      router_->on_end(notice.ended, notice.instance);
    }
    if (watched_.own) {
      note_change(now);
    }
  }
}

SimTime Gateway::next_scrape() const {
  return next_scrapes_.empty() ? SimTime::never() : next_scrapes_[next_scraped_];
}

core::InstanceId Gateway::next_scraped() const {
  return core::InstanceId(static_cast<core::InstanceId::Rep>(next_scraped_));
}

void Gateway::scrape(const routing::Gauges& gauges) {
  SimTime& at = next_scrapes_[next_scraped_];
  routing::InstanceView& view = views_[next_scraped_];
  if (is_readable_[next_scraped_]) {
    view.gauges = gauges;
    view.gauges_as_of = at;
    if (watched_.gauges) {
      note_change(at);
    }
  }
  at = SimTime::saturating_sum(at, times_.refresh_interval);
  next_scraped_ = (next_scraped_ + 1) % next_scrapes_.size();
}

void Gateway::note_change(SimTime at) {
  ++num_changes_;
  last_change_ = at;
}

void Gateway::settle_counts() {
  read_notices(SimTime::never());
  for (const routing::InstanceView& view : views_) {
    RIDGELINE_CHECK(view.own == routing::OwnCounters() && view.true_requests == 0,
                    "what was sent has ended");
  }
}

}  // namespace ridgeline::cluster
