#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>

#include "cluster/admission/flow/by_flow.hpp"
#include "cluster/admission/flow/fairness.hpp"
#include "cluster/admission/flow/fairness_policies.hpp"
#include "core/math.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/tenants.hpp"

namespace ridgeline::admission {
namespace {

// Weights of a prompt's and of a generated token: the paper's own choice.
constexpr double kInputWeight = 1.0;
constexpr double kOutputWeight = 2.0;

/// The virtual token counter (Y. Sheng and others, "Fairness in Serving Large Language Models",
/// OSDI 2024, algorithm 2), each counter over the flow's share: a flow's counter grows by the
/// prompt's tokens when a request is sent and by the generated ones when the gateway learns of its
/// end; the smallest is served. A flow that comes back is lifted to the smallest counter of those
/// that wait, or, where none waits, to that of the flow that waited last.
class VirtualTokens final : public Fairness {
 public:
  [[nodiscard]] bool needs_output() const override { return true; }

  [[nodiscard]] std::size_t choose(std::span<const FlowHead> heads,
                                   core::SimTime /*now*/) override {
    const auto least = std::ranges::min_element(
        heads, {}, [&](const FlowHead& head) { return counters_[head.flow]; });
    return static_cast<std::size_t>(least - heads.begin());
  }

  void on_backlogged(const FlowHead& flow, std::span<const FlowHead> others) override {
    double least = last_.valid() ? counters_[last_] : 0.0;
    if (!others.empty()) {
      least = counters_[others.front().flow];
      for (const FlowHead& other : others) {
        least = std::min(least, counters_[other.flow]);
      }
    }
    counters_[flow.flow] = std::max(counters_[flow.flow], least);
  }

  void on_dispatch(const FlowHead& head, core::SimTime /*now*/) override {
    counters_[head.flow] += kInputWeight * core::real(head.prompt_tokens.value()) / head.share;
    last_ = head.flow;
  }

  void on_output(domain::TenantId flow,
                 double share,
                 core::Tokens output,
                 core::SimTime /*now*/) override {
    counters_[flow] += kOutputWeight * core::real(output.value()) / share;
  }

 private:
  ByFlow<double> counters_;
  domain::TenantId
      last_;  ///< The flow served last: that which left the queue last, if it is empty.
};

}  // namespace

std::unique_ptr<Fairness> make_virtual_tokens() {
  return std::make_unique<VirtualTokens>();
}

}  // namespace ridgeline::admission
