#include "plan/race.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/distributions.hpp"
#include "core/math.hpp"
#include "core/parallel.hpp"
#include "core/result.hpp"
#include "plan/capacity.hpp"
#include "plan/share.hpp"

namespace ridgeline::plan {
namespace {

/// From this rung on a race that has few left ends: 32,000 requests are what a full sweep takes
/// (planner.md, section 11).
constexpr std::int64_t kEnoughRequests = 32'000;
/// Runs that find no load within the targets are repeated up to this length before they are
/// believed.
constexpr std::int64_t kBelieved = 8'000;

/// Runs of a search that begins where the last one ended (planner.md, section 5).
constexpr std::int64_t kUsualEvaluations = 4;

double z_of(std::size_t alive) {
  const auto count = core::real(static_cast<std::int64_t>(std::max<std::size_t>(1, alive)));
  return core::normal_quantile(1.0 - kWrongDrop / 2.0 / count);
}

/// Whether every capacity within the interval needs the same number of replicas.
bool is_settled(const Contender& contender, double z) {
  const double width = core::exp(z * contender.capacity.sd);
  return contender.rules.fewest(contender.capacity.load * width) ==
         contender.rules.fewest(contender.capacity.load / width);
}

/// Whether so many replicas of q cost less than those of p in every objective.
bool costs_less(const Contender& q,
                std::int64_t replicas_of_q,
                const Contender& p,
                std::int64_t replicas_of_p) {
  for (std::size_t i = 0; i < p.unit_costs.size(); ++i) {
    if (q.unit_costs[i] * core::real(replicas_of_q) >=
        p.unit_costs[i] * core::real(replicas_of_p)) {
      return false;
    }
  }
  return true;
}

class Race {
 public:
  Race(std::vector<Contender>& contenders,
       const Evaluate& evaluate,
       const RaceOptions& options,
       const std::atomic<bool>& interrupt)
      : all_(contenders), evaluate_(evaluate), options_(options), interrupt_(interrupt) {}

  core::Result<bool> run() {
    for (const std::int64_t requests : options_.rungs) {
      const bool is_first = requests == options_.rungs.front();
      const std::vector<std::size_t> again = is_first ? std::vector<std::size_t>() : unsettled();
      const auto count = static_cast<std::int64_t>(again.size());
      if (!is_first && options_.may_go_on &&
          !options_.may_go_on(count * requests * kUsualEvaluations)) {
        break;
      }
      auto done = is_first ? run_first(requests) : run_rung(again, requests);
      if (!done || !*done) {
        return done;
      }
      drop(requests);
      const std::size_t left = alive();
      const bool few = left <= static_cast<std::size_t>(options_.top_n);
      if (left == 0 || (few && requests >= kEnoughRequests) || unsettled().empty()) {
        break;
      }
    }
    return true;
  }

 private:
  [[nodiscard]] std::size_t alive() const {
    return static_cast<std::size_t>(std::ranges::count(all_, true, &Contender::alive));
  }

  /// Those whose number of replicas is not sure yet.
  [[nodiscard]] std::vector<std::size_t> unsettled() const {
    const double z = z_of(alive());
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      if (all_[i].alive && (all_[i].capacity.limit == Limit::kNone || !is_settled(all_[i], z))) {
        found.push_back(i);
      }
    }
    return found;
  }

  /// The first rung: those that the estimate does not rule out. Where runs show that it is further
  /// off than was thought, those that it ruled out by less come back.
  core::Result<bool> run_first(std::int64_t requests) {
    double factor = kFluidFactor;
    if (all_.size() <= kSmallSpace) {
      factor = HUGE_VAL;
    }
    while (true) {
      std::vector<std::size_t> wanted;
      for (std::size_t i = 0; i < all_.size(); ++i) {
        if (all_[i].runs_of == 0 && !is_ruled_out(i, factor)) {
          wanted.push_back(i);
        }
      }
      if (wanted.empty()) {
        break;
      }
      if (auto done = run_rung(wanted, requests); !done || !*done) {
        return done;
      }
      factor = std::max(factor, observed_factor());
    }
    for (Contender& contender : all_) {
      if (contender.runs_of == 0) {
        contender.alive = false;
        contender.stage = "fluid";
        contender.reason = fmt::format(
            "its fluid estimate of {:.3g} leaves it dearer than another, were both off by {:.2g}",
            contender.guess,
            factor);
      }
    }
    return true;
  }

