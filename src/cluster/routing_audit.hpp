#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "core/ids.hpp"
#include "core/rng.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "routing/router.hpp"

namespace ridgeline::cluster {

/// What an audit looks up at an instance now, through no delay.
struct TrueState {
  routing::Gauges gauges;
  core::Tokens cached;  ///< Leading tokens of the request's prompt.
};

/// The deciding policy once more, on views of age 0: how often it would have chosen another
/// instance. What it remembers is what was decided, not what it would have.
class RoutingAudit {
 public:
  using Look = std::function<TrueState(const domain::Request&, core::InstanceId, core::SimTime)>;
  /// `router` is made like the one that decides.
  RoutingAudit(std::unique_ptr<routing::Router> router, Look look)
      : router_(std::move(router)), look_(std::move(look)) {}

  /// A decision among `input.instances` fell on `pick`; `draws` are the decision's, from their
  /// start.
  void on_decision(const domain::Request& request,
                   const routing::RouteInput& input,
                   const routing::Pick& pick,
                   core::RngStream draws);
  /// What was counted of a request at an instance ends now.
  void subtract(core::InstanceId instance, const routing::OwnCounters& change);
  void on_end(core::RequestId request, core::InstanceId instance) {
    router_->on_end(request, instance);
  }

  [[nodiscard]] std::int64_t decisions() const { return decisions_; }
  /// Decisions that views of age 0 would have made otherwise.
  [[nodiscard]] std::int64_t regretted() const { return regretted_; }
  /// Prompt tokens that were computed although another instance had them.
  [[nodiscard]] core::Tokens hit_lost() const { return hit_lost_; }

 private:
  std::unique_ptr<routing::Router> router_;
  Look look_;
  std::vector<routing::OwnCounters> own_;  ///< By instance, without a notice latency.
  std::vector<routing::InstanceView> views_;
  std::int64_t decisions_ = 0;
  std::int64_t regretted_ = 0;
  core::Tokens hit_lost_;
};

}  // namespace ridgeline::cluster
