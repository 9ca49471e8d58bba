#include "plan/planner.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/digest.hpp"
#include "core/distributions.hpp"
#include "core/math.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "plan/answer.hpp"
#include "plan/capacity.hpp"
#include "plan/cost.hpp"
#include "plan/demand.hpp"
#include "plan/evaluation_store.hpp"
#include "plan/failure.hpp"
#include "plan/finish.hpp"
#include "plan/front.hpp"
#include "plan/maximize.hpp"
#include "plan/points.hpp"
#include "plan/question.hpp"
#include "plan/race.hpp"
#include "plan/replica_capacity.hpp"
#include "plan/space.hpp"
#include "plan/sure_load.hpp"
#include "plan/target.hpp"
#include "scenario/resolve.hpp"
#include "sweep/point_id.hpp"

namespace ridgeline::plan {
namespace {

/// A window is shorter than so many service times: no percentile of it means anything (planner.md,
/// section 12).
constexpr double kLeastServiceTimes = 20.0;

class Planner {
 public:
  Planner(const Question& question, const PlanOptions& options, const std::atomic<bool>& interrupt)
      : question_(question), options_(options), interrupt_(interrupt) {}

  core::Result<Answer> run() {
    auto space = Space::read(question_);
    if (!space) {
      return core::fail(std::move(space).error());
    }
    space_.emplace(std::move(*space));
    auto points = look_at_points(
        question_,
        *space_,
        options_.jobs,
        [this](std::int64_t done, std::int64_t all) { report("looking at points", done, all); },
        interrupt_);
    if (!points) {
      return core::fail(std::move(points).error());
    }
    points_ = std::move(*points);
    take_points();
    if (auto errors = question_errors(); !errors.empty()) {
      return core::fail(std::move(errors));
    }
    if (points_.interrupted) {
      answer_.partial = true;
      return std::move(answer_);
    }
    if (!points_.open.empty()) {
      if (auto done = question_.most_of ? find_most() : search(); !done) {
        return core::fail(std::move(done).error());
      }
    }
    conclude();
    return std::move(answer_);
  }

 private:
  void report(const std::string& stage, std::int64_t done, std::int64_t all) {
    if (options_.progress) {
      options_.progress({.stage = stage, .done = done, .all = all, .best = best_});
    }
  }

  void take_points() {
    answer_.question = question_;
    answer_.candidates = points_.candidates;
    answer_.rejected = points_.rejected;
    answer_.engine = points_.engine;
    const Demand& demand = points_.demand;
    answer_.load = demand.load();
    answer_.is_closed_loop = demand.clients.has_value();
    answer_.session_rate = demand.session_rate;
    answer_.workload = demand.text();
    if (question_.most_of) {
      answer_.workload = fmt::format("as many {} as meet the targets",
                                     demand.clients ? "clients" : "requests per second");
    }
    if (!demand.trace.empty()) {
      answer_.workload += fmt::format(" (trace {})", demand.trace);
    }
    answer_.search.points = points_.points;
    for (const Rejection& rejection : points_.rejected) {
      answer_.search.rejected += rejection.count;
    }
    answer_.search.bounded =
        static_cast<std::int64_t>(points_.candidates.size() - points_.open.size());
    if (!demand.clients && demand.interval_scv >= kBurstyScv) {
      answer_.warnings.push_back(
          {.code = "W-bursts",
           .message = fmt::format(
               "requests come in bursts (the variance of the times between them is {:.3g} times "
               "that of random ones), and a replica's capacity is that of whole bursts, made "
               "slower or faster: fewer replicas that share each burst may do",
               demand.interval_scv),
           .hint = "ridgeline run with --instances shows what so many do"});
    }
    core::Digest digest;
    digest.add(std::string_view("ridgeline plan 1"));
    digest.add(std::string_view(sweep::one_line(question_.base)));
    digest.add(std::string_view(sweep::one_line(question_.axes)));
    for (const scenario::Override& change : question_.overrides) {
      digest.add(std::string_view(change.path));
      digest.add(std::string_view(change.text));
    }
    for (const Target& target : question_.slo.targets) {
      digest.add(std::string_view(target.text()));
    }
    if (question_.most_of) {
      digest.add(std::string_view("maximize throughput"));
    }
    for (const PlanCandidate& candidate : points_.candidates) {
      digest.add(std::string_view(candidate.id));
    }
    answer_.digest = digest.hex();
  }

