#include "plan/finish.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/distributions.hpp"
#include "core/math.hpp"
#include "core/parallel.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "latency/accuracy/bands.hpp"
#include "plan/answer.hpp"
#include "plan/certify.hpp"
#include "plan/cost.hpp"
#include "plan/demand.hpp"
#include "plan/doubt.hpp"
#include "plan/evaluation_store.hpp"
#include "plan/factors.hpp"
#include "plan/finalist_doubt.hpp"
#include "plan/front.hpp"
#include "plan/linear_doubt.hpp"
#include "plan/question.hpp"
#include "plan/race.hpp"
#include "plan/space.hpp"
#include "plan/sure_load.hpp"
#include "scenario/resolve.hpp"
#include "scenario/sections/router.hpp"

namespace ridgeline::plan {
namespace {

/// Replicas that are added at most where a target is missed, as a share and in number: in windows,
/// and by runs, of which the number that the race asked for tells little.
constexpr double kMostAdded = 1.0;
constexpr double kMostAddedByRun = 15.0;
constexpr std::int64_t kLeastAdded = 3;
/// Requests of a window where each costs more to simulate: 25 lie above its 99th percentile.
constexpr std::int64_t kDearWindow = 2'500;
/// Finalists that are tested beyond what the effort allows, where none has held yet.
constexpr std::int64_t kMostBeyond = 3;
/// Deviations between a load and a capacity that is as likely as not to reach it.
constexpr double kAsLikelyAsNot = 0.0;
/// Numbers of replicas that are run to find one that is.
constexpr int kTriesOfCheaper = 4;
/// A number of replicas that is surer by less is not worth its cost.
constexpr double kSurer = 0.02;

class Finish {
 public:
  Finish(const FinishInputs& inputs,
         std::vector<Finalist> finalists,
         Answer& answer,
         const std::atomic<bool>& interrupt)
      : inputs_(inputs),
        question_(inputs.question),
        finalists_(std::move(finalists)),
        answer_(answer),
        interrupt_(interrupt) {}

  core::Result<bool> run() {
    for (Finalist& finalist : finalists_) {
      finalist.replicas =
          finalist.rules.fewest(finalist.capacity).value_or(finalist.rules.highest());
    }
    keep_cheapest();
    auto done = certify_all();
    if (!done) {
      return done;
    }
    // Nothing is asked of the doubt of others.
    std::erase_if(finalists_, [](const Finalist& finalist) {
      return !finalist.certification && !finalist.is_rival;
    });
    const auto causes = find_causes(inputs_, finalists_, answer_, interrupt_);
    if (!causes) {
      return core::fail(causes.error());
    }
    doubt_ = join_causes(inputs_, finalists_, *causes, answer_);
    assess_now();
    if (auto filled = fill(); !filled) {
      return core::fail(std::move(filled).error());
    }
    answer_.search.requests_simulated += requests_;
    return *done;
  }

 private:
  PlanCandidate& of(const Finalist& finalist) { return answer_.candidates[finalist.candidate]; }

  /// Keeps the cheapest finalists to certify, and the best of every other GPU, for prices.
  void keep_cheapest() {
    const auto most = static_cast<std::size_t>(question_.top_n * kFinalistsPerShown);
    std::vector<std::size_t> kept;
    std::vector<std::string> gpus;
    std::size_t racing = 0;
    for (const std::size_t i : by_cost()) {
      Finalist& finalist = finalists_[i];
      const std::string& gpu = of(finalist).gpu;
      if (!finalist.is_rival && racing >= most) {
        if (std::ranges::find(gpus, gpu) != gpus.end()) {
          continue;
        }
        finalist.is_rival = true;
      }
      racing += finalist.is_rival ? 0U : 1U;
      kept.push_back(i);
      gpus.push_back(gpu);
    }
    std::ranges::sort(kept);  // Canonical: ties go by it.
    std::vector<Finalist> finalists;
    for (const std::size_t i : kept) {
      finalists.push_back(std::move(finalists_[i]));
    }
    finalists_ = std::move(finalists);
  }

  [[nodiscard]] double cost(const Finalist& finalist) const {
    return finalist.unit_costs.front() * core::real(finalist.replicas);
  }

