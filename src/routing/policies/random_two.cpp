#include <cstddef>
#include <span>

#include "core/rng.hpp"
#include "routing/choice.hpp"
#include "routing/registry.hpp"
#include "routing/router.hpp"

namespace ridgeline::routing {
namespace {

/// NGINX's `random two least_conn`: two different instances, each drawn by its weight, and of them
/// the one with fewer requests by its weight; the second where both have as many.
class RandomTwo final : public Router {
 public:
  [[nodiscard]] Needs needs() const override { return {.own = true}; }
  [[nodiscard]] Pick pick(const RouteInput& input, core::RngStream& draws) override {
    const std::span<const InstanceView> views = input.instances;
    if (views.size() == 1) {
      return {.instance = views.front().id, .reason = Reason::kLoad};
    }
    const std::size_t none = views.size();
    const std::size_t first = draw_by_weight(views, none, draws.uniform());
    const std::size_t second = draw_by_weight(views, first, draws.uniform());
    const double load = requests_by_weight(views[first]);
    const double other_load = requests_by_weight(views[second]);
    return {.instance = load < other_load ? views[first].id : views[second].id,
            .equals = load == other_load ? 2U : 1U,
            .reason = Reason::kLoad};
  }

 private:
  /// Unlike Envoy's, its count does not include the request to come.
  static double requests_by_weight(const InstanceView& view) {
    return static_cast<double>(view.own.requests) / view.weight;
  }
};

}  // namespace

extern const RouterEntry kRandomTwo{
    .name = "random-two",
    .summary = "of two drawn by their weights, the one with fewer requests by its weight",
    .source = "NGINX random two least_conn",
    .make = make_policy<RandomTwo>,
    .weights = true,
};

}  // namespace ridgeline::routing
