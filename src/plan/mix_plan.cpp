#include "plan/mix_plan.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "core/digest.hpp"
#include "core/distributions.hpp"
#include "core/math.hpp"
#include "core/parallel.hpp"
#include "document/basis.hpp"
#include "latency/accuracy/bands.hpp"
#include "plan/capacity.hpp"
#include "plan/certify.hpp"
#include "plan/linear_doubt.hpp"
#include "plan/merged_source.hpp"
#include "plan/mix.hpp"
#include "plan/points.hpp"
#include "plan/prices.hpp"
#include "plan/share.hpp"
#include "plan/space.hpp"
#include "plan/sure_load.hpp"
#include "scenario/accuracy_question.hpp"
#include "sweep/axes.hpp"
#include "sweep/point_id.hpp"
#include "workload/source.hpp"

namespace ridgeline::plan {
namespace {

/// Deployments of each GPU that are run for each class: those of the most estimated requests per
/// cost.
constexpr std::size_t kPerClassAndGpu = 2;
constexpr double kRequestsOfRun = 32'000.0;  ///< As a full sweep takes (planner.md, section 11).
/// A share below this is the solver's rounding.
constexpr double kNoShare = 1e-6;
/// Replicas added to a pool at most where its windows fail.
constexpr std::int64_t kMostAddedToPool = 3;
constexpr std::uint64_t kFreshMixSeed = 1;

/// One class, its space and what formulas say of it.
struct ClassPoints {
  explicit ClassPoints(Question of_class) : question(std::move(of_class)) {}

  Question question;
  std::optional<Space> space;
  Points points;

  [[nodiscard]] const PlanCandidate* candidate(std::int64_t ordinal) const {
    const auto found = std::ranges::find(points.candidates, ordinal, &PlanCandidate::ordinal);
    return found == points.candidates.end() ? nullptr : &*found;
  }
  [[nodiscard]] const OpenPoint* open(std::int64_t ordinal) const {
    const auto found = std::ranges::find_if(points.open, [&](const OpenPoint& point) {
      return points.candidates[point.candidate].ordinal == ordinal;
    });
    return found == points.open.end() ? nullptr : &*found;
  }
};

class MixPlanner {
 public:
  MixPlanner(const Question& question,
             const PlanOptions& options,
             const std::atomic<bool>& interrupt)
      : question_(question), options_(options), interrupt_(interrupt) {}

  core::Result<MixAnswer> run() {
    if (auto errors = question_errors(); !errors.empty()) {
      return core::fail(std::move(errors));
    }
    // Said before anything is run.
    if (auto there = cheapest_mix({.rates = {1.0}, .offers = {{.cost = 1.0, .capacity = {1.0}}}});
        !there) {
      return core::fail(std::move(there).error());
    }
    answer_.question = question_;
    for (const auto step : {&MixPlanner::look,
                            &MixPlanner::choose,
                            &MixPlanner::find_capacities,
                            &MixPlanner::solve,
                            &MixPlanner::certify_pools}) {
      if (auto done = (this->*step)(); !done) {
        return core::fail(std::move(done).error());
      }
      answer_.partial = answer_.partial || interrupt_;
      if (answer_.partial || !answer_.failure.empty()) {
        break;
      }
    }
    gather_warnings();
    return std::move(answer_);
  }

 private:
  [[nodiscard]] core::Errors question_errors() const {
    core::Errors errors;
    const auto refuse = [&](const char* field, const char* message, const char* hint) {
      errors.push_back({.field = field, .message = message, .hint = hint});
    };
    if (question_.objectives.size() > 1 || question_.objectives.front() == Objective::kWatts ||
        question_.objectives.front() == Objective::kJoulesPerToken) {
      refuse(
          "objective", "a mix has one, that does not depend on the load", "gpus or usd_per_hour");
    }
    if (question_.limits.spare_replicas > 0) {
      refuse("limits.spare_replicas", "is not taken of a mix", "add them to what it says");
    }
    if (!question_.replicas.empty()) {
      refuse("space.replicas", "is not taken of a mix, which finds the numbers", "");
    }
    if (std::ranges::any_of(question_.splits,
                            [](const auto& split) { return split.has_value(); })) {
      refuse("space.disaggregation", "is not taken of a mix", "[none]");
    }
    return errors;
  }

