#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "core/ids.hpp"
#include "core/rng.hpp"
#include "routing/registry.hpp"
#include "routing/router.hpp"

namespace ridgeline::routing {
namespace {

/// Instances of different weights take turns as in NGINX's smooth weighted round robin: each is
/// credited its weight, the one with the most credit is chosen and pays for all.
class RoundRobin final : public Router {
 public:
  [[nodiscard]] Needs needs() const override { return {}; }
  [[nodiscard]] Pick pick(const RouteInput& input, core::RngStream& /*draws*/) override {
    const std::span<const InstanceView> views = input.instances;
    const std::size_t place = input.is_weighted ? most_credit(input) : next_ % views.size();
    return {.instance = views[place].id, .reason = Reason::kTurn};
  }
  void on_dispatch(const RouteInput& input, core::InstanceId instance) override {
    ++next_;
    if (!input.is_weighted) {
      return;
    }
    credit_.resize(std::max(credit_.size(), input.id_room()));
    for (const InstanceView& view : input.instances) {
      credit_[view.id.value()] += view.weight;
      credit_[instance.value()] -= view.weight;
    }
  }

 private:
  /// The first place with the most credit once each has its weight.
  [[nodiscard]] std::size_t most_credit(const RouteInput& input) {
    credit_.resize(std::max(credit_.size(), input.id_room()));
    const auto best = std::ranges::max_element(input.instances, {}, [&](const InstanceView& view) {
      return credit_[view.id.value()] + view.weight;
    });
    return static_cast<std::size_t>(best - input.instances.begin());
  }

  std::size_t next_ = 0;
  std::vector<double> credit_;  ///< By instance.
};

}  // namespace

extern const RouterEntry kRoundRobin{
    .name = "round-robin",
    .summary = "one after the other",
    .source = "every proxy",
    .make = make_policy<RoundRobin>,
    .weights = true,
};

}  // namespace ridgeline::routing