  /// How far the estimate was off at most, where it was tested, with as much again to spare.
  [[nodiscard]] double observed_factor() const {
    double worst = 1.0;
    for (const Contender& one : all_) {
      if (one.runs_of > 0 && one.guess > 0.0 && one.capacity.load > 0.0 && one.is_guess_usable) {
        const double ratio = one.capacity.load / one.guess;
        worst = std::max({worst, ratio, 1.0 / ratio});
      }
    }
    return 1.0 + (worst - 1.0) * kSpare;
  }
  static constexpr double kSpare = 1.25;

  /// Whether a contender costs more than another in every objective, its estimate taken too low
  /// and the other's too high by that factor. What was run is known better.
  [[nodiscard]] bool is_ruled_out(std::size_t at, double factor) const {
    const Contender& p = all_[at];
    if (!p.is_guess_usable || !std::isfinite(factor)) {
      return false;
    }
    const auto best_replicas = p.rules.fewest(p.guess * factor);
    if (!best_replicas) {
      return true;
    }
    return std::ranges::any_of(all_, [&](const Contender& q) {
      return &q != &p && q.standing == p.standing && q.is_guess_usable &&
             is_cheaper(q, factor, p, *best_replicas);
    });
  }

  /// Whether q, with what it may be taken to serve, costs less than so many replicas of p.
  [[nodiscard]] bool is_cheaper(const Contender& q,
                                double factor,
                                const Contender& p,
                                std::int64_t replicas_of_p) const {
    const bool is_known = q.runs_of > 0 && q.capacity.load > 0.0;
    const double low = is_known ? q.capacity.load * core::exp(-z_of(all_.size()) * q.capacity.sd)
                                : q.guess / factor;
    const auto replicas = q.rules.fewest(low);
    if (!replicas) {
      return false;
    }
    return costs_less(q, *replicas, p, replicas_of_p);
  }

  core::Result<bool> run_rung(const std::vector<std::size_t>& which, std::int64_t requests) {
    std::vector<core::Result<std::optional<Capacity>>> found(which.size(), std::nullopt);
    std::mutex mutex;
    std::int64_t done = 0;
    const auto all = static_cast<std::int64_t>(which.size());
    core::for_each_job(which.size(), options_.jobs, [&](std::size_t i) {
      if (interrupt_) {
        return;
      }
      found[i] = evaluate_(all_[which[i]], requests);
      const std::lock_guard lock(mutex);
      ++done;
      if (options_.progress) {
        options_.progress(requests, done, all);
      }
    });
    for (std::size_t i = 0; i < which.size(); ++i) {
      if (!found[i]) {
        return core::fail(std::move(found[i]).error());
      }
      if (!*found[i]) {
        continue;  // Interrupted: what the last rung found stands.
      }
      Contender& contender = all_[which[i]];
      const std::int64_t before = contender.capacity.requests;
      contender.capacity = std::move(**found[i]);
      contender.capacity.requests += before;
      contender.runs_of = requests;
      if (options_.reprice) {
        if (auto priced = options_.reprice(contender); !priced) {
          return core::fail(std::move(priced).error());
        }
      }
    }
    return !interrupt_;
  }