  [[nodiscard]] core::Errors question_errors() const {
    if (!question_.slo.window || points_.open.empty() || points_.demand.clients) {
      return {};
    }
    const double window_requests = question_.slo.window->to_seconds() * points_.demand.rate;
    for (const Target& target : question_.slo.targets) {
      if (!target.is_mean() && window_requests * target.allowed_share < 1.0) {
        return {{.field = "slo.window",
                 .message = fmt::format("{} holds {:.3g} requests, expected {:.0f} at least: fewer "
                                        "have no {}",
                                        time_text(*question_.slo.window),
                                        window_requests,
                                        std::ceil(1.0 / target.allowed_share),
                                        target.text()),
                 .hint = "1h"}};
      }
    }
    // An answer at the TPOT that is asked for, where one is.
    double service_s = 0.0;
    for (const Target& target : question_.slo.targets) {
      if (const auto tpot = target.limit_of(metrics::Metric::kTpot)) {
        service_s = tpot->to_seconds() * points_.demand.mean_output;
      }
    }
    if (question_.slo.window->to_seconds() >= kLeastServiceTimes * service_s) {
      return {};
    }
    return {{.field = "slo.window",
             .message = fmt::format("{} is shorter than {:.0f} answers of {:.3g} s",
                                    time_text(*question_.slo.window),
                                    kLeastServiceTimes,
                                    service_s),
             .hint = "1h"}};
  }

  void make_contenders() {
    for (const OpenPoint& open : points_.open) {
      const PlanCandidate& candidate = points_.candidates[open.candidate];
      Contender contender;
      contender.candidate = open.candidate;
      contender.rules = {
          .load = points_.demand.load(),
          .spare = question_.limits.spare_replicas,
          .most = most_replicas(question_.limits, candidate.gpu, candidate.gpus_per_replica),
          .allowed = question_.replicas};
      contender.is_sure = !candidate.is_bound();
      if (!contender.is_sure || open.sure_range) {
        take_range(contender.is_sure ? *open.sure_range : open.range, contender);
      } else {
        contender.alive = false;
        contender.stage = "fluid";
        contender.reason = "even without load it is not sure to meet the targets";
      }
      contenders_.push_back(std::move(contender));
    }
  }
  /// Where the search for a contender's capacity begins.
  void take_range(const LoadRange& range, Contender& contender) const {
    contender.guess = range.start();
    contender.is_guess_usable = range.guess > 0.0 && !points_.candidates[contender.candidate].split;
  }
  [[nodiscard]] const OpenPoint& open_of(const Contender& contender) const {
    return *std::ranges::find(points_.open, contender.candidate, &OpenPoint::candidate);
  }
  /// Requests of a run of sessions at least: some hundred sessions, that overlap.
  static constexpr std::int64_t kLeastOfSessions = 16'000;

  /// What one replica costs, by objective; of its runs where there are some.
  core::Result<void> price(Contender& contender) {
    const PlanCandidate& candidate = points_.candidates[contender.candidate];
    auto found = space_->resolve(space_->point(candidate.ordinal));
    if (!found) {
      return core::fail(std::move(found).error());
    }
    const double tokens = points_.demand.mean_output;
    const double rate = contender.capacity.load > 0.0 ? contender.capacity.load : 1.0;
    const Cost cost =
        cost_of(found->resolved,
                instances_of(candidate.split),
                question_.cost,
                {.output_tokens_per_second = rate * tokens, .power = contender.capacity.power});
    contender.unit_costs.clear();
    for (const Objective objective : question_.objectives) {
      // Per token all replicas together cost what each costs by its share: as per second.
      const Objective unit = objective == Objective::kUsdPerMtok       ? Objective::kUsdPerHour
                             : objective == Objective::kJoulesPerToken ? Objective::kWatts
                                                                       : objective;
      const auto each = cost.of(unit);
      PlanCandidate& priced = answer_.candidates[contender.candidate];
      priced.has_price = priced.has_price && each;
      contender.standing = priced.standing();
      contender.unit_costs.push_back(each.value_or(core::real(candidate.gpus_per_replica)));
      contender.is_guess_usable = contender.is_guess_usable && unit != Objective::kWatts;
    }
    return {};
  }

