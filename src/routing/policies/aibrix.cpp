#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/ids.hpp"
#include "core/rng.hpp"
#include "routing/characters.hpp"
#include "routing/kubernetes.hpp"
#include "routing/parameters.hpp"
#include "routing/prefix_table.hpp"
#include "routing/registry.hpp"
#include "routing/router.hpp"

namespace ridgeline::routing {
namespace {

constexpr std::string_view kAibrixSource = "AIBrix e3e10f9 (August 2026), its code's default";
constexpr std::int64_t kBlockCharacters = 128;
constexpr std::int64_t kTableBlocks = 200'000;
constexpr std::int64_t kAibrixMostTokens = 1'000'000'000;  ///< All of a prompt.

constexpr auto kAibrixParameters = std::to_array<Parameter>({
    {.name = "imbalance_abs_count",
     .standard = std::int64_t{8},
     .lowest = 0.0,
     .highest = 1e9,
     .help =
         "Requests in flight that instances may differ by before the least busy alone is chosen",
     .source = kAibrixSource},
    {.name = "standard_deviation_factor",
     .standard = 1.0,
     .lowest = 0.0,
     .highest = 1e3,
     .help = "Deviations above the mean of requests in flight up to which a match is taken",
     .source = kAibrixSource},
    chars_per_token_parameter(),
});

/// AIBrix's prefix-cache: by the gateway's own counts, and by a table of what it sent where.
class Aibrix final : public Router {
 public:
  explicit Aibrix(const RouterSetup& setup)
      : imbalance_(setup.integer(kAibrixParameters, "imbalance_abs_count")),
        deviations_(setup.number(kAibrixParameters, "standard_deviation_factor")),
        sent_({.tokens = tokens_of_characters(kBlockCharacters, setup, kAibrixParameters),
               .most = kAibrixMostTokens,
               .memory = kTableBlocks}) {}

  [[nodiscard]] Needs needs() const override { return {.own = true}; }

  [[nodiscard]] Pick pick(const RouteInput& input, core::RngStream& draws) override {
    const auto matches = sent_.matches(input);
    const std::int64_t total = sent_.prompt().size();
    std::vector<std::int64_t> percent;
    std::vector<std::int64_t> running;
    for (const InstanceView& view : input.instances) {
      percent.push_back(total > 0 ? matches[view.id.value()] * 100 / total : 0);
      running.push_back(view.own.requests);
    }
    const auto picks = aibrix_prefix_cache(percent, running, imbalance_, deviations_).picks;
    if (input.scores != nullptr) {
      input.scores->assign(percent.begin(), percent.end());
    }
    const std::size_t drawn = picks.size() == 1 ? 0 : draws.below(picks.size());
    return {.instance = input.instances[picks[drawn]].id,
            .equals = static_cast<std::uint32_t>(picks.size()),
            .reason = percent[picks[drawn]] > 0 ? Reason::kPrefix : Reason::kLoad};
  }

  void on_dispatch(const RouteInput& input, core::InstanceId instance) override {
    sent_.on_dispatch(input, instance);
  }

  void on_gone(core::InstanceId instance) override { sent_.on_gone(instance); }

 private:
  std::int64_t imbalance_;
  double deviations_;
  SentPrompts sent_;
};

}  // namespace

extern const RouterEntry kAibrix{
    .name = "aibrix",
    .summary = "where most of the prompt was sent, unless that instance is much busier",
    .source = "AIBrix e3e10f9 (August 2026), prefix-cache",
    .make = make_policy<Aibrix>,
    .parameters = [] { return std::span<const Parameter>(kAibrixParameters); },
};

}  // namespace ridgeline::routing
