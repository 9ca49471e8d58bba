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

#include "accuracy/bands.hpp"
#include "core/check.hpp"
#include "core/math.hpp"
#include "core/parallel.hpp"
#include "core/result.hpp"
#include "core/text.hpp"
#include "plan/answer.hpp"
#include "plan/certify.hpp"
#include "plan/cost.hpp"
#include "plan/demand.hpp"
#include "plan/doubt.hpp"
#include "plan/evaluation_store.hpp"
#include "plan/factors.hpp"
#include "plan/linear_doubt.hpp"
#include "plan/question.hpp"
#include "plan/race.hpp"
#include "plan/space.hpp"
#include "plan/sure_load.hpp"
#include "scenario/resolve.hpp"
#include "scenario/sections/router.hpp"

namespace ridgeline::plan {
namespace {

/// Beyond so many deviations (99.87 %) one is not surer than another.
constexpr double kSurest = 3.0;
/// Replicas that are added at most where a target is missed, as a share and in number.
constexpr double kMostAdded = 1.0;
constexpr std::int64_t kLeastAdded = 3;
/// Requests of a window where each costs more to simulate: 25 lie above its 99th percentile.
constexpr std::int64_t kDearWindow = 2'500;
/// Finalists that are tested beyond what the effort allows, where none has held yet.
constexpr std::int64_t kMostBeyond = 3;
/// Numbers this near to each other are the same to three digits; capacities this near, by what
/// their runs can tell.
constexpr double kSameNumber = 0.005;
constexpr double kSameCapacity = 0.01;
/// The most that is said of a deployment that was not measured: the doubt itself is an estimate.
constexpr double kMostSure = 0.99;
/// A chance below this is not worth naming.
constexpr double kWorthNaming = 0.05;
/// The most clients that meet the targets, as a real number, lie between that number and the next.
constexpr double kHalfAClient = 0.5;
/// Of a run that looks for the clients that are sure.
constexpr std::int64_t kLeastRequests = 2'000;

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
    if (auto done = find_causes(); !done) {
      return core::fail(std::move(done).error());
    }
    find_doubt();
    choose_replicas();
    keep_cheapest();
    auto done = certify_all();
    if (!done) {
      return done;
    }
    assess_now();  // An interrupt may have come before.
    if (auto filled = fill(); !filled) {
      return core::fail(std::move(filled).error());
    }
    return *done;
  }

 private:
  PlanCandidate& of(const Finalist& finalist) { return answer_.candidates[finalist.candidate]; }

  /// Of one replica of each. Deployments are not kept: each has tables of half a megabyte, and a
  /// race may leave hundreds.
  core::Result<void> find_causes() {
    for (const Finalist& finalist : finalists_) {
      if (of(finalist).is_bound()) {
        causes_.emplace_back();  // Of bounds no doubt is known.
        continue;
      }
      const auto found = inputs_.space.resolve(inputs_.space.point(of(finalist).ordinal));
      if (!found) {
        return core::fail(found.error());
      }
      const FluidCandidate candidate{.deployment = *found->resolved.deployment,
                                     .demand = inputs_.demand,
                                     .targets = question_.slo.targets,
                                     .label = of(finalist).label};
      causes_.push_back(causes_of(candidate, accuracy::bands()));
      if (inputs_.demand.clients) {
        auto doubt = doubt_of_clients(*found, latency_doubt(candidate), of(finalist));
        if (!doubt) {
          return core::fail(std::move(doubt).error());
        }
        causes_.back().known_sd = *doubt;
      }
    }
    return {};
  }

  /// Of the log of the clients that meet the targets. Seats end their number at once, which no
  /// elasticity tells: it is looked for with targets that leave room for the error of latencies.
  core::Result<std::optional<double>> doubt_of_clients(const ResolvedSpacePoint& point,
                                                       const LatencyDoubt& doubt,
                                                       const PlanCandidate& candidate) {
    Capacity estimate;
    estimate.load = candidate.capacity->value;
    const FindCapacity find = [&](const Targets& targets, double most) {
      return find_stored_capacity(inputs_.store,
                                  point.id,
                                  point.resolved,
                                  targets,
                                  {.requests = kLeastRequests,
                                   .guess = most,
                                   .ceiling = most,
                                   .seed = inputs_.seed,
                                   .is_closed_loop = true},
                                  interrupt_);
    };
    const auto load = find_sure_load(
        find, std::move(estimate), question_.slo.targets, doubt, question_.confidence);
    if (!load || !*load) {
      return load ? core::Result<std::optional<double>>(std::nullopt) : core::fail(load.error());
    }
    requests_ += (*load)->sure.requests;
    return sd_of(**load, question_.confidence);
  }