  core::Result<void> look() {
    core::Digest digest;
    digest.add(std::string_view("ridgeline mix 1"));
    for (const RequestClass& each : question_.classes) {
      Question own = question_;
      own.base = sweep::with_setting(question_.base, "workload", each.workload);
      auto& found = *classes_.emplace_back(std::make_unique<ClassPoints>(std::move(own)));
      auto space = Space::read(found.question);
      if (!space) {
        return core::fail(std::move(space).error());
      }
      found.space.emplace(std::move(*space));
      auto points = look_at_points(found.question, *found.space, options_.jobs, {}, interrupt_);
      if (!points) {
        return core::fail(std::move(points).error());
      }
      found.points = std::move(*points);
      answer_.rates.push_back(found.points.demand.rate);
      answer_.engine = found.points.engine;
      digest.add(std::string_view(sweep::one_line(found.question.base)));
    }
    digest.add(std::string_view(sweep::one_line(question_.axes)));
    for (const Target& target : question_.slo.targets) {
      digest.add(std::string_view(target.text()));
    }
    answer_.digest = digest.hex();
    return {};
  }

  /// Those of the pools first; without any, what all deployments have in common.
  void gather_warnings() {
    std::set<std::string> gpus;
    const auto warn = [&](const core::Warnings& found) {
      for (const core::Warning& warning : found) {
        if (std::ranges::find(answer_.warnings, warning.message, &core::Warning::message) ==
            answer_.warnings.end()) {
          answer_.warnings.push_back(warning);
        }
      }
    };
    for (const MixPool& pool : answer_.pools) {
      gpus.insert(answer_.candidates[pool.candidate].gpu);
      if (pool.resolved) {
        warn(pool.resolved->warnings);
      }
    }
    if (answer_.pools.empty() && !classes_.empty()) {
      warn(classes_.front()->points.warnings);
    }
    warn(question_.warnings);
    if (question_.cost.prices) {
      warn(
          price_warnings(*question_.cost.prices, {gpus.begin(), gpus.end()}, question_.cost.as_of));
    }
  }

  /// What one replica of a point costs; nothing without a price.
  [[nodiscard]] core::Result<std::optional<double>> unit_cost(const ClassPoints& of,
                                                              std::int64_t ordinal) const {
    auto found = of.space->resolve(of.space->point(ordinal));
    if (!found) {
      return core::fail(std::move(found).error());
    }
    const bool counts_gpus = question_.objectives.front() == Objective::kGpus;
    const Cost cost = cost_of(found->resolved, 1, question_.cost, {});
    return counts_gpus ? std::optional(core::real(cost.gpus)) : cost.usd_per_hour;
  }

