#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string_view>

#include "core/ids.hpp"
#include "core/rng.hpp"
#include "routing/choice.hpp"
#include "routing/connection.hpp"
#include "routing/parameters.hpp"
#include "routing/registry.hpp"
#include "routing/router.hpp"

namespace ridgeline::routing {
namespace {

constexpr std::string_view kConnection = "connection";
constexpr auto kAffinities = std::to_array<std::string_view>({"request", kConnection});

constexpr auto kRandomParameters = std::to_array<Parameter>({
    {.name = "affinity",
     .standard = std::string_view("request"),
     .choices = kAffinities,
     .help = "What is drawn for: each request, or each connection with all that comes over it",
     .source = "every proxy; kube-proxy's ClusterIP draws per connection"},
});

class Random final : public Router {
 public:
  [[nodiscard]] Needs needs() const override { return {}; }
  [[nodiscard]] Pick pick(const RouteInput& input, core::RngStream& draws) override {
    const std::size_t count = input.instances.size();
    const std::size_t place = input.is_weighted
                                  ? draw_by_weight(input.instances, count, draws.uniform())
                                  : static_cast<std::size_t>(draws.below(count));
    return {.instance = input.instances[place].id,
            .equals = static_cast<std::uint32_t>(count),
            .reason = Reason::kDraw};
  }
};

/// A connection is drawn an instance when it opens, and opens again where that is gone.
class RandomByConnection final : public Router {
 public:
  explicit RandomByConnection(std::int64_t connections) : connections_(connections) {}

  [[nodiscard]] Needs needs() const override { return {}; }
  [[nodiscard]] Pick pick(const RouteInput& input, core::RngStream& draws) override {
    const auto known = instances_.find(connection_of(input.request, connections_));
    if (known != instances_.end() &&
        std::ranges::find(input.instances, known->second, &InstanceView::id) !=
            input.instances.end()) {
      return {.instance = known->second, .reason = Reason::kSession};
    }
    return random_.pick(input, draws);
  }
  void on_dispatch(const RouteInput& input, core::InstanceId instance) override {
    instances_[connection_of(input.request, connections_)] = instance;
  }
  void on_gone(core::InstanceId instance) override {
    std::erase_if(instances_, [&](const auto& entry) { return entry.second == instance; });
  }

 private:
  std::int64_t connections_;
  Random random_;
  std::map<std::uint64_t, core::InstanceId> instances_;  ///< By connection.
};

std::unique_ptr<Router> make_random(const RouterSetup& setup) {
  if (setup.word(kRandomParameters, "affinity") == kConnection) {
    return std::make_unique<RandomByConnection>(setup.connections);
  }
  return std::make_unique<Random>();
}

}  // namespace

extern const RouterEntry kRandom{
    .name = "random",
    .summary = "each with the same probability",
    .source = "every proxy",
    .make = make_random,
    .parameters = [] { return std::span<const Parameter>(kRandomParameters); },
    .weights = true,
};

}  // namespace ridgeline::routing