  /// How sure it is that its replicas suffice: of a run as its latencies are; before it, as the
  /// race asked for. Of a bound as far as runs are long enough to tell.
  [[nodiscard]] double sureness(std::size_t i) const {
    const Finalist& finalist = finalists_[i];
    if (!answer_.candidates[finalist.candidate].is_bound()) {
      return finalist.certification ? probability_of(finalist, *finalist.certification)
             : finalist.is_sure     ? question_.confidence
                                    : 0.0;
    }
    return i < doubt_.input.rows.size()
               ? normal_probability(capacity_of(i).margin(core::log(inputs_.load),
                                                          finalist.replicas - finalist.rules.spare))
               : accuracy::kMostSure;
  }
  [[nodiscard]] LogCapacity capacity_of(std::size_t i) const {
    return log_capacity(doubt_.input.rows[i], doubt_.input.factors);
  }

  /// Those that are sure enough first, of these the cheapest; at the same cost the surest, then the
  /// one with more to spare, then the canonical order.
  [[nodiscard]] std::vector<std::size_t> by_cost() {
    struct Place {
      std::size_t index;
      bool is_unsure;
      double cost;
      double doubt;
      double load;
    };
    std::vector<Place> places;
    for (std::size_t i = 0; i < finalists_.size(); ++i) {
      const double sure = sureness(i);
      places.push_back({.index = i,
                        .is_unsure = sure < question_.confidence,
                        .cost = cost(finalists_[i]),
                        .doubt = -std::min(sure, accuracy::kMostSure),
                        .load = -spare_share(finalists_[i])});
    }
    std::ranges::stable_sort(places, {}, [](const Place& place) {
      return std::tuple(place.is_unsure, place.cost, place.doubt, place.load);
    });
    std::vector<std::size_t> order;
    order.reserve(places.size());
    for (const Place& place : places) {
      order.push_back(place.index);
    }
    return order;
  }

  /// What its replicas carry, by the race, over the load.
  [[nodiscard]] double spare_share(const Finalist& finalist) const {
    return finalist.capacity * core::real(finalist.replicas - finalist.rules.spare) / inputs_.load;
  }

  /// What its replicas are predicted to carry, over the load.
  [[nodiscard]] double headroom(const Finalist& finalist) {
    return of(finalist).capacity->value * core::real(finalist.replicas - finalist.rules.spare) /
           inputs_.load;
  }

  [[nodiscard]] std::int64_t window_requests() const {
    const Demand& demand = inputs_.demand;
    std::int64_t requests =
        usual_window(demand.clients ? 0.0 : demand.rate, question_.slo.window, question_.effort);
    if (demand.request_cost > 1.0 && !question_.slo.window) {
      requests = std::min(requests, kDearWindow);
    }
    return demand.trace_requests
               ? std::max<std::int64_t>(1, std::min(requests, *demand.trace_requests / kWindows))
               : requests;
  }

  /// With so many replicas, what `run` is asked to run: where the question says neither how many
  /// requests nor how long, a window of them.
  core::Result<ResolvedSpacePoint> whole(const Finalist& finalist, std::int64_t replicas) {
    auto found = inputs_.space.resolve(inputs_.space.point(of(finalist).ordinal), replicas);
    if (found && !question_.states_requests && !inputs_.demand.trace_requests) {
      found->resolved.workload.section.num_prompts = window_requests();
      scenario::mark_stated(found->resolved, "workload.num_prompts");
    }
    return found;
  }

  /// find_stored_certification() of a finalist with so many replicas and windows.
  core::Result<std::optional<Certification>> test(const Finalist& finalist,
                                                  std::int64_t replicas,
                                                  std::int64_t windows) {
    const SpacePoint point = inputs_.space.point(of(finalist).ordinal);
    const auto stated = whole(finalist, replicas);
    const auto serving = inputs_.space.resolve(point, replicas - finalist.rules.spare);
    if (!stated || !serving) {
      return core::fail(stated ? serving.error() : stated.error());
    }
    auto found = find_stored_certification(
        inputs_.store,
        *stated,
        *serving,
        question_.slo.targets,
        finalist.doubt,
        {.load = inputs_.load,
         .windows = windows,
         .window_requests = window_requests(),
         .confidence = question_.confidence,
         .seed = inputs_.seed + kFreshSeed,
         .trace_rate = inputs_.demand.rate,
         .instances = serving->resolved.run.cluster.instances.value_or(1)},
        interrupt_);
    if (found && *found) {
      requests_ += (*found)->requests;
    }
    return found;
  }

