#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/ids.hpp"
#include "core/rng.hpp"
#include "core/units.hpp"
#include "domain/prompt.hpp"
#include "domain/request.hpp"
#include "routing/router.hpp"

namespace ridgeline::routing::test {

/// Views of instances with so many requests in flight by the gateway's own count.
inline std::vector<InstanceView> views_with(const std::vector<std::int64_t>& requests) {
  std::vector<InstanceView> views;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    InstanceView view;
    view.id = core::InstanceId(static_cast<std::uint32_t>(i));
    view.own.requests = requests[i];
    views.push_back(view);
  }
  return views;
}

/// Idle instances of these weights.
inline std::vector<InstanceView> weighted_views(const std::vector<double>& weights) {
  std::vector<InstanceView> views = views_with(std::vector<std::int64_t>(weights.size()));
  for (std::size_t i = 0; i < weights.size(); ++i) {
    views[i].weight = weights[i];
  }
  return views;
}

/// A decision for a request with that id and session, drawn with that seed; the router notes it.
inline std::uint32_t route(Router& router,
                           const std::vector<InstanceView>& views,
                           std::uint32_t id = 0,
                           std::uint64_t seed = 0,
                           core::SessionId session = {},
                           const domain::Prompt& prompt = {}) {
  domain::RequestView request;
  request.id = core::RequestId(id);
  request.session = session;
  for (const domain::Segment& segment : prompt) {
    request.prompt_tokens += segment.length;
  }
  const bool is_weighted = std::ranges::any_of(
      views, [&](const InstanceView& view) { return view.weight != views.front().weight; });
  const RouteInput input{.request = request,
                         .prompt = prompt,
                         .instances = views,
                         .now = {},
                         .is_weighted = is_weighted};
  core::RngStream draws(seed, 0, "routing", id);
  const Pick pick = router.pick(input, draws);
  router.on_dispatch(input, pick.instance);
  return pick.instance.value();
}

/// Routes a prompt that begins with so many tokens of a content and goes on with its own.
inline std::uint32_t route_prompt(Router& router,
                                  const std::vector<InstanceView>& views,
                                  std::uint32_t id,
                                  std::uint64_t content,
                                  std::int64_t tokens) {
  return route(
      router, views, id, 0, {}, {{content, core::Tokens(tokens)}, {1000 + id, core::Tokens(20)}});
}

/// How often each instance is chosen over so many seeds.
inline std::vector<double> counts_over_seeds(Router& router,
                                             const std::vector<InstanceView>& views,
                                             std::uint64_t seeds) {
  std::vector<double> counts(views.size());
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    counts[route(router, views, 0, seed)] += 1.0;
  }
  return counts;
}

}  // namespace ridgeline::routing::test