  void drop(std::int64_t requests) {
    const double z = z_of(alive());
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      Contender& p = all_[i];
      if (!p.alive) {
        continue;
      }
      if (p.capacity.limit == Limit::kNone) {
        if (requests >= kBelieved) {
          p.reason =
              p.is_sure ? "at no load it is sure to meet the targets" : "no load meets the targets";
          p.stage = fmt::format("{} requests", requests);
          out.push_back(i);
        }
        continue;
      }
      if (!p.rules.fewest(kGatewayGain * p.capacity.load * core::exp(z * p.capacity.sd))) {
        p.reason = "more replicas than the limits allow would be needed";
        p.stage = fmt::format("{} requests", requests);
        out.push_back(i);
        continue;
      }
      for (std::size_t j = 0; j < all_.size(); ++j) {
        const Contender& q = all_[j];
        if (j != i && q.standing == p.standing && q.alive && q.capacity.load > 0.0 &&
            is_beaten(p, q, z)) {
          p.reason = "costs more than another wherever both lie in their paired interval";
          p.stage = fmt::format("{} requests", requests);
          p.beaten_by = j;
          out.push_back(i);
          break;
        }
      }
    }
    for (const std::size_t i : out) {
      all_[i].alive = false;
    }
  }

  std::vector<Contender>& all_;
  const Evaluate& evaluate_;
  const RaceOptions& options_;
  const std::atomic<bool>& interrupt_;
};

}  // namespace

std::optional<std::int64_t> ReplicaRules::at_least(std::int64_t replicas) const {
  std::int64_t found = replicas;
  if (!allowed.empty()) {
    const auto next = std::ranges::lower_bound(allowed, replicas);
    if (next == allowed.end()) {
      return std::nullopt;
    }
    found = *next;
  }
  return found <= most ? std::optional(found) : std::nullopt;
}

std::int64_t ReplicaRules::highest() const {
  const auto above = std::ranges::upper_bound(allowed, most);
  return above == allowed.begin() ? most : *(above - 1);
}

std::optional<std::int64_t> ReplicaRules::fewest(double capacity) const {
  if (!(capacity > 0.0)) {
    return std::nullopt;
  }
  const double needed = std::ceil(load / capacity);
  if (needed > core::real(most)) {
    return std::nullopt;
  }
  return at_least(std::max<std::int64_t>(1, static_cast<std::int64_t>(needed)) + spare);
}

double paired_sd(const Contender& p, const Contender& q) {
  const bool by_batches = p.runs_of == q.runs_of && !p.capacity.parts.empty() &&
                          p.capacity.parts.size() == q.capacity.parts.size();
  if (!by_batches) {
    return std::sqrt(p.capacity.sd * p.capacity.sd + q.capacity.sd * q.capacity.sd);
  }
  std::vector<double> differences(p.capacity.parts.size());
  for (std::size_t i = 0; i < differences.size(); ++i) {
    differences[i] = p.capacity.parts[i] - q.capacity.parts[i];
  }
  return std::max(sd_of_mean(differences).value_or(0.0), kPairedShare * expected_sd(p.runs_of));
}

bool is_beaten(const Contender& p, const Contender& q, double z) {
  const double log_p = core::log(p.capacity.load) + z * paired_sd(p, q);
  const double log_q = core::log(q.capacity.load);
  const double width = z * q.capacity.sd;
  const auto most = q.rules.fewest(core::exp(log_q - width));
  const auto least = q.rules.fewest(core::exp(log_q + width));
  if (!most || !least) {
    return false;
  }
  // For each number of replicas that q may need, the most that its capacity can then be.
  for (std::int64_t k = *least; k <= *most; ++k) {
    const std::int64_t serving = k - q.rules.spare;
    double shift = width;
    if (k > *least && serving > 1) {
      shift = std::min(width, core::log(q.rules.load / core::real(serving - 1)) - log_q);
    }
    const auto replicas = p.rules.fewest(core::exp(log_p + shift));
    if (!replicas) {
      continue;
    }
    if (!costs_less(q, k, p, *replicas)) {
      return false;
    }
  }
  return true;
}

core::Result<bool> race(std::vector<Contender>& contenders,
                        const Evaluate& evaluate,
                        const RaceOptions& options,
                        const std::atomic<bool>& interrupt) {
  return Race(contenders, evaluate, options, interrupt).run();
}

}  // namespace ridgeline::plan