  /// For each class and GPU, chooses the points that promise most per cost.
  core::Result<void> choose() {
    std::set<std::int64_t> chosen;
    for (const auto& each : classes_) {
      std::map<std::string, std::vector<std::pair<double, std::int64_t>>> by_gpu;
      for (const OpenPoint& open : each->points.open) {
        const PlanCandidate& candidate = each->points.candidates[open.candidate];
        auto cost = unit_cost(*each, candidate.ordinal);
        if (!cost) {
          return core::fail(std::move(cost).error());
        }
        if (!*cost || (candidate.is_bound() && !question_.accept_bounds)) {
          continue;
        }
        by_gpu[candidate.gpu].emplace_back(-open.range.guess / **cost, candidate.ordinal);
      }
      for (auto& [gpu, points] : by_gpu) {
        std::ranges::sort(points);
        for (std::size_t i = 0; i < std::min(points.size(), kPerClassAndGpu); ++i) {
          chosen.insert(points[i].second);
        }
      }
    }
    for (const std::int64_t ordinal : chosen) {
      const PlanCandidate* candidate = nullptr;
      const ClassPoints* of = nullptr;
      for (const auto& each : classes_) {
        if (candidate == nullptr) {
          candidate = each->candidate(ordinal);
          of = each.get();
        }
      }
      auto cost = unit_cost(*of, ordinal);
      if (!cost) {
        return core::fail(std::move(cost).error());
      }
      ordinals_.push_back(ordinal);
      answer_.candidates.push_back({.label = candidate->label,
                                    .gpu = candidate->gpu,
                                    .gpus = candidate->gpus_per_replica,
                                    .cost = **cost,
                                    .capacity = std::vector<double>(classes_.size(), 0.0),
                                    .sd = std::vector<double>(classes_.size(), 0.0),
                                    .sure = std::vector<double>(classes_.size(), 0.0),
                                    .bound = candidate->bound});
    }
    if (chosen.empty() && std::ranges::any_of(classes_, [](const auto& each) {
          return std::ranges::any_of(each->points.candidates, &PlanCandidate::is_bound);
        })) {
      answer_.only_bounds = true;
      answer_.failure = fmt::format(
          "of no deployment there is an estimate, each is {}: "
          "--accept-bounds mixes them all the same",
          document::kBoundWords);
    }
    return {};
  }

  core::Result<void> find_capacities() {
    const std::size_t jobs = ordinals_.size() * classes_.size();
    std::vector<core::Result<std::optional<SureLoad>>> found(jobs, std::optional<SureLoad>());
    std::mutex mutex;
    std::int64_t done = 0;
    core::for_each_job(jobs, options_.jobs, [&](std::size_t job) {
      found[job] = load_of(*classes_[job % classes_.size()], ordinals_[job / classes_.size()]);
      const std::lock_guard lock(mutex);
      if (options_.progress) {
        options_.progress({.stage = "capacities by class",
                           .done = ++done,
                           .all = static_cast<std::int64_t>(jobs),
                           .best = {}});
      }
    });
    for (std::size_t job = 0; job < jobs; ++job) {
      if (!found[job]) {
        return core::fail(std::move(found[job]).error());
      }
      if (*found[job]) {
        MixCandidate& candidate = answer_.candidates[job / classes_.size()];
        const std::size_t c = job % classes_.size();
        const SureLoad& load = **found[job];
        candidate.capacity[c] = load.estimate.load;
        candidate.sd[c] = std::sqrt(load.estimate.sd * load.estimate.sd + load.sd * load.sd);
        candidate.sure[c] = candidate.bound.empty() ? load.sure.load : load.estimate.load;
        answer_.requests_simulated += load.estimate.requests + load.sure.requests;
      }
    }
    return {};
  }

  core::Result<std::optional<SureLoad>> load_of(const ClassPoints& of, std::int64_t ordinal) {
    const OpenPoint* open = of.open(ordinal);
    if (open == nullptr || interrupt_) {
      return std::optional<SureLoad>();  // A bound refuses it for this class.
    }
    auto found = of.space->resolve(of.space->point(ordinal));
    if (!found) {
      return core::fail(std::move(found).error());
    }
    const FindCapacity find = [&](const Targets& targets, double guess) {
      return find_capacity(
          found->resolved,
          targets,
          {.requests = std::llround(kRequestsOfRun * multiple_of(question_.effort)),
           .guess = std::min(guess, open->range.highest),
           .ceiling = open->range.highest,
           .seed = static_cast<std::uint64_t>(found->resolved.run.seed)},
          interrupt_);
    };
    const Targets& targets = question_.slo.targets;
    auto estimate = find(targets, open->range.start());
    if (!estimate || !*estimate) {
      return estimate ? core::Result<std::optional<SureLoad>>(std::nullopt)
                      : core::fail(std::move(estimate).error());
    }
    return find_sure_load(find, std::move(**estimate), targets, open->doubt, question_.confidence);
  }

