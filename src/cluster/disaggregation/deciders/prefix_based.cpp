#include <memory>

#include "cluster/disaggregation/decider.hpp"
#include "cluster/disaggregation/deciders/deciders.hpp"
#include "core/units.hpp"

namespace ridgeline::disaggregation {
namespace {

/// llm-d's prefix-based-pd-decider (ebab687): worth it from so many prompt tokens on that the
/// decode instance does not hold; 0: never.
class PrefixBased final : public Decider {
 public:
  explicit PrefixBased(const DeciderParameters& parameters)
      : non_cached_tokens_(parameters.non_cached_tokens),
        min_prompt_tokens_(parameters.min_prompt_tokens) {}

  [[nodiscard]] bool disaggregates(const Prompt& prompt) const override {
    return non_cached_tokens_ > core::Tokens(0) && prompt.tokens >= min_prompt_tokens_ &&
           prompt.uncached() >= non_cached_tokens_;
  }

 private:
  core::Tokens non_cached_tokens_;
  core::Tokens min_prompt_tokens_;
};

}  // namespace

std::unique_ptr<Decider> make_prefix_based(const DeciderParameters& parameters) {
  return std::make_unique<PrefixBased>(parameters);
}

}  // namespace ridgeline::disaggregation
