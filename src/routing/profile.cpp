#include "routing/profile.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/check.hpp"
#include "core/ids.hpp"
#include "core/math.hpp"
#include "core/rng.hpp"
#include "domain/chain.hpp"
#include "domain/request.hpp"
#include "routing/choice.hpp"
#include "routing/filters.hpp"
#include "routing/parameters.hpp"
#include "routing/prefix_table.hpp"
#include "routing/router.hpp"
#include "routing/scorers/candidate.hpp"
#include "routing/scorers/registry.hpp"
#include "routing/scorers/scorers.hpp"

namespace ridgeline::routing {
namespace {

constexpr std::string_view kMaxScore = "max-score-picker";
constexpr std::string_view kWeightedRandom = "weighted-random-picker";
constexpr std::string_view kRandom = "random-picker";
constexpr auto kPickers = std::to_array<std::string_view>({kMaxScore, kWeightedRandom, kRandom});

/// What two readers need together.
void add_needs(Needs& all, const Needs& more) {
  all.own = all.own || more.own;
  all.first_token = all.first_token || more.first_token;
  all.gauges = all.gauges || more.gauges;
}

struct WeightedScorer {
  Scorer score;
  double weight = 1.0;
};

class ProfileRouter final : public Router {
 public:
  ProfileRouter(Profile profile, const RouterSetup& setup)
      : profile_(std::move(profile)),
        picker_(setup.picker.empty() ? std::string(kMaxScore) : setup.picker) {
    const std::vector<NamedWeight>& named =
        setup.scorers.empty() ? profile_.scorers : setup.scorers;
    double weights = 0.0;
    for (const NamedWeight& one : named) {
      weights += one.weight;
    }
    for (const auto& [name, weight] : named) {
      const ScorerEntry* scorer = find_scorer(name);
      RIDGELINE_CHECK(scorer != nullptr, name);
      scorers_.push_back({.score = scorer->make(setup),
                          .weight = profile_.normalised ? weight / weights : weight});
      add_needs(needs_, scorer->needs);
      reads_prefix_ = reads_prefix_ || scorer->reads_prefix;
    }
    if (profile_.sticky) {
      add_needs(needs_, {.own = true, .first_token = true});
      reads_prefix_ = true;
    }
  }

  [[nodiscard]] Needs needs() const override { return needs_; }

  [[nodiscard]] Pick pick(const RouteInput& input, core::RngStream& draws) override {
    read_prompt(input);
    const std::vector<Candidate> all = candidates(input);
    Places kept(all.size());
    std::iota(kept.begin(), kept.end(), std::size_t{0});
    if (profile_.sticky) {
      kept = sticky_candidates(all, profile_.affinity);
    }
    std::vector<Candidate> left;
    left.reserve(kept.size());
    for (const std::size_t place : kept) {
      left.push_back(all[place]);
    }
    Scores sums(left.size(), 0.0);
    for (const WeightedScorer& scorer : scorers_) {
      add_weighted(sums, scorer.score(left), scorer.weight);
    }
    const auto best = best_of(sums, draws);
    const std::size_t drawn = best.size() == 1 ? 0 : draws.below(best.size());
    return {.instance = input.instances[kept[best[drawn]]].id,
            .equals = static_cast<std::uint32_t>(best.size()),
            .uncached_tokens = left[best[drawn]].uncached_tokens};
  }

  void on_dispatch(const RouteInput& input, core::InstanceId instance) override {
    if (table_) {
      table_->add(place_of(input, instance), blocks_);
    }
  }

 private:
  /// The places that the picker draws from.
  [[nodiscard]] Places best_of(const Scores& sums, core::RngStream& draws) const {
    if (picker_ == kMaxScore) {
      return highest(sums);
    }
    Scores keys(sums.size(), 0.0);
    if (picker_ == kWeightedRandom) {
      for (std::size_t i = 0; i < sums.size(); ++i) {
        const double drawn = draws.uniform();
        keys[i] = sums[i] > 0.0 ? core::pow(drawn, 1.0 / sums[i]) : 0.0;
      }
    }
    return highest(keys);
  }

  static std::size_t place_of(const RouteInput& input, core::InstanceId instance) {
    std::size_t place = 0;
    while (input.instances[place].id != instance) {
      ++place;
    }
    return place;
  }

  /// The blocks of the prompt, and how many of them each instance is believed to hold.
  void read_prompt(const RouteInput& input) {
    if (!reads_prefix_) {
      return;
    }
    if (!table_) {
      table_.emplace(input.instances.size(), profile_.blocks_per_instance);
    }
    const domain::RequestView& request = input.request;
    chain_.assign(input.prompt,
                  request.prompt_tokens,
                  request.lora,
                  domain::unique_content(request.id),
                  domain::output_content(request.id));
    blocks_ = block_keys(
        chain_, request.prompt_tokens.value(), profile_.block_tokens, profile_.most_prefix_tokens);
    matches_ = table_->matches(blocks_);
  }

  [[nodiscard]] std::vector<Candidate> candidates(const RouteInput& input) const {
    const std::int64_t prompt = input.request.prompt_tokens.value();
    std::vector<Candidate> all;
    all.reserve(input.instances.size());
    for (std::size_t i = 0; i < input.instances.size(); ++i) {
      const InstanceView& view = input.instances[i];
      Candidate& one = all.emplace_back();
      one.gauges = view.gauges;
      one.inflight_requests = view.own.requests;
      one.inflight_tokens = view.own.prefill_tokens;
      one.uncached_tokens = prompt;
      if (table_) {
        one.prefix = {.matched = matches_[i],
                      .total = static_cast<std::int64_t>(blocks_.size()),
                      .block_tokens = profile_.block_tokens};
        one.uncached_tokens =
            std::max(prompt - matches_[i] * profile_.block_tokens, std::int64_t{0});
      }
    }
    return all;
  }

  Profile profile_;
  std::string picker_;
  std::vector<WeightedScorer> scorers_;
  Needs needs_;
  bool reads_prefix_ = false;
  std::optional<PrefixTable> table_;
  domain::Chain chain_;
  std::vector<std::uint64_t> blocks_;  ///< Of the prompt at hand.
  std::vector<std::int64_t> matches_;
};

}  // namespace

std::span<const std::string_view> pickers() {
  return kPickers;
}

std::unique_ptr<Router> make_profile_router(Profile profile, const RouterSetup& setup) {
  return std::make_unique<ProfileRouter>(std::move(profile), setup);
}

}  // namespace ridgeline::routing
