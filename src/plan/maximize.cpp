#include "plan/maximize.hpp"

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

#include "core/math.hpp"
#include "core/parallel.hpp"
#include "core/result.hpp"
#include "plan/answer.hpp"
#include "plan/capacity.hpp"
#include "plan/certify.hpp"
#include "plan/cost.hpp"
#include "plan/demand.hpp"
#include "plan/evaluation_store.hpp"
#include "plan/finish.hpp"
#include "plan/points.hpp"
#include "plan/question.hpp"
#include "plan/share.hpp"
#include "plan/space.hpp"
#include "plan/sure_load.hpp"
#include "scenario/resolve.hpp"
#include "scenario/sections/router.hpp"

namespace ridgeline::plan {
namespace {

/// Requests of the runs by which all are compared, and of those of the best.
constexpr std::int64_t kShortRuns = 2'000;
constexpr std::int64_t kLongRuns = 8'000;
/// Where windows miss a target, the load is lowered by so much, then by twice that.
constexpr double kLowered = 0.03;
constexpr int kMostLowered = 4;

/// A deployment of as many replicas as there are GPUs for.
struct Entry {
  const OpenPoint* point = nullptr;
  std::int64_t serving = 1;  ///< Replicas without the spare ones.
  std::int64_t replicas = 1;
  bool is_bound = false;   ///< Its figures are bounds, of which no doubt is known.
  bool is_behind = false;  ///< And behind every estimate: bounds are not accepted.
  SureLoad load = {};
  LatencyDoubt doubt = {};
  std::optional<Certification> certification = {};
  double run_load = 0.0;          ///< Load of all replicas that the windows ran at.
  double run_rate = 0.0;          ///< Requests per second of all replicas in the windows.
  std::int64_t run_requests = 0;  ///< Requests of a window.
  double p_met = 0.0;             ///< That the targets hold there.
  bool failed = false;            ///< Too many windows miss a target, however the load was lowered.
  core::Errors errors = {};

  [[nodiscard]] bool is_sure() const { return load.sure.load > 0.0; }
  [[nodiscard]] const Capacity& best() const { return is_sure() ? load.sure : load.estimate; }
  /// All replicas together: by the windows, or by the searches.
  [[nodiscard]] double requests_per_second() const {
    return certification ? run_rate : best().requests_per_second * core::real(serving);
  }
  /// The order of an answer. Sure ones first, of these the one that yields most.
  [[nodiscard]] auto place(double confidence) const {
    const bool is_unsure = certification ? p_met < confidence : !is_sure();
    return std::tuple(failed, is_behind, is_unsure && !is_bound, -requests_per_second());
  }
};

class Maximizer {
 public:
  Maximizer(const MaximizeInputs& inputs, Answer& answer, const std::atomic<bool>& interrupt)
      : inputs_(inputs), question_(inputs.question), answer_(answer), interrupt_(interrupt) {}

  core::Result<bool> run() {
    make_entries();
    for (const std::int64_t requests : {kShortRuns, kLongRuns}) {
      const auto all =
          std::max(kShortRuns,
                   static_cast<std::int64_t>(core::real(requests) * multiple_of(question_.effort)));
      auto done = for_each(fmt::format("runs of {} requests", all),
                           [&](Entry& entry) { return search(entry, all); });
      note_searched();
      if (!done || !*done) {
        rank_unfinished();
        return done;
      }
      keep_best(static_cast<std::size_t>(question_.top_n * kFinalistsPerShown));
    }
    keep_best(static_cast<std::size_t>(question_.top_n));
    auto done = for_each("certifying", [&](Entry& entry) { return certify_one(entry); });
    if (!done || !*done) {
      rank_unfinished();
      return done;
    }
    sort_entries();
    if (auto filled = fill(); !filled) {
      return core::fail(std::move(filled).error());
    }
    return true;
  }

 private:
  PlanCandidate& of(const Entry& entry) { return answer_.candidates[entry.point->candidate]; }
  [[nodiscard]] const PlanCandidate& of(const Entry& entry) const {
    return answer_.candidates[entry.point->candidate];
  }