  /// Finds how many replicas of a finalist hold by their run, which is short, and tests so many in
  /// windows.
  core::Result<bool> certify_one(Finalist& finalist, std::int64_t windows) {
    for (const std::int64_t of_test : {std::int64_t{0}, windows}) {
      auto found = find_replicas(finalist, of_test);
      if (!found || !*found || finalist.gave_up) {
        return found;
      }
    }
    return true;
  }

  /// Tests a finalist with its replicas, with more until a number of them holds, and then with
  /// those between that and the last that did not. To hold is to meet the targets and, by its run
  /// (0 windows), to be sure of it: a gateway deals requests more evenly than the race did, and
  /// keeps prompts apart, so that its number is where the search begins. Where none is sure, the
  /// surest number is kept.
  core::Result<bool> find_replicas(Finalist& finalist, std::int64_t windows) {
    const bool by_run = windows == 0;
    const bool must_be_sure = by_run && finalist.doubt.is_known();
    const auto more = static_cast<std::int64_t>(core::real(finalist.replicas) *
                                                (by_run ? kMostAddedByRun : kMostAdded));
    const std::int64_t most = finalist.replicas + std::max(kLeastAdded, more);
    const auto half_way = [&](std::int64_t failed) {
      const auto next = finalist.rules.at_least((failed + finalist.replicas) / 2);
      return next > failed && next < finalist.replicas ? next : std::nullopt;
    };
    std::int64_t step = 1;
    std::int64_t last = finalist.replicas;
    std::int64_t missed = 0;  // So many replicas miss a target,
    // so many are not sure either, or too few.
    std::int64_t failed = by_run ? least_replicas(finalist) - 1 : 0;
    std::optional<std::int64_t> next = finalist.replicas;
    std::optional<Certification> surest;
    double best = -1.0;
    bool holds = false;
    while (next) {
      last = *next;
      auto tested = test(finalist, last, windows);
      if (!tested) {
        return core::fail(std::move(tested).error());
      }
      if (!*tested) {
        return false;
      }
      const bool meets = (*tested)->certificate.holds;
      const double sure = probability_of(finalist, **tested);
      const bool held = meets && (!must_be_sure || sure >= question_.confidence);
      missed = meets ? missed : std::max(missed, last);
      failed = held ? failed : last;
      if (held || (!holds && meets && sure > best + kSurer)) {
        best = sure;
        finalist.replicas = last;
        surest = std::move(**tested);
      } else if (!surest) {
        finalist.certification = std::move(**tested);  // For what it misses.
      }
      holds = holds || held;
      if (!holds) {
        const std::int64_t more_of_them = std::min({last + step, most, finalist.rules.highest()});
        next = more_of_them > last ? finalist.rules.at_least(more_of_them) : std::nullopt;
        step *= 2;
      } else {
        next = failed > 0 || by_run ? half_way(failed) : std::nullopt;
      }
    }
    finalist.failed = std::max(finalist.failed, missed);
    finalist.gave_up = !surest.has_value();
    if (surest) {
      finalist.certification = std::move(surest);
    } else {
      finalist.replicas = last;
    }
    return true;
  }

  /// That its run meets the targets, by the doubt of its latencies.
  [[nodiscard]] double probability_of(const Finalist& finalist, const Certification& run) const {
    return probability_met(question_.slo.targets, run.targets, finalist.doubt);
  }

  /// No fewer have the seats, or stay below the utilisation that is allowed.
  [[nodiscard]] static std::int64_t least_replicas(const Finalist& finalist) {
    return finalist.rules.fewest(finalist.search.ceiling).value_or(finalist.rules.spare + 1);
  }

  core::Result<bool> certify_each(const std::vector<std::size_t>& which, std::int64_t windows) {
    std::vector<core::Result<bool>> done(which.size(), false);
    std::mutex mutex;
    std::int64_t count = 0;
    core::for_each_job(which.size(), inputs_.jobs, [&](std::size_t i) {
      if (!interrupt_) {
        done[i] = certify_one(finalists_[which[i]], windows);
      }
      const std::lock_guard lock(mutex);
      if (inputs_.progress) {
        inputs_.progress(++count, static_cast<std::int64_t>(which.size()));
      }
    });
    for (auto& one : done) {
      if (!one || !*one) {
        return one;
      }
    }
    return true;
  }

