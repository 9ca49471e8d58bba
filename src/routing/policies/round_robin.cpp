#include <cstddef>
#include <memory>

#include "core/ids.hpp"
#include "core/rng.hpp"
#include "routing/parameters.hpp"
#include "routing/policies/policies.hpp"
#include "routing/router.hpp"

namespace ridgeline::routing {
namespace {

class RoundRobin final : public Router {
 public:
  [[nodiscard]] Needs needs() const override { return {}; }
  [[nodiscard]] Pick pick(const RouteInput& input, core::RngStream& /*draws*/) override {
    return {.instance = input.instances[next_ % input.instances.size()].id,
            .reason = Reason::kTurn};
  }
  void on_dispatch(const RouteInput& /*input*/, core::InstanceId /*instance*/) override { ++next_; }

 private:
  std::size_t next_ = 0;
};

}  // namespace

std::unique_ptr<Router> make_round_robin(const RouterSetup& /*setup*/) {
  return std::make_unique<RoundRobin>();
}

}  // namespace ridgeline::routing