  void make_entries() {
    for (const OpenPoint& open : inputs_.points.open) {
      const PlanCandidate& candidate = answer_.candidates[open.candidate];
      const std::int64_t most =
          most_replicas(question_.limits, candidate.gpu, candidate.gpus_per_replica);
      Entry entry{.point = &open,
                  .replicas = most,
                  .is_bound = candidate.is_bound(),
                  .is_behind = candidate.is_bound() && !question_.accept_bounds};
      if (!question_.replicas.empty()) {
        const auto above = std::ranges::upper_bound(question_.replicas, most);
        entry.replicas = above == question_.replicas.begin() ? 0 : *(above - 1);
      }
      entry.serving = entry.replicas - question_.limits.spare_replicas;
      if (entry.serving >= 1) {
        entries_.push_back(std::move(entry));
      }
    }
  }

  /// Does that to every entry, on several threads. False when interrupted.
  template <class Function>
  core::Result<bool> for_each(const std::string& stage, const Function& function) {
    std::mutex mutex;
    std::int64_t done = 0;
    core::for_each_job(entries_.size(), inputs_.jobs, [&](std::size_t i) {
      if (interrupt_) {
        return;
      }
      if (auto found = function(entries_[i]); !found) {
        entries_[i].errors = std::move(found).error();
      }
      const std::lock_guard lock(mutex);
      if (inputs_.progress) {
        inputs_.progress(stage, ++done, static_cast<std::int64_t>(entries_.size()));
      }
    });
    for (Entry& entry : entries_) {
      if (!entry.errors.empty()) {
        return core::fail(std::move(entry.errors));
      }
    }
    return !interrupt_;
  }

  core::Result<void> search(Entry& entry, std::int64_t requests) {
    const auto found = inputs_.space.resolve(inputs_.space.point(of(entry).ordinal));
    if (!found) {
      return core::fail(found.error());
    }
    const Demand& demand = inputs_.points.demand;
    const LoadRange& range = entry.point->range;
    entry.doubt = entry.point->doubt;
    const FindCapacity find = [&](const Targets& targets, double guess) {
      return find_stored_capacity(
          inputs_.store,
          found->id,
          found->resolved,
          targets,
          {.requests = std::min(requests, demand.trace_requests.value_or(requests)),
           .guess = std::min(guess, range.highest),
           .ceiling = range.highest,
           .seed = inputs_.seed,
           .trace_rate = demand.rate,
           .is_closed_loop = demand.clients.has_value()},
          interrupt_);
    };
    const double known = entry.load.estimate.load;
    const double guess = known > 0.0 ? known : range.start();
    auto estimate = find(question_.slo.targets, guess);
    if (!estimate || !*estimate) {
      return estimate ? core::Result<void>() : core::fail(std::move(estimate).error());
    }
    auto load = find_sure_load(
        find, std::move(**estimate), question_.slo.targets, entry.doubt, question_.confidence);
    if (!load) {
      return core::fail(std::move(load).error());
    }
    if (*load) {
      entry.load = std::move(**load);
    }
    return {};
  }

  /// What runs found of each, those that are dropped now among them.
  void note_searched() {
    for (const Entry& entry : entries_) {
      PlanCandidate& candidate = of(entry);
      answer_.search.requests_simulated += entry.load.estimate.requests + entry.load.sure.requests;
      candidate.stage = Stage::kSimulated;
      candidate.binding.reset();
      if (entry.load.estimate.limit != Limit::kUtilisation) {
        candidate.binding = entry.load.estimate.target;
      }
      if (!(entry.load.estimate.load > 0.0)) {
        candidate.dropped_stage = "simulated";
        candidate.dropped_reason = "no load meets the targets";
        continue;
      }
      const double sd = entry.load.sd;
      const double sampling = entry.load.estimate.sd;
      const double width = core::exp(kEightyPercent * std::sqrt(sd * sd + sampling * sampling));
      candidate.capacity = Interval{.value = entry.load.estimate.load,
                                    .lo = entry.load.estimate.load / width,
                                    .hi = entry.load.estimate.load * width};
      candidate.sampling_sd = sampling;
      candidate.model_sd = sd;
      candidate.replicas = entry.replicas;
      candidate.unstable = entry.load.estimate.unstable;
    }
  }