  /// The top few, then the pick with more windows; where that costs it a replica, the next.
  core::Result<bool> certify_all() {
    const std::int64_t many = certifying_windows(question_.confidence);
    std::int64_t beyond = 0;
    while (true) {
      std::vector<std::size_t> open;
      std::size_t certified = 0;
      for (const std::size_t i : by_cost()) {
        const Finalist& finalist = finalists_[i];
        if (finalist.gave_up) {
          continue;
        }
        if (finalist.certification) {
          ++certified;
        } else if (!finalist.is_rival &&
                   open.size() + certified < static_cast<std::size_t>(question_.top_n)) {
          open.push_back(i);
        }
      }
      if (open.empty()) {
        break;
      }
      if (!affords(1, kWindows) && (certified > 0 || ++beyond > kMostBeyond)) {
        break;
      }
      while (open.size() > 1 && !affords(open.size(), kWindows)) {
        open.pop_back();
      }
      if (auto done = certify_each(open, kWindows); !done || !*done) {
        return done;
      }
    }
    while (true) {
      const auto pick = find_pick();
      if (!pick || finalists_[*pick].certification->certificate.windows >= many ||
          inputs_.demand.trace_requests || !affords(1, many)) {
        return true;  // Or it has no more windows, or there is no time for them.
      }
      if (auto done = certify_each({*pick}, many); !done || !*done) {
        return done;
      }
    }
  }

  /// Whether the effort allows tests of so many finalists, of their run and so many windows each.
  bool affords(std::size_t finalists, std::int64_t windows) {
    const std::int64_t window = window_requests();
    const std::int64_t each = inputs_.demand.trace_requests.value_or(window) + windows * window;
    const std::int64_t all =
        answer_.search.requests_simulated + requests_ + static_cast<std::int64_t>(finalists) * each;
    const bool affords = core::real(all) * inputs_.demand.request_cost <=
                         core::real(most_requests(question_.effort));
    answer_.search.limited = answer_.search.limited || !affords;
    return affords;
  }

  void assess_now() {
    for (std::size_t i = 0; i < finalists_.size(); ++i) {
      Row& row = doubt_.input.rows[i];
      const std::int64_t spare = finalists_[i].rules.spare;
      row.replicas = std::max<std::int64_t>(1, finalists_[i].replicas - spare);
      // What windows have shown is known.
      row.min_replicas = std::min(row.max_replicas,
                                  std::max({row.min_replicas,
                                            finalists_[i].failed - spare + 1,
                                            least_replicas(finalists_[i]) - spare}));
      if (finalists_[i].certification && !of(finalists_[i]).is_bound()) {
        // As sure as its run is; the most that is said of that is no bound of the capacity.
        const double p = std::clamp(sureness(i), 1.0 - accuracy::kMostSure, accuracy::kMostSure);
        const double at_run = inputs_.load / core::real(row.replicas) *
                              core::exp(core::normal_quantile(p) * capacity_of(i).sd);
        double& capacity = of(finalists_[i]).capacity->value;
        row.capacity_rps = p < accuracy::kMostSure ? at_run : std::max(at_run, capacity);
        if (finalists_[i].certification->certificate.holds) {
          // Replicas that keep prompts apart each carry more than one alone.
          capacity = std::max(capacity, inputs_.load / core::real(row.replicas));
        }
      }
    }
    assessed_ = assess(doubt_.input);
  }

  /// The cheapest that is certified and sure enough.
  [[nodiscard]] std::optional<std::size_t> find_pick() {
    for (const std::size_t i : by_cost()) {
      const Finalist& finalist = finalists_[i];
      if (finalist.certification && !finalist.gave_up && sureness(i) >= question_.confidence) {
        return i;
      }
    }
    return std::nullopt;
  }

