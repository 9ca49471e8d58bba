#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/ids.hpp"
#include "core/rng.hpp"
#include "domain/request.hpp"
#include "routing/cache_aware.hpp"
#include "routing/character_tree.hpp"
#include "routing/parameters.hpp"
#include "routing/registry.hpp"
#include "routing/router.hpp"

namespace ridgeline::routing {
namespace {

constexpr std::string_view kSglangSource =
    "SGLang gateway e8d57e7 (May 2026), its launcher's default";

constexpr auto kSglangParameters = std::to_array<Parameter>({
    {.name = "cache_threshold",
     .standard = 0.3,
     .lowest = 0.0,
     .highest = 1.0,
     .help = "Matched share of the prompt above which it goes where it was",
     .source = kSglangSource},
    {.name = "balance_abs_threshold",
     .standard = std::int64_t{64},
     .lowest = 0.0,
     .highest = 1e9,
     .help = "Loads are far apart when they differ by more requests than this",
     .source = kSglangSource},
    {.name = "balance_rel_threshold",
     .standard = 1.5,
     .lowest = 1.0,
     .highest = 1e9,
     .help = "and when the most is more than so many times the least",
     .source = kSglangSource},
});

/// SGLang gateway's cache_aware with its launcher's defaults unless the setup says otherwise.
/// Prompts are tokens here, so that a token counts as one character, and what a worker keeps is
/// measured in tokens; the tree is not evicted within a run.
class Sglang final : public Router {
 public:
  explicit Sglang(const RouterSetup& setup)
      : options_{.cache_threshold = setup.number(kSglangParameters, "cache_threshold"),
                 .balance_abs = setup.integer(kSglangParameters, "balance_abs_threshold"),
                 .balance_rel = setup.number(kSglangParameters, "balance_rel_threshold")} {}

  [[nodiscard]] Needs needs() const override { return {.own = true}; }

  [[nodiscard]] Pick pick(const RouteInput& input, core::RngStream& /*draws*/) override {
    workers_ = std::max(workers_, input.id_room());
    const std::size_t count = workers_;
    if (!policy_) {
      policy_.emplace(count, options_);
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
    // Instances that cannot be chosen have no part in what is far apart.
    std::vector<std::int64_t> loads(count, input.instances.front().own.requests);
    std::vector<bool> healthy(count, false);
    for (const InstanceView& view : input.instances) {
      loads[view.id.value()] = view.own.requests;
      healthy[view.id.value()] = true;
    }
    const std::size_t chosen = policy_->pick(text, loads, healthy);
    return {.instance = core::InstanceId(static_cast<core::InstanceId::Rep>(chosen)),
            .reason = policy_->followed_prompt() ? Reason::kPrefix : Reason::kLoad};
  }

 private:
  CacheAware::Options options_;
  std::optional<CacheAware> policy_;
  std::size_t workers_ = 0;  ///< That were ever seen: some may be gone now.
};

}  // namespace

extern const RouterEntry kSglang{
    .name = "sglang",
    .summary = "where most of the prompt was sent, unless loads are far apart",
    .source = "SGLang gateway e8d57e7 (May 2026), cache_aware",
    .make = make_policy<Sglang>,
    .parameters = [] { return std::span<const Parameter>(kSglangParameters); },
};

}  // namespace ridgeline::routing