  /// Equals in canonical order.
  void sort_entries() {
    std::ranges::stable_sort(
        entries_, {}, [&](const Entry& entry) { return entry.place(question_.confidence); });
  }

  void keep_best(std::size_t most) {
    std::erase_if(entries_, [](const Entry& entry) { return !(entry.load.estimate.load > 0.0); });
    sort_entries();
    while (entries_.size() > most) {
      PlanCandidate& candidate = of(entries_.back());
      candidate.dropped_stage = "simulated";
      candidate.dropped_reason = fmt::format("yields fewer tokens per second than {} others", most);
      entries_.pop_back();
    }
  }

  /// Ranks an interrupted search by the runs that there were.
  void rank_unfinished() {
    sort_entries();
    for (const Entry& entry : entries_) {
      if (entry.load.estimate.load > 0.0 &&
          answer_.ranking.size() < static_cast<std::size_t>(question_.top_n)) {
        answer_.ranking.push_back(entry.point->candidate);
      }
    }
  }

  /// Runs windows at the load that is recommended; at less where too many miss a target, or where
  /// it is not sure enough.
  core::Result<void> certify_one(Entry& entry) {
    const Demand& demand = inputs_.points.demand;
    const auto found = inputs_.space.resolve(inputs_.space.point(of(entry).ordinal), entry.serving);
    if (!found) {
      return core::fail(found.error());
    }
    double lowered = 1.0;
    for (int i = 0; i <= kMostLowered; ++i) {
      const double load = entry.best().load * lowered * core::real(entry.serving);
      entry.run_load = demand.clients ? std::max(1.0, std::floor(load)) : load;
      const std::int64_t requests = std::max(
          usual_window(
              demand.clients ? 0.0 : entry.run_load, question_.slo.window, question_.effort),
          demand.clients ? static_cast<std::int64_t>(entry.run_load) : 0);
      const CertifyOptions how{
          .load = entry.run_load,
          .windows = kWindows,
          .window_requests = demand.trace_requests
                                 ? std::min(requests, *demand.trace_requests / kWindows)
                                 : requests,
          .confidence = question_.confidence,
          .seed = inputs_.seed + kFreshSeed,
          .trace_rate = demand.rate,
          .instances = found->resolved.run.cluster.instances.value_or(1)};
      entry.run_requests = how.window_requests;
      const auto saved = whole(entry);
      if (!saved) {
        return core::fail(saved.error());
      }
      auto certified = find_stored_certification(
          inputs_.store, *saved, *found, question_.slo.targets, entry.doubt, how, interrupt_);
      if (!certified || !*certified) {
        return certified ? core::Result<void>() : core::fail(std::move(certified).error());
      }
      entry.certification = std::move(**certified);
      entry.run_rate = demand.clients
                           ? entry.certification->output_tokens_per_second / demand.mean_output
                           : entry.run_load;
      entry.failed = !entry.certification->certificate.holds;
      entry.p_met =
          probability_met(question_.slo.targets, entry.certification->targets, entry.doubt);
      // Behind a gateway replicas get uneven shares, so that they carry less than one alone.
      const bool is_enough = !entry.is_sure() || entry.p_met >= question_.confidence;
      if ((!entry.failed && is_enough) || entry.run_load <= 1.0) {
        break;
      }
      lowered *= 1.0 - kLowered * core::real(std::int64_t{1} << i);
    }
    return {};
  }