  core::Result<void> fill() {
    const auto pick = find_pick();
    for (std::size_t i = 0; i < finalists_.size(); ++i) {
      if (auto filled = fill_one(i); !filled) {
        return filled;
      }
    }
    if (pick) {
      // It is shown first, whatever else is cheaper but less sure.
      answer_.pick = finalists_[*pick].candidate;
      rank(*answer_.pick, question_.top_n, answer_);
    }
    for (const std::size_t i : by_cost()) {
      const Finalist& finalist = finalists_[i];
      if (i != pick && finalist.certification && !finalist.gave_up) {
        rank(finalist.candidate, question_.top_n, answer_);
      }
      answer_.finalists.push_back(finalist.candidate);
      answer_.elasticities.push_back(doubt_.input.rows[i].elasticity);
    }
    if (!pick) {
      return {};
    }
    answer_.headroom_pct = 100.0 * (headroom(finalists_[*pick]) - 1.0);
    const Certificate& certificate = finalists_[*pick].certification->certificate;
    if (inputs_.demand.trace_requests &&
        certificate.windows < certifying_windows(question_.confidence)) {
      answer_.warnings.push_back(short_trace_warning(certificate, question_.confidence));
    }
    if (of(finalists_[*pick]).is_bound()) {
      return {};
    }
    const double best = assessed_.expected_best_cost;
    answer_.expected_regret_pct =
        best > 0.0 ? 100.0 * assessed_.expected_regret[*pick] / best : 0.0;
    answer_.amplification = doubt_.table.candidates[*pick].amplification;
    if (auto found = find_cheaper(*pick); !found) {
      return found;
    }
    answer_.measurements = value_of_measurements(doubt_.input, *pick);
    fill_breakevens(*pick);
    return {};
  }

  core::Result<void> fill_one(std::size_t i) {
    const Finalist& finalist = finalists_[i];
    PlanCandidate& candidate = of(finalist);
    candidate.replicas = finalist.gave_up ? 0 : finalist.replicas;
    if (!candidate.is_bound()) {
      candidate.p_feasible = finalist.certification
                                 ? sureness(i)
                                 : std::min(assessed_.p_feasible[i], accuracy::kMostSure);
      // To be the best it has to suffice.
      candidate.p_best = std::min(assessed_.p_best[i], candidate.p_feasible);
      candidate.expected_regret = assessed_.expected_regret[i];
    }
    const LogCapacity capacity = capacity_of(i);
    const double sampling = candidate.sampling_sd;
    candidate.model_sd = std::sqrt(std::max(0.0, capacity.sd * capacity.sd - sampling * sampling));
    const double width = core::exp(kEightyPercent * capacity.sd);
    // No more than it serves at all.
    const double most = finalist.saturation > 0.0 ? finalist.saturation : HUGE_VAL;
    candidate.capacity->value = std::min(candidate.capacity->value, most);
    candidate.capacity->lo = candidate.capacity->value / width;
    candidate.capacity->hi = std::min(candidate.capacity->value * width, most);
    const std::int64_t serving =
        std::max<std::int64_t>(1, finalist.replicas - finalist.rules.spare);
    candidate.utilisation =
        finalist.saturation > 0.0 ? inputs_.load / core::real(serving) / finalist.saturation : 0.0;
    Load load{.output_tokens_per_second = inputs_.demand.rate * inputs_.demand.mean_output,
              .tokens_per_output_token = inputs_.demand.tokens_per_output_token(),
              .power = std::nullopt};
    if (finalist.certification) {
      const Certification& found = *finalist.certification;
      candidate.stage = Stage::kCertified;
      candidate.certificate = found.certificate;
      candidate.targets = found.targets;
      candidate.bottlenecks = found.bottlenecks;
      candidate.unstable = found.unstable;
      load.power = found.power;
      load.output_tokens_per_second = found.output_tokens_per_second;
    }
    if (finalist.gave_up) {
      candidate.dropped_stage = "certified";
      const bool by_run = finalist.certification->certificate.windows == 0;
      candidate.dropped_reason = fmt::format("{} a target with {} {}",
                                             by_run ? "its run misses" : "too many windows miss",
                                             finalist.replicas,
                                             core::plural("replica", finalist.replicas));
    }
    auto stated = whole(finalist, finalist.replicas);
    if (!stated) {
      return core::fail(std::move(stated).error());
    }
    candidate.cost = cost_of(
        stated->resolved, finalist.replicas * instances_of(candidate.split), question_.cost, load);
    if (finalist.replicas > 1 || candidate.split) {
      candidate.router = scenario::router_name(stated->resolved.run.cluster.router);
    }
    candidate.resolved = std::make_shared<scenario::Resolved>(std::move(stated->resolved));
    return {};
  }

