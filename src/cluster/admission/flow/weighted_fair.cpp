#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>

#include "cluster/admission/flow/by_flow.hpp"
#include "cluster/admission/flow/fairness.hpp"
#include "cluster/admission/flow/fairness_policies.hpp"
#include "core/math.hpp"
#include "core/time.hpp"

namespace ridgeline::admission {
namespace {

/// Start-time fair queueing (P. Goyal, H. Vin, H. Cheng, SIGCOMM 1996): a request starts in virtual
/// time where its flow's last one ended, but not before the one served last, and takes its prompt's
/// tokens over the flow's share; the earliest start is served.
class WeightedFair final : public Fairness {
 public:
  [[nodiscard]] std::size_t choose(std::span<const FlowHead> heads,
                                   core::SimTime /*now*/) override {
    const auto first = std::ranges::min_element(
        heads, {}, [&](const FlowHead& head) { return starts_[head.flow]; });
    return static_cast<std::size_t>(first - heads.begin());
  }
  void on_backlogged(const FlowHead& flow, std::span<const FlowHead> /*others*/) override {
    starts_[flow.flow] = std::max(starts_[flow.flow], now_);
  }
  void on_dispatch(const FlowHead& head, core::SimTime /*now*/) override {
    double& start = starts_[head.flow];
    now_ = start;
    start += core::real(head.prompt_tokens.value()) / head.share;
  }

 private:
  ByFlow<double> starts_;  ///< Start of each flow's next request.
  double now_ = 0.0;       ///< In virtual time.
};

}  // namespace

std::unique_ptr<Fairness> make_weighted_fair() {
  return std::make_unique<WeightedFair>();
}

}  // namespace ridgeline::admission
