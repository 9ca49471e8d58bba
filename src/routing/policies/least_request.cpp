#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/rng.hpp"
#include "routing/choice.hpp"
#include "routing/parameters.hpp"
#include "routing/registry.hpp"
#include "routing/router.hpp"

namespace ridgeline::routing {
namespace {

constexpr auto kLeastRequestParameters = std::to_array<Parameter>({
    {.name = "choice_count",
     .standard = std::int64_t{0},
     .lowest = 0.0,
     .highest = 1e6,  // More than a cluster has instances.
     .help = "Instances drawn to choose among, each from all; 0: all, as FULL_SCAN",
     .source = "Envoy's least request; its own default is 2"},
    {.name = "active_request_bias",
     .standard = 1.0,
     .lowest = 0.0,
     .highest = 100.0,  // Beyond, one request outweighs any weight.
     .help = "Where instances differ in weight: weight / (requests + 1)^bias",
     .source = "Envoy's least request"},
});

class LeastRequest final : public Router {
 public:
  LeastRequest(std::int64_t choices, double bias)
      : choices_(static_cast<std::size_t>(choices)), bias_(bias) {}

  [[nodiscard]] Needs needs() const override { return {.own = true}; }
  [[nodiscard]] Pick pick(const RouteInput& input, core::RngStream& draws) override {
    Pick pick =
        choices_ > 0 ? pick_of_drawn(input, draws)
        : input.is_weighted
            ? draw_least(
                  input,
                  [this](const InstanceView& view) { return weighed_requests(view, bias_); },
                  draws)
            : draw_least(input, [](const InstanceView& view) { return view.own.requests; }, draws);
    pick.reason = Reason::kLoad;
    return pick;
  }

 private:
  /// Among those drawn, one or another perhaps twice, the first of the least busy.
  [[nodiscard]] Pick pick_of_drawn(const RouteInput& input, core::RngStream& draws) {
    const auto load = [&](std::size_t place) {
      const InstanceView& view = input.instances[place];
      return input.is_weighted ? weighed_requests(view, bias_)
                               : static_cast<double>(view.own.requests);
    };
    drawn_.clear();
    for (std::size_t i = 0; i < choices_; ++i) {
      drawn_.push_back(static_cast<std::size_t>(draws.below(input.instances.size())));
    }
    const std::size_t best = *std::ranges::min_element(drawn_, {}, load);
    std::vector<std::size_t> as_good;
    for (const std::size_t place : drawn_) {
      if (load(place) == load(best) && std::ranges::find(as_good, place) == as_good.end()) {
        as_good.push_back(place);
      }
    }
    return {.instance = input.instances[best].id,
            .equals = static_cast<std::uint32_t>(as_good.size())};
  }

  std::size_t choices_;  ///< 0: all.
  double bias_;
  std::vector<std::size_t> drawn_;  ///< Scratch: places.
};

std::unique_ptr<Router> make_least_request(const RouterSetup& setup) {
  return std::make_unique<LeastRequest>(
      setup.integer(kLeastRequestParameters, "choice_count"),
      setup.number(kLeastRequestParameters, "active_request_bias"));
}

}  // namespace

extern const RouterEntry kLeastRequest{
    .name = "least-request",
    .summary = "fewest requests in flight by the gateway's own count, a draw among equals",
    .source = "Envoy FULL_SCAN, NGINX least_conn",
    .make = make_least_request,
    .parameters = [] { return std::span<const Parameter>(kLeastRequestParameters); },
    .weights = true,
};

}  // namespace ridgeline::routing
