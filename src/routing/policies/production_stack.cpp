#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/ids.hpp"
#include "core/rng.hpp"
#include "core/time.hpp"
#include "routing/characters.hpp"
#include "routing/choice.hpp"
#include "routing/kubernetes.hpp"
#include "routing/parameters.hpp"
#include "routing/prefix_table.hpp"
#include "routing/registry.hpp"
#include "routing/request_rates.hpp"
#include "routing/router.hpp"

namespace ridgeline::routing {

extern const RouterEntry kSession;  // session.cpp

namespace {

constexpr std::string_view kStackSource = "vLLM production-stack a6c01db (August 2026)";
constexpr core::Duration kStatisticsWindow = core::Duration::seconds(60);
constexpr std::int64_t kChunkCharacters = 128;
constexpr std::int64_t kStackMostTokens = 1'000'000'000;  ///< All of a prompt.

constexpr auto kStackParameters = std::to_array<Parameter>({
    {.name = "prefix_min_match_length",
     .standard = std::int64_t{0},
     .lowest = 0.0,
     .highest = 1e9,
     .help = "Characters of the prompt below which a match counts for nothing",
     .source = kStackSource},
    chars_per_token_parameter(),
});

/// The place of the instance without statistics, else with the lowest rate.
std::size_t lowest_place(const RouteInput& input, RequestRates& rates) {
  std::vector<std::optional<double>> known;
  for (const InstanceView& view : input.instances) {
    known.push_back(rates.rate(view.id, input.now));
  }
  return lowest_rate(known);
}

/// A turn for each set of instances that may be chosen.
class StackRoundRobin final : public Router {
 public:
  [[nodiscard]] Needs needs() const override { return {}; }
  [[nodiscard]] Pick pick(const RouteInput& input, core::RngStream& /*draws*/) override {
    return {.instance = input.instances[turns_[set_of(input)] % input.instances.size()].id,
            .reason = Reason::kTurn};
  }
  void on_dispatch(const RouteInput& input, core::InstanceId /*instance*/) override {
    ++turns_[set_of(input)];
  }

 private:
  static std::vector<core::InstanceId> set_of(const RouteInput& input) {
    std::vector<core::InstanceId> ids;
    for (const InstanceView& view : input.instances) {
      ids.push_back(view.id);
    }
    return ids;
  }

  std::map<std::vector<core::InstanceId>, std::size_t> turns_;
};

/// A session stays; a request without one goes where the fewest went lately. Rendezvous hashing
/// stands for the hash ring: both move only the sessions that must move.
class StackSession final : public Router {
 public:
  explicit StackSession(const RouterSetup& setup) : hashed_(kSession.make(setup)) {}

  [[nodiscard]] Needs needs() const override { return {}; }
  [[nodiscard]] Pick pick(const RouteInput& input, core::RngStream& draws) override {
    return input.request.session.valid()
               ? hashed_->pick(input, draws)
               : Pick{.instance = input.instances[lowest_place(input, rates_)].id,
                      .reason = Reason::kLoad};
  }
  void on_dispatch(const RouteInput& input, core::InstanceId instance) override {
    rates_.add(instance, input.now);
  }

 private:
  std::unique_ptr<Router> hashed_;
  RequestRates rates_{kStatisticsWindow};
};

/// Any of those that were given the longest beginning of the prompt.
class StackPrefixAware final : public Router {
 public:
  explicit StackPrefixAware(const RouterSetup& setup)
      : least_match_(setup.integer(kStackParameters, "prefix_min_match_length")),
        // No memory: every chunk has its key.
        reader_({.tokens = tokens_of_characters(kChunkCharacters, setup, kStackParameters),
                 .most = kStackMostTokens}) {}

  [[nodiscard]] Needs needs() const override { return {}; }
  [[nodiscard]] Pick pick(const RouteInput& input, core::RngStream& draws) override {
    const ChunkTrie::Match match = trie_.longest(reader_.read(input).keys);
    if (match.chunks * kChunkCharacters < least_match_) {
      return {.instance = input.instances[lowest_place(input, rates_)].id, .reason = Reason::kLoad};
    }
    std::vector<int> scores(input.instances.size(), 0);
    for (std::size_t i = 0; i < scores.size(); ++i) {
      for (const std::size_t endpoint : match.endpoints) {
        scores[i] += endpoint == input.instances[i].id.value() ? 1 : 0;
      }
    }
    const auto score = [&](std::size_t i) { return scores[i]; };
    const Drawn drawn = draw_place(scores.size(), score, draws);
    report_scores(input, score);
    return {.instance = input.instances[drawn.place].id,
            .equals = drawn.equals,
            .reason = match.chunks > 0 ? Reason::kPrefix : Reason::kDraw};
  }
  void on_dispatch(const RouteInput& input, core::InstanceId instance) override {
    trie_.insert(reader_.read(input).keys, instance.value());
    rates_.add(instance, input.now);
  }

 private:
  std::int64_t least_match_;
  PromptReader reader_;
  ChunkTrie trie_;
  RequestRates rates_{kStatisticsWindow};
};

}  // namespace

extern const RouterEntry kProductionStackRoundrobin{
    .name = "production-stack-roundrobin",
    .summary = "one after the other, with a turn for each set of instances",
    .source = "vLLM production-stack a6c01db (August 2026)",
    .make = make_policy<StackRoundRobin>,
};

extern const RouterEntry kProductionStackSession{
    .name = "production-stack-session",
    .summary = "the requests of a session stay; others go where the fewest went in the last minute",
    .source = "vLLM production-stack a6c01db (August 2026)",
    .make = make_policy<StackSession>,
};

extern const RouterEntry kProductionStackPrefixaware{
    .name = "production-stack-prefixaware",
    .summary = "any of those that were sent the longest beginning of the prompt",
    .source = "vLLM production-stack a6c01db (August 2026)",
    .make = make_policy<StackPrefixAware>,
    .parameters = [] { return std::span<const Parameter>(kStackParameters); },
};

}  // namespace ridgeline::routing