  void find_doubt() {
    table_ = factors_of(causes_);
    answer_.factors = table_.factors;
    doubt_ = {.rate = inputs_.load,
              .factors = table_.factors,
              .rows = {},
              .confidence = question_.confidence,
              .seed = inputs_.seed,
              .measurements = table_.measurements};
    for (std::size_t i = 0; i < finalists_.size(); ++i) {
      const Finalist& finalist = finalists_[i];
      const PlanCandidate& candidate = of(finalist);
      const std::int64_t least = finalist.rules.at_least(1 + finalist.rules.spare).value_or(1);
      doubt_.rows.push_back(
          {.capacity_rps =
               candidate.capacity->value + (inputs_.demand.clients ? kHalfAClient : 0.0),
           .sampling_sd = candidate.sampling_sd,
           .replicas = 1,
           .max_replicas = std::max<std::int64_t>(1, finalist.rules.most - finalist.rules.spare),
           .cost_per_replica = finalist.unit_costs.front(),
           .elasticity = table_.candidates[i].loading,
           .min_replicas = std::max<std::int64_t>(
               1, finalist.rules.allowed.empty() ? 1 : least - finalist.rules.spare)});
      if (causes_[i].known_sd) {
        give_spread(*causes_[i].known_sd, doubt_.rows.back());
      }
    }
  }

  /// Makes the causes of a row's doubt that large together, as they share it.
  void give_spread(double sd, Row& row) const {
    Row of_causes = row;
    of_causes.sampling_sd = 0.0;
    const double now = log_capacity(of_causes, doubt_.factors).sd;
    if (now > 0.0) {
      for (double& elasticity : row.elasticity) {
        elasticity *= sd / now;
      }
    } else {
      row.sampling_sd = std::sqrt(row.sampling_sd * row.sampling_sd + sd * sd);
    }
  }

  void choose_replicas() {
    for (std::size_t i = 0; i < finalists_.size(); ++i) {
      Finalist& finalist = finalists_[i];
      const std::int64_t by_value =
          finalist.rules.fewest(of(finalist).capacity->value).value_or(finalist.rules.most);
      finalist.replicas = by_value;
      if (const auto sure = replicas_for(doubt_.rows[i], doubt_)) {
        if (const auto allowed = finalist.rules.at_least(*sure + finalist.rules.spare)) {
          finalist.replicas = *allowed;
        }
      }
    }
  }

  /// Of many finalists those that are certified, and the best of every other GPU, for prices.
  void keep_cheapest() {
    // The race knew less of the doubt: what now comes before all that it left may be picked.
    for (const std::size_t i : by_cost()) {
      if (!finalists_[i].is_rival) {
        break;
      }
      finalists_[i].is_rival = false;
    }
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
    if (kept.size() == finalists_.size()) {
      return;
    }
    std::ranges::sort(kept);  // Canonical: ties go by it.
    std::vector<Finalist> finalists;
    std::vector<CandidateCauses> causes;
    for (const std::size_t i : kept) {
      finalists.push_back(std::move(finalists_[i]));
      causes.push_back(std::move(causes_[i]));
    }
    finalists_ = std::move(finalists);
    causes_ = std::move(causes);
    find_doubt();
  }

  [[nodiscard]] double cost(const Finalist& finalist) const {
    return finalist.unit_costs.front() * core::real(finalist.replicas);
  }