  /// For the display: the cheapest that runs know of.
  void note_best(const Contender& contender) {
    const auto replicas = contender.rules.fewest(contender.capacity.load);
    if (!replicas) {
      return;
    }
    const double cost = contender.unit_costs.front() * core::real(*replicas);
    if (best_.empty() || cost < best_cost_) {
      best_cost_ = cost;
      best_ = fmt::format("{} x {}", *replicas, answer_.candidates[contender.candidate].label);
    }
  }

  core::Result<std::optional<Capacity>> evaluate(const Contender& contender,
                                                 std::int64_t requests) {
    const SpacePoint point = space_->point(points_.candidates[contender.candidate].ordinal);
    const Targets targets = targets_of(contender);
    const CapacityOptions how = search_of(contender, requests);
    const auto find = [&](std::int64_t replicas) {
      return find_replica_capacity(
          options_.store, *space_, point, replicas, targets, how, interrupt_);
    };
    auto found = find(contender.capacity.replicas);
    if (!found || !*found || how.is_closed_loop || contender.capacity.replicas > 1) {
      return found;
    }
    const std::int64_t together = replicas_together(contender.rules, **found, targets, how.ceiling);
    if (together == 1) {
      return found;
    }
    auto shared = find(together);
    if (shared && *shared) {
      (*shared)->requests += (*found)->requests;
    }
    return shared;
  }

  /// What its runs are held to.
  [[nodiscard]] Targets targets_of(const Contender& contender) const {
    const Targets& stated = question_.slo.targets;
    return contender.is_sure ? tightened(stated, open_of(contender).doubt, question_.confidence)
                             : stated;
  }

  [[nodiscard]] CapacityOptions search_of(const Contender& contender, std::int64_t requests) const {
    const Demand& demand = points_.demand;
    const bool is_known = contender.capacity.load > 0.0;
    // A few sessions keep fewer requests in flight than there will be.
    const std::int64_t wanted =
        demand.session_rate ? std::max(requests, kLeastOfSessions) : requests;
    return {.requests = std::min(wanted, demand.trace_requests.value_or(wanted)),
            .guess = is_known ? contender.capacity.load : contender.guess,
            .slope = contender.capacity.slope,
            .ceiling = open_of(contender).range.highest,
            .seed = seed_,
            .trace_rate = demand.rate,
            .warm_up = std::min(demand.warm_up, wanted / 4),
            .is_closed_loop = demand.clients.has_value()};
  }

  /// The seed of the first point's scenario.
  void take_seed() {
    const auto first =
        space_->resolve(space_->point(points_.candidates[points_.open.front().candidate].ordinal));
    if (first) {
      seed_ = static_cast<std::uint64_t>(first->resolved.run.seed);
    }
  }

  core::Result<void> find_most() {
    take_seed();
    const auto done = maximize({.question = question_,
                                .space = *space_,
                                .points = points_,
                                .seed = seed_,
                                .jobs = options_.jobs,
                                .store = options_.store,
                                .progress = [this](const std::string& stage,
                                                   std::int64_t at,
                                                   std::int64_t all) { report(stage, at, all); }},
                               answer_,
                               interrupt_);
    if (!done) {
      return core::fail(done.error());
    }
    answer_.partial = !*done;
    for (std::size_t i = 0; i < answer_.candidates.size(); ++i) {
      const PlanCandidate& candidate = answer_.candidates[i];
      answer_.search.by_fluid += candidate.stage == Stage::kFluid ? 1 : 0;
      if (candidate.stage >= Stage::kSimulated) {
        ++answer_.search.simulated;
        if (candidate.replicas == 0) {
          contenders_.emplace_back().candidate = i;  // Counted where it is said why nothing does.
        }
      }
    }
    return {};
  }

