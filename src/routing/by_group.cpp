#include "routing/by_group.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/rng.hpp"
#include "routing/router.hpp"

namespace ridgeline::routing {
namespace {

class ByGroup final : public Router {
 public:
  explicit ByGroup(std::vector<std::unique_ptr<Router>> routers) : routers_(std::move(routers)) {}

  [[nodiscard]] Needs needs() const override { return routers_.front()->needs(); }
  [[nodiscard]] Pick pick(const RouteInput& input, core::RngStream& draws) override {
    return routers_[input.group]->pick(input, draws);
  }
  [[nodiscard]] std::vector<Headroom> headroom(const RouteInput& input) override {
    return routers_[input.group]->headroom(input);
  }
  void on_dispatch(const RouteInput& input, core::InstanceId instance) override {
    if (needs().own) {
      Sent& sent = sent_[input.request.id];
      sent.group = input.group;
      ++sent.times;
    }
    routers_[input.group]->on_dispatch(input, instance);
  }
  void on_gone(core::InstanceId instance) override {
    for (const auto& router : routers_) {
      router->on_gone(instance);
    }
  }
  void on_end(core::RequestId request, core::InstanceId instance) override {
    const auto found = sent_.find(request);
    RIDGELINE_CHECK(found != sent_.end(), "a request ends where it was sent");
    routers_[found->second.group]->on_end(request, instance);
    if (--found->second.times == 0) {
      sent_.erase(found);
    }
  }

 private:
  /// A request that is not known to have ended.
  struct Sent {
    std::uint32_t group = 0;
    std::int32_t times = 0;  ///< A retry can be sent before the end of the one before is known.
  };

  std::vector<std::unique_ptr<Router>> routers_;  ///< By group.
  std::map<core::RequestId, Sent> sent_;
};

}  // namespace

std::unique_ptr<Router> make_by_group(std::size_t groups,
                                      const std::function<std::unique_ptr<Router>()>& make) {
  RIDGELINE_CHECK(groups > 0, "there is a group of instances");
  std::vector<std::unique_ptr<Router>> routers;
  for (std::size_t group = 0; group < groups; ++group) {
    routers.push_back(make());
  }
  return std::make_unique<ByGroup>(std::move(routers));
}

}  // namespace ridgeline::routing