  /// How many deviations its replicas are away from too few.
  [[nodiscard]] double margin(std::size_t i) const {
    const Finalist& finalist = finalists_[i];
    return log_capacity(doubt_.rows[i], doubt_.factors)
        .margin(core::log(inputs_.load), finalist.replicas - finalist.rules.spare);
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
      const double deviations = margin(i);
      places.push_back({.index = i,
                        .is_unsure = normal_probability(deviations) < question_.confidence,
                        .cost = cost(finalists_[i]),
                        .doubt = -std::min(deviations, kSurest),
                        .load = -headroom(finalists_[i])});
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

  /// What a run finds, or what the store has of it.
  template <class Run>
  core::Result<std::optional<Certification>> stored(const std::string& id,
                                                    const CertifyOptions& how,
                                                    const Run& run) {
    EvaluationStore* const store = inputs_.store;
    const std::string key =
        store != nullptr ? store->certification_key(id, question_.slo.targets, how) : "";
    if (store != nullptr) {
      if (auto known = store->certification(key)) {
        return known;
      }
    }
    core::Result<std::optional<Certification>> found = run();
    if (store != nullptr && found && *found) {
      if (auto kept = store->keep(key, **found); !kept) {
        return core::fail(std::move(kept).error());
      }
    }
    return found;
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

  /// The run that `run` would make of a finalist with so many replicas, and if that meets every
  /// target, so many windows of other requests. The numbers are those of the run.
  core::Result<std::optional<Certification>> test(const Finalist& finalist,
                                                  std::int64_t replicas,
                                                  std::int64_t windows) {
    const Targets& targets = question_.slo.targets;
    auto stated = whole(finalist, replicas);
    if (!stated) {
      return core::fail(std::move(stated).error());
    }
    const CertifyOptions of_run{
        .load = 0.0,
        .windows = 0,
        .window_requests = stated->resolved.workload.section.num_prompts.value_or(0),
        .seed = static_cast<std::uint64_t>(stated->resolved.run.seed),
        .instances = replicas};
    auto run = stored(
        stated->id, of_run, [&] { return run_whole(stated->resolved, targets, interrupt_); });
    if (!run || !*run) {
      return run;
    }
    requests_ += (*run)->requests;
    if (!(*run)->certificate.holds) {
      return run;
    }
    const SpacePoint point = inputs_.space.point(of(finalist).ordinal);
    auto serving = inputs_.space.resolve(point, replicas - finalist.rules.spare);
    if (!serving) {
      return core::fail(std::move(serving).error());
    }
    const CertifyOptions how{.load = inputs_.load,
                             .windows = windows,
                             .window_requests = window_requests(),
                             .confidence = question_.confidence,
                             .seed = inputs_.seed + kFreshSeed,
                             .trace_rate = inputs_.demand.rate,
                             .instances = serving->resolved.run.cluster.instances.value_or(1)};
    auto certified = stored(
        serving->id, how, [&] { return certify(serving->resolved, targets, how, interrupt_); });
    if (!certified || !*certified) {
      return certified;
    }
    requests_ += (*certified)->requests;
    take_windows(**run, **certified);
    return run;
  }

  /// Tests a finalist with its replicas, with more until a number of them holds, and then with
  /// those between that and the last that did not.
  core::Result<bool> certify_one(Finalist& finalist, std::int64_t windows) {
    const auto more = static_cast<std::int64_t>(core::real(finalist.replicas) * kMostAdded);
    const std::int64_t most = finalist.replicas + std::max(kLeastAdded, more);
    std::int64_t step = 1;
    std::int64_t failed = 0;
    std::optional<std::int64_t> next = finalist.replicas;
    bool holds = false;
    while (next) {
      auto tested = test(finalist, *next, windows);
      if (!tested) {
        return core::fail(std::move(tested).error());
      }
      if (!*tested) {
        return false;
      }
      const bool held = (*tested)->certificate.holds;
      if (held || !holds) {
        finalist.replicas = *next;
        finalist.certification = std::move(**tested);
      }
      holds = holds || held;
      if (!held) {
        failed = *next;
        finalist.failed = std::max(finalist.failed, failed);
      }
      if (holds) {
        next =
            failed > 0 ? finalist.rules.at_least((failed + finalist.replicas) / 2) : std::nullopt;
        next = next > failed && next < finalist.replicas ? next : std::nullopt;
      } else {
        next = finalist.rules.at_least(finalist.replicas + step);
        next = next <= most ? next : std::nullopt;
        step *= 2;
      }
    }
    finalist.gave_up = !holds;
    return true;
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
      const std::vector<std::size_t> order = by_cost();
      for (const std::size_t i : order) {
        if (!finalists_[i].certification && !finalists_[i].gave_up && !finalists_[i].is_rival &&
            open.size() + certified_ahead(order, i) < static_cast<std::size_t>(question_.top_n)) {
          open.push_back(i);
        }
      }
      if (open.empty()) {
        break;
      }
      if (!affords(1, kWindows) && (has_certified() || ++beyond > kMostBeyond)) {
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
      assess_now();
      const auto pick = find_pick();
      if (!pick || finalists_[*pick].certification->certificate.windows >= many) {
        return true;
      }
      if (inputs_.demand.trace_requests || !affords(1, many)) {
        return true;  // It has no more windows, or there is no time for them.
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

  [[nodiscard]] bool has_certified() const {
    return std::ranges::any_of(finalists_, [](const Finalist& finalist) {
      return finalist.certification && !finalist.gave_up;
    });
  }

  [[nodiscard]] std::size_t certified_ahead(const std::vector<std::size_t>& order, std::size_t at) {
    std::size_t count = 0;
    for (const std::size_t i : order) {
      if (i == at) {
        break;
      }
      count += finalists_[i].certification && !finalists_[i].gave_up ? 1U : 0U;
    }
    return count;
  }

  void assess_now() {
    for (std::size_t i = 0; i < finalists_.size(); ++i) {
      Row& row = doubt_.rows[i];
      const std::int64_t spare = finalists_[i].rules.spare;
      row.replicas = std::max<std::int64_t>(1, finalists_[i].replicas - spare);
      // What windows have shown is known.
      row.min_replicas =
          std::min(row.max_replicas, std::max(row.min_replicas, finalists_[i].failed - spare + 1));
    }
    assessed_ = assess(doubt_);
  }

  /// The cheapest that is certified and sure enough.
  [[nodiscard]] std::optional<std::size_t> find_pick() {
    for (const std::size_t i : by_cost()) {
      const Finalist& finalist = finalists_[i];
      if (finalist.certification && !finalist.gave_up &&
          assessed_.p_feasible[i] >= question_.confidence) {
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
      rank(*answer_.pick);
    }
    for (const std::size_t i : by_cost()) {
      const Finalist& finalist = finalists_[i];
      if (i != pick && finalist.certification && !finalist.gave_up) {
        rank(finalist.candidate);
      }
      answer_.finalists.push_back(finalist.candidate);
      answer_.elasticities.push_back(doubt_.rows[i].elasticity);
    }
    answer_.search.requests_simulated += requests_;
    if (!pick) {
      return {};
    }
    answer_.headroom_pct = 100.0 * (headroom(finalists_[*pick]) - 1.0);
    warn_of_short_trace(*finalists_[*pick].certification);
    if (of(finalists_[*pick]).is_bound()) {
      return {};
    }
    const double best = assessed_.expected_best_cost;
    answer_.expected_regret_pct =
        best > 0.0 ? 100.0 * assessed_.expected_regret[*pick] / best : 0.0;
    answer_.amplification = table_.candidates[*pick].amplification;
    answer_.cheaper = cheaper_chance(*pick);
    answer_.measurements = value_of_measurements(doubt_, *pick);
    fill_breakevens(*pick);
    return {};
  }

  /// Takes a candidate into the ranking, as the twin of one that is there if it has its numbers.
  void rank(std::size_t candidate) {
    for (const std::size_t ranked : answer_.ranking) {
      if (are_twins(answer_.candidates[ranked], answer_.candidates[candidate])) {
        answer_.candidates[ranked].twins.push_back(candidate);
        return;
      }
    }
    if (answer_.ranking.size() < static_cast<std::size_t>(question_.top_n)) {
      answer_.ranking.push_back(candidate);
    }
  }

  /// Whether two deployments of the same GPUs have the same numbers, as far as they are shown.
  static bool are_twins(const PlanCandidate& one, const PlanCandidate& other) {
    const auto same = [](double a, double b, double part) {
      return std::abs(a - b) <= part * std::max(std::abs(a), std::abs(b));
    };
    bool are = one.model == other.model && one.gpu == other.gpu && one.engine == other.engine &&
               one.split == other.split && one.gpus_per_replica == other.gpus_per_replica &&
               one.replicas == other.replicas &&
               same(one.capacity->value, other.capacity->value, kSameCapacity);
    for (std::size_t i = 0; are && i < one.targets.size(); ++i) {
      const auto& a = one.targets[i].value_ms;
      const auto& b = other.targets[i].value_ms;
      are = a && b ? same(a->value, b->value, kSameNumber)
                   : one.targets[i].exceed_share == other.targets[i].exceed_share;
    }
    return are;
  }

  core::Result<void> fill_one(std::size_t i) {
    const Finalist& finalist = finalists_[i];
    PlanCandidate& candidate = of(finalist);
    candidate.replicas = finalist.gave_up ? 0 : finalist.replicas;
    if (!candidate.is_bound()) {
      candidate.p_feasible = std::min(assessed_.p_feasible[i], kMostSure);
      candidate.p_best = std::min(assessed_.p_best[i], kMostSure);
      candidate.expected_regret = assessed_.expected_regret[i];
    }
    const LogCapacity capacity = log_capacity(doubt_.rows[i], doubt_.factors);
    const double sampling = candidate.sampling_sd;
    candidate.model_sd = std::sqrt(std::max(0.0, capacity.sd * capacity.sd - sampling * sampling));
    const double width = core::exp(kEightyPercent * capacity.sd);
    candidate.capacity->lo = candidate.capacity->value / width;
    candidate.capacity->hi = candidate.capacity->value * width;
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

  void warn_of_short_trace(const Certification& certification) {
    const Certificate& certificate = certification.certificate;
    if (!inputs_.demand.trace_requests ||
        certificate.windows >= certifying_windows(question_.confidence)) {
      return;
    }
    answer_.warnings.push_back(
        {.code = "W-short-trace",
         .message = fmt::format(
             "{} windows of {} requests are all that the trace has, the cold start in "
             "the first: they certify that {:.0f} % of windows meet every target, where "
             "{:.3g} % were asked for",
             certificate.windows,
             certificate.window_requests,
             certificate.at_least * 100.0,
             question_.confidence * 100.0),
         .hint = "a longer trace; a load that goes on, by --request-rate, may need less"});
  }

  /// Of every finalist, the most replicas that cost less than the pick.
  [[nodiscard]] std::optional<CheaperChance> cheaper_chance(std::size_t pick) {
    std::optional<CheaperChance> found;
    double cost_of_found = 0.0;
    const double log_rate = core::log(inputs_.load);
    for (std::size_t i = 0; i < finalists_.size(); ++i) {
      const Finalist& finalist = finalists_[i];
      const std::int64_t spare = finalist.rules.spare;
      std::int64_t replicas = spare;
      while (true) {
        const auto next = finalist.rules.at_least(replicas + 1);
        if (!next || *next > finalist.rules.most ||
            core::real(*next) * finalist.unit_costs.front() >=
                cost(finalists_[pick]) * (1.0 - kCostRounding)) {
          break;
        }
        replicas = *next;
      }
      if (replicas <= std::max(spare, finalist.failed) || finalist.gave_up) {
        continue;
      }
      const double p = std::min(
          kMostSure,
          normal_probability(
              log_capacity(doubt_.rows[i], doubt_.factors).margin(log_rate, replicas - spare)));
      const double cost_of_it = core::real(replicas) * finalist.unit_costs.front();
      if (p >= kWorthNaming && (!found || p > found->p_feasible ||
                                (p == found->p_feasible && cost_of_it < cost_of_found))) {
        found = {.candidate = finalist.candidate, .replicas = replicas, .p_feasible = p};
        cost_of_found = cost_of_it;
      }
    }
    return found;
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
      if (i != pick && !finalists_[i].gave_up && assessed_.p_feasible[i] >= question_.confidence) {
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
  std::vector<CandidateCauses> causes_;
  FactorTable table_;
  DoubtInput doubt_;
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
