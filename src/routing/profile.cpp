#include "routing/profile.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
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
        picker_(setup.picker.empty() ? std::string(kMaxScore) : setup.picker),
        reader_({.tokens = profile_.block_tokens,
                 .most = profile_.most_prefix_tokens,
                 .memory = static_cast<std::int64_t>(profile_.blocks_per_instance)}) {
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
    if (profile_.exact) {
      needs_.cache = reads_prefix_;
      reads_prefix_ = false;
      profile_.block_tokens = setup.block_tokens;
    }
  }

  [[nodiscard]] Needs needs() const override { return needs_; }

  [[nodiscard]] Pick pick(const RouteInput& input, core::RngStream& draws) override {
    read_prompt(input);
    read_views(input);
    Candidates left = all_;
    if (profile_.sticky) {
      kept_ = sticky_candidates(all_, profile_.affinity);
      few_.clear();
      for (const std::size_t place : kept_) {
        few_.push_back(all_[place]);
      }
      left = few_;
    }
    sums_.assign(left.size(), 0.0);
    for (const WeightedScorer& scorer : scorers_) {
      add_weighted(sums_, scorer.score(left), scorer.weight);
    }
    report_sums(input);
    replace_by_keys(draws);
    const Drawn drawn = draw_place(sums_.size(), [&](std::size_t i) { return sums_[i]; }, draws);
    const std::size_t place = profile_.sticky ? kept_[drawn.place] : drawn.place;
    return {.instance = input.instances[place].id,
            .equals = drawn.equals,
            .uncached_tokens = all_[place].uncached_tokens,
            .reason = left.size() < all_.size() ? Reason::kPrefix : Reason::kScore};
  }

  void on_dispatch(const RouteInput& input, core::InstanceId instance) override {
    if (table_) {
      table_->add(instance.value(), *prompt_);
      reader_.note_sent(input.request.id);
    }
  }

  void on_gone(core::InstanceId instance) override {
    if (table_) {
      table_->forget(instance.value());
    }
  }

 private:
  /// Of what the filter left out, no score is known.
  void report_sums(const RouteInput& input) const {
    if (input.scores == nullptr) {
      return;
    }
    input.scores->assign(all_.size(), std::numeric_limits<double>::quiet_NaN());
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      (*input.scores)[profile_.sticky ? kept_[i] : i] = sums_[i];
    }
  }

  /// The picker's keys in the place of the sums, where it does not take the highest of those.
  void replace_by_keys(core::RngStream& draws) {
    if (picker_ == kMaxScore) {
      return;
    }
    for (double& sum : sums_) {
      const double drawn = picker_ == kWeightedRandom ? draws.uniform() : 0.0;
      sum = picker_ == kWeightedRandom && sum > 0.0 ? core::pow(drawn, 1.0 / sum) : 0.0;
    }
  }

  /// The blocks of the prompt, and how many of them each instance is believed to hold.
  void read_prompt(const RouteInput& input) {
    if (!reads_prefix_) {
      return;
    }
    if (!table_) {
      table_.emplace(0, profile_.blocks_per_instance);
    }
    table_->make_room(input.id_room());
    prompt_ = &reader_.read(input);
    if (reader_.own_blocks_have_keys()) {
      table_->give_keys_to_own_blocks();
    }
    matches_ = table_->matches(*prompt_);
  }

  void read_views(const RouteInput& input) {
    const std::int64_t prompt = input.request.prompt_tokens.value();
    all_.resize(input.instances.size());
    for (std::size_t i = 0; i < all_.size(); ++i) {
      const InstanceView& view = input.instances[i];
      Candidate& one = all_[i];
      one.gauges = view.gauges;
      one.inflight_requests = view.own.requests;
      one.inflight_tokens = view.own.prefill_tokens;
      one.uncached_tokens = prompt;
      if (needs_.cache) {
        one.prefix = {.matched = view.cached_tokens / profile_.block_tokens,
                      .total = prompt / profile_.block_tokens,
                      .block_tokens = profile_.block_tokens};
        one.uncached_tokens = prompt - view.cached_tokens;
      } else if (table_) {
        const std::int64_t matched = matches_[view.id.value()];
        one.prefix = {
            .matched = matched, .total = prompt_->size(), .block_tokens = profile_.block_tokens};
        one.uncached_tokens = std::max(prompt - matched * profile_.block_tokens, std::int64_t{0});
      }
    }
  }

  Profile profile_;
  std::string picker_;
  std::vector<WeightedScorer> scorers_;
  Needs needs_;
  bool reads_prefix_ = false;
  PromptReader reader_;
  std::optional<PrefixTable> table_;
  // Of the decision at hand.
  const PromptBlocks* prompt_ = nullptr;
  std::span<const std::int64_t> matches_;  ///< Blocks of the prompt, by instance.
  std::vector<Candidate> all_;
  Places kept_;  ///< Of those the sticky ones, where the profile asks for them.
  std::vector<Candidate> few_;
  Scores sums_;
};

}  // namespace

std::span<const std::string_view> pickers() {
  return kPickers;
}

std::unique_ptr<Router> make_profile_router(Profile profile, const RouterSetup& setup) {
  return std::make_unique<ProfileRouter>(std::move(profile), setup);
}

}  // namespace ridgeline::routing