  /// With all replicas, at the load that is recommended: what is saved of it.
  core::Result<ResolvedSpacePoint> whole(const Entry& entry) {
    auto found = inputs_.space.resolve(inputs_.space.point(of(entry).ordinal), entry.replicas);
    if (found) {
      const Demand& demand = inputs_.points.demand;
      scenario::WorkloadSection& workload = found->resolved.workload.section;
      set_load(workload, entry.run_load, demand.rate);
      scenario::mark_stated(found->resolved,
                            workload.request_rate      ? "workload.request_rate"
                            : workload.max_concurrency ? "workload.max_concurrency"
                                                       : "workload.trace_speed_up");
      if (!question_.states_requests && !demand.trace_requests) {
        workload.num_prompts = entry.run_requests;
        scenario::mark_stated(found->resolved, "workload.num_prompts");
      }
    }
    return found;
  }

  core::Result<void> fill() {
    for (const Entry& entry : entries_) {
      if (!entry.certification) {
        continue;
      }
      if (auto filled = fill_one(entry); !filled) {
        return filled;
      }
      const PlanCandidate& candidate = of(entry);
      answer_.search.requests_simulated += entry.certification->requests;
      ++answer_.search.certified;
      if (entry.failed) {
        continue;
      }
      answer_.ranking.push_back(entry.point->candidate);
      answer_.finalists.push_back(entry.point->candidate);
      if (!answer_.pick && !entry.is_behind &&
          (entry.is_bound || candidate.p_feasible >= question_.confidence)) {
        answer_.pick = entry.point->candidate;
        answer_.load = entry.run_load;
        answer_.headroom_pct =
            100.0 * (entry.load.estimate.load * core::real(entry.serving) / entry.run_load - 1.0);
      }
    }
    answer_.elasticities.resize(answer_.finalists.size());
    if (answer_.pick) {  // It is shown first, whatever less sure ones yield.
      std::erase(answer_.ranking, *answer_.pick);
      answer_.ranking.insert(answer_.ranking.begin(), *answer_.pick);
    }
    return {};
  }

  core::Result<void> fill_one(const Entry& entry) {
    PlanCandidate& candidate = of(entry);
    const Certification& found = *entry.certification;
    const Demand& demand = inputs_.points.demand;
    auto saved = whole(entry);
    if (!saved) {
      return core::fail(std::move(saved).error());
    }
    candidate.stage = Stage::kCertified;
    candidate.certificate = found.certificate;
    candidate.targets = found.targets;
    candidate.bottlenecks = found.bottlenecks;
    candidate.unstable = found.unstable;
    candidate.p_feasible = entry.is_bound ? 0.0 : entry.p_met;
    candidate.at = RunLoad{.load = entry.run_load,
                           .requests_per_second = entry.run_rate,
                           .output_tokens_per_second = entry.run_rate * demand.mean_output};
    candidate.utilisation = entry.run_load / core::real(entry.serving) / entry.point->range.fullest;
    candidate.cost = cost_of(
        saved->resolved,
        entry.replicas * instances_of(candidate.split),
        question_.cost,
        {.output_tokens_per_second = candidate.at->output_tokens_per_second, .power = found.power});
    if (entry.failed) {
      candidate.replicas = 0;
      candidate.dropped_stage = "certified";
      candidate.dropped_reason = found.certificate.windows == 0 ? "its run misses a target"
                                                                : "too many windows miss a target";
    }
    if (entry.replicas > 1 || candidate.split) {
      candidate.router = scenario::router_name(saved->resolved.run.cluster.router);
    }
    candidate.resolved = std::make_shared<scenario::Resolved>(std::move(saved->resolved));
    return {};
  }

  const MaximizeInputs& inputs_;
  const Question& question_;
  Answer& answer_;
  const std::atomic<bool>& interrupt_;
  std::vector<Entry> entries_;
};

}  // namespace

core::Result<bool> maximize(const MaximizeInputs& inputs,
                            Answer& answer,
                            const std::atomic<bool>& interrupt) {
  return Maximizer(inputs, answer, interrupt).run();
}

}  // namespace ridgeline::plan
