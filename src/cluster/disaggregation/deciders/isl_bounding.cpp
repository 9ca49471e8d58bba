#include <memory>

#include "cluster/disaggregation/decider.hpp"
#include "cluster/disaggregation/deciders/deciders.hpp"
#include "core/units.hpp"

namespace ridgeline::disaggregation {
namespace {

/// Dynamo's isl_bounding (2a6da14): a prompt stays on the decode worker where little of it is left
/// to compute, in tokens and as a share.
class IslBounding final : public Decider {
 public:
  explicit IslBounding(const DeciderParameters& parameters)
      : tokens_(parameters.non_cached_tokens), share_(parameters.uncached_share) {}

  [[nodiscard]] bool disaggregates(const Prompt& prompt) const override {
    const auto left = static_cast<double>(prompt.uncached().value());
    return prompt.uncached() >= tokens_ ||
           left >= share_ * static_cast<double>(prompt.tokens.value());
  }

 private:
  core::Tokens tokens_;
  double share_;
};

}  // namespace

std::unique_ptr<Decider> make_isl_bounding(const DeciderParameters& parameters) {
  return std::make_unique<IslBounding>(parameters);
}

}  // namespace ridgeline::disaggregation
