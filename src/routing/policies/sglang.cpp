#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/rng.hpp"
#include "domain/request.hpp"
#include "routing/cache_aware.hpp"
#include "routing/character_tree.hpp"
#include "routing/policies/policies.hpp"
#include "routing/router.hpp"

namespace ridgeline::routing {
namespace {

/// SGLang gateway's cache_aware with its launcher's defaults. Prompts are tokens here, so that a
/// token counts as one character, and what a worker keeps is measured in tokens; the tree is not
/// evicted within a run.
class Sglang final : public Router {
 public:
  [[nodiscard]] Needs needs() const override { return {.own = true}; }

  [[nodiscard]] Pick pick(const RouteInput& input, core::RngStream& /*draws*/) override {
    const std::size_t count = input.instances.size();
    if (!policy_) {
      policy_.emplace(count, CacheAware::Options{});
    }
    Text text;
    std::int64_t stated = 0;
    for (const auto& segment : input.prompt) {
      if (segment.length.value() > 0) {
        text.push_back({.content = segment.content, .offset = 0, .length = segment.length.value()});
        stated += segment.length.value();
      }
    }
    const std::int64_t rest = input.request.prompt_tokens.value() - stated;
    if (rest > 0) {
      text.push_back(
          {.content = domain::unique_content(input.request.id), .offset = 0, .length = rest});
    }
    std::vector<std::int64_t> loads;
    for (const InstanceView& view : input.instances) {
      loads.push_back(view.own.requests);
    }
    const std::size_t chosen = policy_->pick(text, loads, std::vector<bool>(count, true));
    return {.instance = input.instances[chosen].id};
  }

 private:
  std::optional<CacheAware> policy_;
};

}  // namespace

std::unique_ptr<Router> make_sglang() {
  return std::make_unique<Sglang>();
}

}  // namespace ridgeline::routing
