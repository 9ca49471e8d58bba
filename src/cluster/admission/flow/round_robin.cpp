#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>

#include "cluster/admission/flow/fairness.hpp"
#include "cluster/admission/flow/fairness_policies.hpp"
#include "core/time.hpp"
#include "domain/tenants.hpp"

namespace ridgeline::admission {
namespace {

/// One request of each flow in turn, in the order of the flows.
class RoundRobin final : public Fairness {
 public:
  [[nodiscard]] std::size_t choose(std::span<const FlowHead> heads,
                                   core::SimTime /*now*/) override {
    if (!last_.valid()) {
      return 0;
    }
    const auto next = std::ranges::find_if(
        heads, [&](const FlowHead& head) { return head.flow.value() > last_.value(); });
    return next == heads.end() ? 0 : static_cast<std::size_t>(next - heads.begin());
  }
  void on_dispatch(const FlowHead& head, core::SimTime /*now*/) override { last_ = head.flow; }

 private:
  domain::TenantId last_;  ///< The flow served last.
};

}  // namespace

std::unique_ptr<Fairness> make_round_robin_flows() {
  return std::make_unique<RoundRobin>();
}

}  // namespace ridgeline::admission
