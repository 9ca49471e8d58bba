#include <memory>

#include "cluster/disaggregation/decider.hpp"
#include "cluster/disaggregation/deciders/deciders.hpp"
#include "core/units.hpp"

namespace ridgeline::disaggregation {
namespace {

/// inference-sim's threshold (f90a1e3), which must be exceeded.
class PrefixThreshold final : public Decider {
 public:
  explicit PrefixThreshold(core::Tokens threshold) : threshold_(threshold) {}

  [[nodiscard]] bool disaggregates(const Prompt& prompt) const override {
    return prompt.uncached() > threshold_;
  }

 private:
  core::Tokens threshold_;
};

}  // namespace

std::unique_ptr<Decider> make_prefix_threshold(const DeciderParameters& parameters) {
  return std::make_unique<PrefixThreshold>(parameters.non_cached_tokens);
}

}  // namespace ridgeline::disaggregation
