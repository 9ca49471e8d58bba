#include <algorithm>
#include <cstddef>

#include "core/ids.hpp"
#include "core/rng.hpp"
#include "routing/dp_balancer.hpp"
#include "routing/registry.hpp"
#include "routing/router.hpp"

namespace ridgeline::routing {
namespace {

/// SGLang's data-parallel controller, total_requests: a new reading of an instance is a report of
/// its scheduler.
class SglangDp final : public Router {
 public:
  [[nodiscard]] Needs needs() const override { return {.gauges = true}; }

  [[nodiscard]] Pick pick(const RouteInput& input, core::RngStream& /*draws*/) override {
    ranks_ = std::max(ranks_, input.id_room());
    budget_.reserve(ranks_);
    for (std::size_t rank = 0; rank < ranks_; ++rank) {
      budget_.set_open(rank, false);
    }
    for (const InstanceView& view : input.instances) {
      budget_.set_open(view.id.value(), true);
      budget_.report(view.id.value(),
                     view.gauges_as_of.to_seconds(),
                     view.gauges.waiting + view.gauges.running,
                     0);
    }
    const std::size_t rank = budget_.pick(input.request.prompt_tokens.value());
    return {.instance = core::InstanceId(static_cast<core::InstanceId::Rep>(rank)),
            .reason = Reason::kLoad};
  }

 private:
  DpBudget budget_{0, false};
  std::size_t ranks_ = 0;  ///< That were ever seen: some may be gone now.
};

}  // namespace

extern const RouterEntry kSglangDp{
    .name = "sglang-dp",
    .summary = "fewest requests by the last report of each, its own picks added",
    .source = "SGLang's data-parallel controller, total_requests, August 2026",
    .make = make_policy<SglangDp>,
};

}  // namespace ridgeline::routing