  core::Result<void> search() {
    make_contenders();
    for (Contender& contender : contenders_) {
      if (auto priced = price(contender); !priced) {
        return priced;
      }
    }
    take_seed();
    RaceOptions race_options{.top_n = question_.top_n, .jobs = options_.jobs};
    for (std::int64_t& requests : race_options.rungs) {
      requests = std::max<std::int64_t>(
          2'000, static_cast<std::int64_t>(core::real(requests) * multiple_of(question_.effort)));
    }
    race_options.rungs.erase(std::ranges::unique(race_options.rungs).begin(),
                             race_options.rungs.end());
    race_options.progress = [this](std::int64_t requests, std::int64_t done, std::int64_t all) {
      report(fmt::format("runs of {} requests", requests), done, all);
    };
    race_options.may_go_on = [this](std::int64_t requests) {
      std::int64_t all = requests;
      for (const Contender& contender : contenders_) {
        all += contender.capacity.requests;
      }
      answer_.search.limited = core::real(all) * points_.demand.request_cost >
                               core::real(most_requests(question_.effort));
      return !answer_.search.limited;
    };
    race_options.reprice = [this](Contender& contender) {
      auto priced = price(contender);
      note_best(contender);
      return priced;
    };
    std::vector<std::size_t> first;
    for (std::size_t i = 0; i < contenders_.size(); ++i) {
      if (contenders_[i].alive) {
        first.push_back(i);
      }
    }
    auto raced = race_some(first, race_options);
    if (raced && *raced) {
      raced = race_some(unsure_ones(), race_options);
    }
    if (!raced) {
      return core::fail(std::move(raced).error());
    }
    answer_.partial = !*raced;
    if (auto taken = take_race(); !taken) {
      return taken;
    }
    return finish_race();
  }

  /// Races these contenders with each other. False when interrupted.
  core::Result<bool> race_some(const std::vector<std::size_t>& which, const RaceOptions& options) {
    std::vector<Contender> racing;
    for (const std::size_t i : which) {
      racing.push_back(std::move(contenders_[i]));
    }
    auto raced = race(
        racing,
        [this](const Contender& contender, std::int64_t requests) {
          return evaluate(contender, requests);
        },
        options,
        interrupt_);
    for (std::size_t k = 0; k < which.size(); ++k) {
      if (auto& beaten_by = racing[k].beaten_by) {
        beaten_by = which[*beaten_by];
      }
      contenders_[which[k]] = std::move(racing[k]);
    }
    return raced;
  }

  /// The contenders of each standing in which none is sure to serve the load, all estimates, made
  /// ready for a race in which they are held to the targets as stated.
  [[nodiscard]] std::vector<std::size_t> unsure_ones() {
    std::vector<std::size_t> found;
    for (const Standing standing : {Standing::kRanked, Standing::kNoPrice}) {
      const auto serves = [&](const Contender& one) {
        return one.standing == standing && one.alive &&
               one.rules.fewest(one.capacity.load).has_value();
      };
      if (std::ranges::any_of(contenders_, serves)) {
        continue;
      }
      for (std::size_t i = 0; i < contenders_.size(); ++i) {
        Contender& one = contenders_[i];
        if (one.standing == standing) {
          const std::int64_t before = one.capacity.requests;
          one.capacity = {};
          one.capacity.requests = before;
          one.runs_of = 0;
          one.is_sure = false;
          one.alive = true;
          one.reason = one.stage = {};
          one.beaten_by.reset();
          take_range(open_of(one).range, one);
          found.push_back(i);
        }
      }
    }
    std::ranges::sort(found);
    return found;
  }

  /// What a candidate costs with the replicas that its runs ask for.
  core::Result<void> fill_cost(const Contender& contender, PlanCandidate& candidate) {
    auto found = space_->resolve(space_->point(candidate.ordinal));
    if (!found) {
      return core::fail(std::move(found).error());
    }
    candidate.cost =
        cost_of(found->resolved,
                candidate.replicas * instances_of(candidate.split),
                question_.cost,
                {.output_tokens_per_second = points_.demand.rate * points_.demand.mean_output,
                 .tokens_per_output_token = points_.demand.tokens_per_output_token(),
                 .power = contender.capacity.power});
    return {};
  }

  core::Result<void> take_race() {
    for (const Contender& contender : contenders_) {
      PlanCandidate& candidate = answer_.candidates[contender.candidate];
      answer_.search.requests_simulated += contender.capacity.requests;
      if (contender.runs_of > 0) {
        candidate.stage = Stage::kSimulated;
        ++answer_.search.simulated;
      } else {
        ++answer_.search.by_fluid;
      }
      candidate.dropped_stage = contender.alive ? "" : contender.stage;
      candidate.dropped_reason = contender.reason;
      if (contender.beaten_by) {
        const PlanCandidate& other =
            answer_.candidates[contenders_[*contender.beaten_by].candidate];
        candidate.dropped_reason = fmt::format(
            "costs more than {} wherever both lie in their paired interval", other.label);
      }
      if (contender.capacity.load > 0.0) {
        candidate.capacity = Interval{.value = contender.capacity.load,
                                      .lo = contender.capacity.load,
                                      .hi = contender.capacity.load};
        candidate.sampling_sd = contender.capacity.sd;
        candidate.unstable = contender.capacity.unstable;
        candidate.replicas = contender.rules.fewest(contender.capacity.load).value_or(0);
        if (contender.capacity.limit == Limit::kTarget) {
          candidate.binding = contender.capacity.target;
        }
      } else if (contender.runs_of > 0) {
        candidate.binding = contender.capacity.target;
      }
      candidate.unit_cost = contender.unit_costs.front();
      if (candidate.replicas > 0) {
        if (auto filled = fill_cost(contender, candidate); !filled) {
          return filled;
        }
      }
    }
    return {};
  }

  /// Those of a standing that are alive, and of what can be ranked the best of GPUs that none of
  /// them has.
  [[nodiscard]] std::vector<Finalist> finalists(Standing standing) const {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < contenders_.size(); ++i) {
      const Contender& contender = contenders_[i];
      if (contender.standing == standing && contender.alive &&
          contender.rules.fewest(kGatewayGain * contender.capacity.load)) {
        order.push_back(i);
      }
    }
    std::vector<std::size_t> rivals = best_of_other_gpus(contenders_, answer_.candidates, order);
    std::erase_if(rivals, [&](std::size_t i) {
      return standing != Standing::kRanked || contenders_[i].standing != standing;
    });
    order.insert(order.end(), rivals.begin(), rivals.end());
    std::ranges::sort(order);  // Canonical: ties go by it.
    std::vector<Finalist> found;
    for (const std::size_t i : order) {
      const Contender& contender = contenders_[i];
      const OpenPoint& open = open_of(contender);
      found.push_back({.candidate = contender.candidate,
                       .rules = contender.rules,
                       .unit_costs = contender.unit_costs,
                       .saturation = open.range.fullest,
                       .capacity = contender.capacity.load,
                       .search = search_of(contender, contender.runs_of),
                       .together = contender.capacity.replicas,
                       .doubt = open.doubt,
                       .is_sure = contender.is_sure,
                       .is_rival = std::ranges::find(rivals, i) != rivals.end()});
    }
    return found;
  }