  /// The cheapest that is as likely as not to suffice and not sure enough, if it costs less than
  /// the pick: by the spread of its capacity, and then as its run says. None when interrupted.
  core::Result<void> find_cheaper(std::size_t pick) {
    const double log_rate = core::log(inputs_.load);
    std::optional<std::size_t> found;
    std::int64_t replicas = 0;
    double least = cost(finalists_[pick]) * (1.0 - kCostRounding);
    for (std::size_t i = 0; i < finalists_.size(); ++i) {
      const Finalist& finalist = finalists_[i];
      const auto serving =
          fewest_replicas(doubt_.input.rows[i], capacity_of(i), log_rate, kAsLikelyAsNot);
      const auto fewest =
          serving ? finalist.rules.at_least(*serving + finalist.rules.spare) : std::nullopt;
      if (!fewest || finalist.gave_up || of(finalist).is_bound()) {
        continue;
      }
      const double costs = core::real(*fewest) * finalist.unit_costs.front();
      if (costs < least) {
        least = costs;
        found = i;
        replicas = *fewest;
      }
    }
    for (int tries = 0; found && tries < kTriesOfCheaper; ++tries) {
      const Finalist& finalist = finalists_[*found];
      if (core::real(replicas) * finalist.unit_costs.front() >=
          cost(finalists_[pick]) * (1.0 - kCostRounding)) {
        break;
      }
      auto tested = test(finalist, replicas, 0);
      if (!tested || !*tested) {
        return tested ? core::Result<void>() : core::fail(std::move(tested).error());
      }
      const double sure = (*tested)->certificate.holds ? probability_of(finalist, **tested) : 0.0;
      if (sure >= question_.confidence) {
        break;
      }
      if (sure >= core::normal_cdf(kAsLikelyAsNot)) {
        answer_.cheaper = {
            .candidate = finalist.candidate, .replicas = replicas, .p_feasible = sure};
        break;
      }
      const auto more = finalist.rules.at_least(replicas + 1);
      if (!more) {
        break;
      }
      replicas = *more;
    }
    return {};
  }

  [[nodiscard]] Offer offer_of(std::size_t i) {
    const PlanCandidate& candidate = of(finalists_[i]);
    Offer offer{.row = finalists_[i].candidate,
                .gpu = candidate.gpu,
                .gpus = candidate.gpus_per_replica * finalists_[i].replicas};
    const auto& prices = question_.cost.prices;
    const Price* price = prices ? prices->of(candidate.gpu) : nullptr;
    if (price != nullptr && candidate.cost.usd_per_hour) {
      offer.electricity =
          *candidate.cost.usd_per_hour - price->usd_per_hour * core::real(offer.gpus);
    }
    return offer;
  }

  void fill_breakevens(std::size_t pick) {
    const Objective objective = question_.objectives.front();
    if (objective != Objective::kUsdPerHour && objective != Objective::kUsdPerMtok) {
      return;
    }
    std::vector<Offer> offers;
    for (std::size_t i = 0; i < finalists_.size(); ++i) {
      if (i != pick && !finalists_[i].gave_up && sureness(i) >= question_.confidence) {
        offers.push_back(offer_of(i));
      }
    }
    answer_.breakevens = break_evens(offer_of(pick), offers, question_.cost.prices);
  }

  const FinishInputs& inputs_;
  const Question& question_;
  std::vector<Finalist> finalists_;
  Answer& answer_;
  const std::atomic<bool>& interrupt_;
  FinalistDoubt doubt_;
  Doubt assessed_;
  std::atomic<std::int64_t> requests_ = 0;
};

}  // namespace

core::Result<bool> finish(const FinishInputs& inputs,
                          std::vector<Finalist> finalists,
                          Answer& answer,
                          const std::atomic<bool>& interrupt) {
  return Finish(inputs, std::move(finalists), answer, interrupt).run();
}

}  // namespace ridgeline::plan
