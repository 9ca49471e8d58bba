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
#include "core/time.hpp"
#include "routing/choice.hpp"
#include "routing/kubernetes.hpp"
#include "routing/parameters.hpp"
#include "routing/registry.hpp"
#include "routing/request_rates.hpp"
#include "routing/router.hpp"

namespace ridgeline::routing {
namespace {

constexpr std::string_view kKvawareSource = "vLLM production-stack a6c01db (August 2026)";
constexpr core::Duration kKvawareWindow = core::Duration::seconds(60);

constexpr auto kKvawareParameters = std::to_array<Parameter>({
    {.name = "kv_aware_threshold",
     .standard = std::int64_t{2000},
     .lowest = 0.0,
     .highest = 1e9,
     .help = "Tokens of the prompt that may be missing where it is followed",
     .source = kKvawareSource},
});

/// The most tokens of the prompt that any instance has.
std::int64_t longest_match(const RouteInput& input) {
  return std::ranges::max(input.instances, {}, &InstanceView::cached_tokens).cached_tokens;
}

/// production-stack's kvaware: where the most of the prompt is cached, as KV events tell (they
/// stand for its look-up at LMCache's controller); where too much is missing everywhere, the lowest
/// rate of requests.
class KvAware final : public Router {
 public:
  explicit KvAware(const RouterSetup& setup)
      : threshold_(setup.integer(kKvawareParameters, "kv_aware_threshold")) {}

  [[nodiscard]] Needs needs() const override { return {.cache = true}; }
  [[nodiscard]] Pick pick(const RouteInput& input, core::RngStream& /*draws*/) override {
    const std::int64_t longest = longest_match(input);
    if (longest == 0 || longest < input.request.prompt_tokens.value() - threshold_) {
      std::vector<std::optional<double>> known;
      for (const InstanceView& view : input.instances) {
        known.push_back(rates_.rate(view.id, input.now));
      }
      return {.instance = input.instances[lowest_rate(known)].id, .reason = Reason::kLoad};
    }
    const auto best = std::ranges::find(input.instances, longest, &InstanceView::cached_tokens);
    return {.instance = best->id, .reason = Reason::kPrefix};
  }
  void on_dispatch(const RouteInput& input, core::InstanceId instance) override {
    rates_.add(instance, input.now);
  }

 private:
  std::int64_t threshold_;
  RequestRates rates_{kKvawareWindow};
};

// SGLang gateway e8d57e7, its launcher's defaults.
constexpr double kZmqThreshold = 0.3;
constexpr std::int64_t kZmqAbsolute = 64;
constexpr double kZmqRelative = 1.5;

/// SGLang's cache_aware_zmq: the least loaded of those that have the longest match, as KV events
/// tell, unless loads are far apart or the match is short; then the least loaded of all.
class CacheAwareZmq final : public Router {
 public:
  [[nodiscard]] Needs needs() const override { return {.own = true, .cache = true}; }
  [[nodiscard]] Pick pick(const RouteInput& input, core::RngStream& /*draws*/) override {
    const auto load = [](const InstanceView& view) { return view.own.requests; };
    const auto [least, most] = std::ranges::minmax(input.instances, {}, load);
    const bool apart =
        load(most) - load(least) > kZmqAbsolute &&
        static_cast<double>(load(most)) > kZmqRelative * static_cast<double>(load(least));
    const std::int64_t longest = longest_match(input);
    const bool follows =
        !apart && static_cast<double>(longest) >
                      kZmqThreshold * static_cast<double>(input.request.prompt_tokens.value());
    const InstanceView* best = nullptr;
    for (const InstanceView& view : input.instances) {
      const bool may = !follows || view.cached_tokens == longest;
      if (may && (best == nullptr || load(view) < load(*best))) {
        best = &view;
      }
    }
    return {.instance = best->id, .reason = follows ? Reason::kPrefix : Reason::kLoad};
  }
};

/// AIBrix's least-kv-cache.
class LeastKvCache final : public Router {
 public:
  [[nodiscard]] Needs needs() const override { return {.gauges = true}; }
  [[nodiscard]] Pick pick(const RouteInput& input, core::RngStream& draws) override {
    Pick pick =
        draw_least(input, [](const InstanceView& view) { return view.gauges.kv_usage; }, draws);
    pick.reason = Reason::kLoad;
    return pick;
  }
};

}  // namespace

extern const RouterEntry kSglangZmq{
    .name = "sglang-zmq",
    .summary = "the least busy of those that have the most of the prompt, as KV events tell",
    .source = "SGLang gateway e8d57e7 (May 2026), cache_aware_zmq",
    .make = make_policy<CacheAwareZmq>,
};

extern const RouterEntry kProductionStackKvaware{
    .name = "production-stack-kvaware",
    .summary = "where the most of the prompt is cached, unless more than 2000 tokens are missing",
    .source = "vLLM production-stack a6c01db (August 2026), KV events for LMCache's look-up",
    .make = make_policy<KvAware>,
    .parameters = [] { return std::span<const Parameter>(kKvawareParameters); },
};

extern const RouterEntry kAibrixLeastKvCache{
    .name = "aibrix-least-kv-cache",
    .summary = "the most free KV cache",
    .source = "AIBrix e3e10f9 (August 2026)",
    .make = make_policy<LeastKvCache>,
};

}  // namespace ridgeline::routing
