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
#include "routing/filter_registry.hpp"
#include "routing/filters.hpp"
#include "routing/parameters.hpp"
#include "routing/predictor.hpp"
#include "routing/prefix_table.hpp"
#include "routing/router.hpp"
#include "routing/scorers/columns.hpp"
#include "routing/scorers/registry.hpp"
#include "routing/scorers/scorers.hpp"
#include "routing/session_memory.hpp"

namespace ridgeline::routing {
namespace {

constexpr std::string_view kMaxScore = "max-score-picker";
constexpr std::string_view kWeightedRandom = "weighted-random-picker";
constexpr std::string_view kRandomPicker = "random-picker";
constexpr std::string_view kLatencyScorer = "latency-scorer";
constexpr auto kPickers =
    std::to_array<std::string_view>({kMaxScore, kWeightedRandom, kRandomPicker});

/// What two readers need together.
void add_needs(Needs& all, const Needs& more) {
  all.own = all.own || more.own;
  all.first_token = all.first_token || more.first_token;
  all.gauges = all.gauges || more.gauges;
}

struct WeightedScorer {
  Scorer score;
  double weight = 1.0;
  bool zero_unmatched = false;  ///< As in ScorerEntry, like the next.
  bool may_exceed_1 = false;
};

class ProfileRouter final : public Router {
 public:
  ProfileRouter(Profile profile, const RouterSetup& setup)
      : profile_(std::move(profile)),
        picker_(setup.picker.empty() ? std::string(kMaxScore) : setup.picker),
        filters_(setup.filters),
        sent_({.tokens = profile_.block_tokens,
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
      const bool is_latency = profile_.predicts && name == kLatencyScorer;
      scorers_.push_back({.score = is_latency ? latency_scorer() : scorer->make(setup),
                          .weight = profile_.normalised ? weight / weights : weight,
                          .zero_unmatched = scorer->zero_unmatched,
                          .may_exceed_1 = scorer->may_exceed_1});
      add_needs(needs_, scorer->needs);
      if (scorer->needs.gauges) {
        add_rows(scorer->rows);
      }
      reads_prefix_ = reads_prefix_ || scorer->reads_prefix;
      reads_session_ = reads_session_ || scorer->reads_session;
      reads_sites_ = reads_sites_ || scorer->reads_sites;
    }
    if (profile_.sticky || profile_.predicts || !filters_.empty()) {
      add_rows({});
    }
    for (const NamedFilter& filter : filters_) {
      const FilterEntry* entry = find_filter(filter.name);
      RIDGELINE_CHECK(entry != nullptr, filter.name);
      add_needs(needs_, entry->needs == nullptr ? Needs{} : entry->needs(filter));
      reads_session_ = reads_session_ || entry->reads_session;
    }
    if (profile_.sticky) {
      add_needs(needs_, {.own = true, .first_token = true});
      reads_prefix_ = true;
    }
    if (profile_.predicts) {
      predictor_ = setup.predictor;
      add_needs(needs_, {.own = true, .first_token = true, .gauges = true});
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
    read_decision(input);
    if (filters()) {
      filter(draws);
      if (kept_.empty()) {
        report_sums(input);
        return {.instance = {}, .reason = Reason::kFilter};
      }
    }
    const Columns& left = filters() ? few_ : all_;
    sums_.assign(left.size, 0.0);
    for (const WeightedScorer& scorer : scorers_) {
      if (!is_matched_ && scorer.zero_unmatched) {
        continue;
      }
      scores_ = scorer.score(left, std::move(scores_));
      if (scorer.may_exceed_1) {
        add_weighted(sums_, scores_, scorer.weight);
      } else {
        for (std::size_t i = 0; i < left.size; ++i) {
          sums_[i] += scorer.weight * scores_[i];
        }
      }
    }
    report_sums(input);
    replace_by_keys(draws);
    const Drawn drawn = draw_highest(sums_, draws);
    const std::size_t place = filters() ? kept_[drawn.place] : drawn.place;
    return {.instance = input.instances[place].id,
            .equals = drawn.equals,
            .uncached_tokens = uncached_tokens(input, place),
            .reason = reason(left.size)};
  }

  [[nodiscard]] std::vector<Headroom> headroom(const RouteInput& input) override {
    std::vector<Headroom> all;
    if (predictor_) {
      read_decision(input);
      for (const std::optional<Headroom>& one : all_.headroom) {
        all.push_back(*one);
      }
    }
    return all;
  }

  void on_dispatch(const RouteInput& input, core::InstanceId instance) override {
    if (reads_prefix_) {
      sent_.on_dispatch(input, instance);
    }
    if (reads_session_) {
      sessions_.on_dispatch(input.request.session, instance);
    }
  }

  void on_gone(core::InstanceId instance) override {
    sent_.on_gone(instance);
    sessions_.on_gone(instance);
  }

 private:
  [[nodiscard]] bool filters() const {
    return profile_.sticky || predictor_ != nullptr || !filters_.empty();
  }
  void add_rows(const GaugeRows& more) {
    rows_.waiting = rows_.waiting || more.waiting;
    rows_.running = rows_.running || more.running;
    rows_.kv_usage = rows_.kv_usage || more.kv_usage;
  }

  /// Leaves in kept_ the places that pass every filter, and in few_ what is known of them: those of
  /// the setup in their order, then the profile's own.
  void filter(core::RngStream& draws) {
    kept_.resize(all_.size);
    std::iota(kept_.begin(), kept_.end(), std::size_t{0});
    few_ = all_;
    for (const NamedFilter& filter : filters_) {
      keep(find_filter(filter.name)->keep(few_, filter));
    }
    if (kept_.empty()) {
      sums_.clear();
      return;
    }
    num_before_own_ = few_.size;
    if (profile_.sticky) {
      keep(sticky_candidates(few_, profile_.affinity));
    } else if (predictor_ != nullptr) {
      keep(headroom_tier(few_, profile_.explore, draws.uniform()));
    }
  }

  /// Keeps in kept_, and in few_, only what stands at these places of it, which ascend.
  void keep(const Places& places) {
    if (places.size() == kept_.size()) {
      return;
    }
    for (std::size_t i = 0; i < places.size(); ++i) {
      kept_[i] = kept_[places[i]];
    }
    kept_.resize(places.size());
    few_.assign(all_, kept_);
  }

  /// What decided, where so many were left.
  [[nodiscard]] Reason reason(std::size_t left) const {
    if (profile_.sticky && left < num_before_own_) {
      return Reason::kPrefix;
    }
    const bool is_sessions = std::ranges::any_of(filters_, [](const NamedFilter& filter) {
      return find_filter(filter.name)->reads_session;
    });
    return is_sessions && left == 1 && few_.session.front() == 1.0 ? Reason::kSession
                                                                   : Reason::kScore;
  }

  [[nodiscard]] Scorer latency_scorer() const {
    return [weights = profile_.latency](const Columns& all, const Scores& /*room*/) {
      return latency_scores(all, weights);
    };
  }

  void read_decision(const RouteInput& input) {
    if (reads_prefix_) {
      matches_ = sent_.matches(input);
    }
    read_views(input);
    if (predictor_) {
      read_headroom(input);
    }
  }

  void read_headroom(const RouteInput& input) {
    all_.headroom.clear();
    for (std::size_t i = 0; i < input.instances.size(); ++i) {
      const InstanceView& view = input.instances[i];
      const Latency latency =
          predictor_->predict({.request = input.request.id,
                               .instance = view.id,
                               .running = view.gauges.running,
                               .kv_usage = view.gauges.kv_usage,
                               .queued_tokens = view.own.prefill_tokens,
                               .prompt_tokens = input.request.prompt_tokens.value(),
                               .uncached_tokens = uncached_tokens(input, i)});
      // Without any target all are late: the soonest is the least so. A target that is missing
      // beside the other is met.
      const LatencyTargets& targets = input.targets;
      const bool by_tpot_alone = targets.ttft_ms == 0.0 && targets.tpot_ms > 0.0;
      const bool by_ttft_alone = targets.tpot_ms == 0.0 && targets.ttft_ms > 0.0;
      all_.headroom.emplace_back(
          Headroom{.ttft_ms = by_tpot_alone ? 0.0 : targets.ttft_ms - latency.ttft_ms,
                   .tpot_ms = by_ttft_alone ? 0.0 : targets.tpot_ms - latency.tpot_ms});
    }
  }

  /// Instances that the filter left out have no known score.
  void report_sums(const RouteInput& input) const {
    if (input.scores == nullptr) {
      return;
    }
    input.scores->assign(all_.size, std::numeric_limits<double>::quiet_NaN());
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      (*input.scores)[filters() ? kept_[i] : i] = sums_[i];
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

  /// Tokens of the prompt that are not cached at that place of the views.
  [[nodiscard]] std::int64_t uncached_tokens(const RouteInput& input, std::size_t place) const {
    const std::int64_t prompt = input.request.prompt_tokens.value();
    const InstanceView& view = input.instances[place];
    if (needs_.cache) {
      return prompt - view.cached_tokens;
    }
    const std::int64_t matched = reads_prefix_ ? matches_[view.id.value()] : 0;
    return std::max(prompt - matched * profile_.block_tokens, std::int64_t{0});
  }

  /// Fills the rows that some scorer reads.
  void read_views(const RouteInput& input) {
    const std::size_t size = input.instances.size();
    all_.size = size;
    const auto fill = [size](std::vector<double>& row, const auto& value) {
      row.resize(size);
      for (std::size_t i = 0; i < size; ++i) {
        row[i] = static_cast<double>(value(i));
      }
    };
    const std::span<const InstanceView> views = input.instances;
    if (needs_.gauges && rows_.waiting) {
      fill(all_.waiting, [&](std::size_t i) { return views[i].gauges.waiting; });
    }
    if (needs_.gauges && rows_.running) {
      fill(all_.running, [&](std::size_t i) { return views[i].gauges.running; });
    }
    if (needs_.gauges && rows_.kv_usage) {
      fill(all_.kv_usage, [&](std::size_t i) { return views[i].gauges.kv_usage; });
    }
    if (needs_.own) {
      fill(all_.inflight_requests, [&](std::size_t i) { return views[i].own.requests; });
      fill(all_.inflight_tokens, [&](std::size_t i) { return views[i].own.prefill_tokens; });
      fill(all_.uncached_tokens, [&](std::size_t i) { return uncached_tokens(input, i); });
    }
    if (reads_session_) {
      const core::InstanceId served = sessions_.served(input.request.session);
      fill(all_.session, [&](std::size_t i) { return views[i].id == served ? 1.0 : 0.0; });
    }
    if (reads_sites_) {
      const bool is_known = input.other_leg.valid() && !input.sites.empty();
      fill(all_.nearness, [&](std::size_t i) {
        return is_known ? nearness(input.sites[views[i].id.value()],
                                   input.sites[input.other_leg.value()])
                        : 0.0;
      });
    }
    read_matches(input);
  }

  void read_matches(const RouteInput& input) {
    const std::size_t size = input.instances.size();
    const auto fill = [&](const auto& blocks) {
      for (std::size_t i = 0; i < size; ++i) {
        all_.matched[i] = static_cast<double>(blocks(i));
      }
    };
    const bool was_matched = is_matched_;
    is_matched_ = false;
    std::int64_t total = 0;
    if (needs_.cache) {
      total = input.request.prompt_tokens.value() / profile_.block_tokens;
      is_matched_ = std::ranges::any_of(
          input.instances, [](const InstanceView& view) { return view.cached_tokens > 0; });
    } else if (reads_prefix_) {
      total = sent_.prompt().size();
      is_matched_ = !sent_.prompt().keys.empty();  // Own blocks are on no instance.
    }
    if (was_matched || all_.matched.size() != size) {
      all_.matched.assign(size, 0.0);
    }
    if (is_matched_ && needs_.cache) {
      fill([&](std::size_t i) { return input.instances[i].cached_tokens / profile_.block_tokens; });
    } else if (is_matched_) {
      fill([&](std::size_t i) { return matches_[input.instances[i].id.value()]; });
    }
    if (all_.total.size() != size || all_.total.front() != static_cast<double>(total)) {
      all_.total.assign(size, static_cast<double>(total));
      all_.block_tokens.assign(size, static_cast<double>(profile_.block_tokens));
    }
  }

  Profile profile_;
  std::string picker_;
  std::vector<NamedFilter> filters_;  ///< Filters of the setup.
  std::vector<WeightedScorer> scorers_;
  Needs needs_;
  bool reads_prefix_ = false;  ///< What it sent itself; not what KV events tell.
  bool reads_session_ = false;
  bool reads_sites_ = false;
  GaugeRows rows_ = {.waiting = false, .running = false, .kv_usage = false};  ///< That are read.
  SentPrompts sent_;
  SessionMemory sessions_;
  std::shared_ptr<const LatencyPredictor> predictor_;  ///< Where the profile predicts.
  // The decision at hand.
  std::span<const std::int64_t> matches_;  ///< Blocks of the prompt, by instance.
  Columns all_;
  bool is_matched_ = false;         ///< Some instance may have a block of the prompt.
  Places kept_;                     ///< That pass every filter, where there is one.
  std::size_t num_before_own_ = 0;  ///< That pass those of the setup.
  Columns few_;
  Scores sums_;
  Scores scores_;  ///< Scores by one scorer.
};

}  // namespace

std::span<const std::string_view> pickers() {
  return kPickers;
}

std::unique_ptr<Router> make_profile_router(Profile profile, const RouterSetup& setup) {
  return std::make_unique<ProfileRouter>(std::move(profile), setup);
}

}  // namespace ridgeline::routing
