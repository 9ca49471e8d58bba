#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>

#include "cluster/admission/flow/fairness.hpp"
#include "cluster/admission/flow/fairness_policies.hpp"
#include "core/time.hpp"

namespace ridgeline::admission {
namespace {

/// The first of all requests, whatever its flow.
class GlobalStrict final : public Fairness {
 public:
  [[nodiscard]] std::size_t choose(std::span<const FlowHead> heads,
                                   core::SimTime /*now*/) override {
    const auto first = std::ranges::min_element(heads, {}, &FlowHead::key);
    return static_cast<std::size_t>(first - heads.begin());
  }
};

}  // namespace

std::unique_ptr<Fairness> make_global_strict() {
  return std::make_unique<GlobalStrict>();
}

}  // namespace ridgeline::admission