  [[nodiscard]] MixQuestion program(std::optional<std::size_t> only = {}) const {
    MixQuestion program{.rates = answer_.rates,
                        .offers = {},
                        .max_gpus = question_.limits.max_gpus,
                        .stock = question_.limits.stock};
    for (std::size_t i = 0; i < answer_.candidates.size(); ++i) {
      const MixCandidate& candidate = answer_.candidates[i];
      if (!only || *only == i) {
        program.offers.push_back({.gpu = candidate.gpu,
                                  .gpus = candidate.gpus,
                                  .cost = candidate.cost,
                                  .capacity = candidate.sure});
      }
    }
    return program;
  }

  core::Result<void> solve() {
    for (std::size_t i = 0; i < answer_.candidates.size(); ++i) {
      auto alone = cheapest_mix(program(i));
      if (alone && *alone && (!answer_.alone || (*alone)->cost < answer_.alone->cost)) {
        answer_.alone = {
            .candidate = i, .replicas = (*alone)->replicas.front(), .cost = (*alone)->cost};
      }
    }
    auto mix = cheapest_mix(program());
    if (!mix) {
      return core::fail(std::move(mix).error());
    }
    if (!*mix) {
      answer_.failure = why_none();
      return {};
    }
    for (std::size_t i = 0; i < answer_.candidates.size(); ++i) {
      if ((*mix)->replicas[i] > 0) {
        answer_.pools.push_back(
            {.candidate = i, .replicas = (*mix)->replicas[i], .shares = (*mix)->shares[i]});
      }
    }
    return {};
  }

  [[nodiscard]] std::string why_none() const {
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      if (std::ranges::none_of(answer_.candidates,
                               [&](const auto& candidate) { return candidate.sure[c] > 0.0; })) {
        return fmt::format("no deployment meets the targets for class {}, whatever the load",
                           question_.classes[c].name);
      }
    }
    return "no mix serves all classes with the GPUs that the limits allow";
  }

  core::Result<void> certify_pools() {
    for (MixPool& pool : answer_.pools) {
      for (std::size_t c = 0; c < classes_.size(); ++c) {
        pool.shares[c] = pool.shares[c] < kNoShare ? 0.0 : pool.shares[c];
        pool.rate += pool.shares[c] * answer_.rates[c];
      }
    }
    std::vector<core::Result<bool>> done(answer_.pools.size(), false);
    core::for_each_job(answer_.pools.size(), options_.jobs, [&](std::size_t i) {
      done[i] = certify_pool(answer_.pools[i]);
    });
    for (std::size_t i = 0; i < done.size(); ++i) {
      if (!done[i]) {
        return core::fail(std::move(done[i]).error());
      }
      answer_.partial = answer_.partial || !*done[i];
      const MixPool& pool = answer_.pools[i];
      const MixCandidate& candidate = answer_.candidates[pool.candidate];
      answer_.requests_simulated += pool.certificate.windows * pool.certificate.window_requests;
      answer_.cost += candidate.cost * core::real(pool.replicas);
      if (*done[i] && !pool.certificate.holds) {
        answer_.failure = fmt::format(
            "too many windows miss a target with {} x {}", pool.replicas, candidate.label);
      }
    }
    return {};
  }