  /// Each standing by itself, then all of them in one order.
  core::Result<void> finish_race() {
    std::array<Answer, kStandings.size()> found;
    for (const Standing standing : kStandings) {
      Answer& part = found[static_cast<std::size_t>(standing)];
      std::vector<Finalist> left = finalists(standing);
      if (left.empty()) {
        continue;
      }
      part.question = question_;
      part.candidates = std::move(answer_.candidates);
      part.load = answer_.load;
      part.search = answer_.search;
      auto done = finish({.question = question_,
                          .space = *space_,
                          .demand = points_.demand,
                          .load = points_.demand.load(),
                          .seed = seed_,
                          .jobs = options_.jobs,
                          .store = options_.store,
                          .progress = [this](std::int64_t at,
                                             std::int64_t all) { report("certifying", at, all); }},
                         std::move(left),
                         part,
                         interrupt_);
      answer_.candidates = std::move(part.candidates);
      if (!done) {
        return core::fail(std::move(done).error());
      }
      answer_.search = part.search;
      answer_.partial = answer_.partial || !*done;
    }
    rank_standings(found, answer_);
    for (const PlanCandidate& candidate : answer_.candidates) {
      answer_.search.certified += candidate.stage == Stage::kCertified ? 1 : 0;
    }
    return {};
  }

