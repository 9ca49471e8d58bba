#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/ids.hpp"
#include "core/rng.hpp"
#include "routing/characters.hpp"
#include "routing/choice.hpp"
#include "routing/kubernetes.hpp"
#include "routing/parameters.hpp"
#include "routing/prefix_table.hpp"
#include "routing/registry.hpp"
#include "routing/router.hpp"

namespace ridgeline::routing {
namespace {

constexpr std::string_view kKthenaSource = "kthena 3cc0572 (August 2026)";
constexpr std::string_view kOneEach = "kthena 3cc0572: a plugin whose weight is not given has 1";
constexpr std::int64_t kKthenaCharacters = 64;
constexpr std::int64_t kKthenaBlocks = 128;          ///< Blocks of a prompt.
constexpr std::int64_t kKthenaRemembered = 100'000;  ///< Blocks per instance; assumed.
constexpr std::int64_t kKthenaMost = 100;            ///< Highest score.

constexpr Parameter weight_of(std::string_view name, std::string_view help) {
  return {.name = name,
          .standard = std::int64_t{1},
          .lowest = 0.0,
          .highest = 1000.0,
          .help = help,
          .source = kOneEach};
}

constexpr auto kKthenaParameters = std::to_array<Parameter>({
    {.name = "maxWaitingRequests",
     .standard = std::int64_t{10},
     .lowest = 1.0,
     .highest = 1e9,
     .help = "Waiting requests from which an instance is left out",
     .source = kKthenaSource},
    weight_of("least_request_weight", "Weight of few requests in flight"),
    weight_of("gpu_usage_weight", "Weight of a free KV cache"),
    weight_of("prefix_cache_weight", "Weight of prompts that it sent there"),
    chars_per_token_parameter(),
});

/// kthena's scheduler with its plugins least-request, gpu-usage and prefix-cache. least-latency has
/// no part: no latency is published, and what was never observed scores alike everywhere.
class Kthena final : public Router {
 public:
  explicit Kthena(const RouterSetup& setup)
      : most_waiting_(setup.integer(kKthenaParameters, "maxWaitingRequests")),
        request_weight_(setup.integer(kKthenaParameters, "least_request_weight")),
        usage_weight_(setup.integer(kKthenaParameters, "gpu_usage_weight")),
        prefix_weight_(setup.integer(kKthenaParameters, "prefix_cache_weight")),
        sent_(blocks_of(setup)) {}

  [[nodiscard]] Needs needs() const override { return {.own = true, .gauges = true}; }

  [[nodiscard]] Pick pick(const RouteInput& input, core::RngStream& draws) override {
    const auto matches = sent_.matches(input);
    const std::int64_t total = sent_.prompt().size();
    std::vector<std::int64_t> in_flight;
    std::vector<std::int64_t> running;
    std::vector<double> usage;
    in_flight.reserve(input.instances.size());
    running.reserve(input.instances.size());
    usage.reserve(input.instances.size());
    bool some_short = false;  // None with a short queue: all stay.
    for (const InstanceView& view : input.instances) {
      in_flight.push_back(view.own.requests);
      running.push_back(view.gauges.running);
      usage.push_back(view.gauges.kv_usage);
      some_short = some_short || view.gauges.waiting < most_waiting_;
    }
    const WholeScores requests = kthena_least_request(in_flight, running);
    const WholeScores free = kthena_gpu_usage(usage);
    WholeScores sums;
    sums.reserve(input.instances.size());
    for (std::size_t i = 0; i < input.instances.size(); ++i) {
      const InstanceView& view = input.instances[i];
      const std::int64_t prefix =
          total > 0 ? matches[view.id.value()] * kKthenaMost / total : std::int64_t{0};
      const bool stays = !some_short || view.gauges.waiting < most_waiting_;
      sums.push_back(stays ? request_weight_ * requests[i] + usage_weight_ * free[i] +
                                 prefix_weight_ * prefix
                           : std::int64_t{-1});
    }
    const auto score = [&](std::size_t i) { return sums[i]; };
    const Drawn drawn = draw_place(sums.size(), score, draws);
    report_scores(input, score);
    return {.instance = input.instances[drawn.place].id, .equals = drawn.equals};
  }

  void on_dispatch(const RouteInput& input, core::InstanceId instance) override {
    sent_.on_dispatch(input, instance);
  }

  void on_gone(core::InstanceId instance) override { sent_.on_gone(instance); }

 private:
  static PromptReader::Blocks blocks_of(const RouterSetup& setup) {
    const std::int64_t tokens = tokens_of_characters(kKthenaCharacters, setup, kKthenaParameters);
    return {.tokens = tokens, .most = kKthenaBlocks * tokens, .memory = kKthenaRemembered};
  }

  std::int64_t most_waiting_;
  std::int64_t request_weight_;
  std::int64_t usage_weight_;
  std::int64_t prefix_weight_;
  SentPrompts sent_;
};

}  // namespace

extern const RouterEntry kKthena{
    .name = "kthena",
    .summary = "few requests, free KV cache and prefixes that it sent, 0 to 100 each",
    .source = "kthena 3cc0572 (August 2026)",
    .make = make_policy<Kthena>,
    .parameters = [] { return std::span<const Parameter>(kKthenaParameters); },
};

}  // namespace ridgeline::routing