  /// Tests a pool with the requests that it gets, and with more replicas until enough windows pass.
  core::Result<bool> certify_pool(MixPool& pool) {
    const MixCandidate& candidate = answer_.candidates[pool.candidate];
    std::size_t first = 0;
    while (first + 1 < classes_.size() && pool.shares[first] <= 0.0) {
      ++first;
    }
    const CertifyOptions options{
        .load = pool.rate,
        .windows = certifying_windows(question_.confidence),
        .window_requests = usual_window(pool.rate, question_.slo.window, question_.effort),
        .confidence = question_.confidence,
        .seed = static_cast<std::uint64_t>(question_.classes.size()) + kFreshMixSeed};
    const std::int64_t most = pool.replicas + kMostAddedToPool;
    while (true) {
      const ClassPoints& of = *classes_[first];
      auto found = of.space->resolve(of.space->point(ordinals_[pool.candidate]), pool.replicas);
      if (!found) {
        return core::fail(std::move(found).error());
      }
      const std::int64_t requests = options.windows * options.window_requests;
      const std::int64_t instances = found->resolved.run.cluster.instances.value_or(1);
      scenario::Resolved run = with_load(
          found->resolved,
          {.load = pool.rate, .requests = requests, .seed = options.seed, .instances = instances});
      auto source = requests_of(pool, requests, options.seed);
      if (!source) {
        return core::fail(std::move(source).error());
      }
      CertifyOptions own = options;
      own.instances = instances;
      auto certified = certify_run(run, **source, question_.slo.targets, own, interrupt_);
      if (!certified) {
        return core::fail(std::move(certified).error());
      }
      if (!*certified) {
        return false;
      }
      pool.certificate = (*certified)->certificate;
      pool.targets = std::move((*certified)->targets);
      if (pool.certificate.holds || pool.replicas >= most) {
        break;
      }
      ++pool.replicas;
    }
    double busy = 0.0;
    double spread = 0.0;
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      if (pool.shares[c] > 0.0) {
        const double part = pool.shares[c] * answer_.rates[c] / candidate.capacity[c];
        busy += part;
        spread += part * candidate.sd[c];
      }
    }
    const LogCapacity capacity{.mean = 0.0, .sd = spread / busy};
    pool.p_feasible = std::min(accuracy::kMostSure,
                               normal_probability(capacity.margin(core::log(busy), pool.replicas)));
    return keep(pool);
  }

  /// Keeps what a pool is, for its files.
  core::Result<bool> keep(MixPool& pool) {
    for (std::size_t c = 1; c < classes_.size(); ++c) {
      const std::size_t most = pool.main_class;
      if (pool.shares[c] * answer_.rates[c] > pool.shares[most] * answer_.rates[most]) {
        pool.main_class = c;
      }
    }
    const Space& space = *classes_[pool.main_class]->space;
    auto found = space.resolve(space.point(ordinals_[pool.candidate]), pool.replicas);
    if (!found) {
      return core::fail(std::move(found).error());
    }
    auto resolved = std::make_shared<scenario::Resolved>(std::move(found->resolved));
    resolved->workload.section.request_rate = pool.rate;
    pool.resolved = std::move(resolved);
    return true;
  }

  /// The requests of a pool: each class at its share of the rate.
  core::Result<std::unique_ptr<workload::Source>> requests_of(const MixPool& pool,
                                                              std::int64_t requests,
                                                              std::uint64_t seed) {
    std::vector<std::unique_ptr<workload::Source>> sources;
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      if (pool.shares[c] <= 0.0) {
        continue;
      }
      const ClassPoints& of = *classes_[c];
      auto found = of.space->resolve(of.space->point(ordinals_[pool.candidate]));
      if (!found) {
        return core::fail(std::move(found).error());
      }
      // Streams of several classes are independent.
      scenario::Resolved run = with_load(
          found->resolved,
          {.load = pool.shares[c] * answer_.rates[c], .requests = requests, .seed = seed + c});
      run.workload.ranks = 1;
      auto source = run.workload.open();
      if (!source) {
        return core::fail(std::move(source).error());
      }
      sources.push_back(std::move(*source));
    }
    return std::make_unique<MergedSource>(std::move(sources), requests);
  }

  const Question& question_;
  const PlanOptions& options_;
  const std::atomic<bool>& interrupt_;
  std::vector<std::unique_ptr<ClassPoints>> classes_;
  std::vector<std::int64_t> ordinals_;  ///< By candidate.
  MixAnswer answer_;
};

}  // namespace

core::Result<MixAnswer> plan_mix(const Question& question,
                                 const PlanOptions& options,
                                 const std::atomic<bool>& interrupt) {
  return MixPlanner(question, options, interrupt).run();
}

}  // namespace ridgeline::plan