  /// Ranks an interrupted search: the cheapest by the runs that there were, none of them certified.
  void rank_by_race() {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < answer_.candidates.size(); ++i) {
      const PlanCandidate& candidate = answer_.candidates[i];
      if (candidate.stage == Stage::kSimulated && candidate.replicas > 0 &&
          candidate.dropped_stage.empty()) {
        order.push_back(i);
      }
    }
    std::ranges::stable_sort(order, {}, [&](std::size_t i) {
      const PlanCandidate& candidate = answer_.candidates[i];
      return std::pair(candidate.standing(), candidate.unit_cost * core::real(candidate.replicas));
    });
    for (const std::size_t i : order) {
      if (answer_.ranking.size() < static_cast<std::size_t>(question_.top_n)) {
        answer_.ranking.push_back(i);
      }
    }
  }

  void conclude() {
    find_pareto(answer_);
    if (answer_.partial && !question_.most_of) {
      rank_by_race();
    }
    gather_warnings();
    if (answer_.search.limited) {
      const auto effort = static_cast<std::size_t>(question_.effort);
      answer_.warnings.push_back(
          {.code = "W-effort",
           .message = fmt::format("the search ended after {} requests, near the most that the "
                                  "effort \"{}\" allows: this is the best so far",
                                  answer_.search.requests_simulated,
                                  kEffortNames[effort]),
           .hint = question_.effort == Effort::kFull ? "fewer points" : "--effort full"});
    }
    if (!answer_.pick) {
      explain_failure(points_, contenders_, answer_);
    }
  }

  /// Those of the answer first; without one, what all deployments have in common. What others are
  /// warned of is none of its reader's business.
  void gather_warnings() {
    const std::optional<std::size_t> shown = answer_.pick || answer_.ranking.empty()
                                                 ? answer_.pick
                                                 : std::optional(answer_.ranking.front());
    core::Warnings all = shown ? answer_.candidates[*shown].warnings : std::move(points_.warnings);
    const auto add = [&](const core::Warnings& more) {
      all.insert(all.end(), more.begin(), more.end());
    };
    add(answer_.warnings);
    add(question_.warnings);
    if (question_.cost.prices && shown) {
      add(price_warnings(
          *question_.cost.prices, {answer_.candidates[*shown].gpu}, question_.cost.as_of));
    }
    answer_.warnings = std::move(all);
  }

  const Question& question_;
  const PlanOptions& options_;
  const std::atomic<bool>& interrupt_;
  std::optional<Space> space_;
  Points points_;
  Answer answer_;
  std::vector<Contender> contenders_;
  std::uint64_t seed_ = 0;
  std::string best_;
  double best_cost_ = 0.0;
};

}  // namespace

core::Result<Answer> plan(const Question& question,
                          const PlanOptions& options,
                          const std::atomic<bool>& interrupt) {
  return Planner(question, options, interrupt).run();
}

}  // namespace ridgeline::plan
