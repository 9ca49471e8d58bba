#include "plan/capacity.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/math.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "plan/share.hpp"
#include "plan/target.hpp"
#include "scenario/resolve.hpp"

namespace ridgeline::plan {
namespace {

/// Slope of the margin over log load where nothing is known yet: between those of TTFT (3 to 5) and
/// TPOT (22 to 29) at 16 requests per second (planner.md, section 5: 0.15 to 0.3, and 1.4 to 1.8,
/// per request per second).
constexpr double kUsualSlope = 8.0;
constexpr double kLeastSlope = 0.5;
/// Share of the highest load: below it a server is as good as empty, and a target that is missed
/// there is missed at any load.
constexpr double kEmptyShare = 1e-4;
/// Steps in log load while the root lies on one side: doubled each time, so that eight cover a
/// factor of 10^16.
constexpr double kFirstStep = 0.15;
/// A bracket is halved at least so far each time.
constexpr double kLeastPart = 0.1;
/// Share of the deviation that runs of this length have anyway: nearer to the root is not worth a
/// run.
constexpr double kNearShare = 0.15;
constexpr double kNearest = 0.002;
/// From so many batches on their variance is known well enough (planner.md, section 6: 20; 16 at
/// 32,000 requests in batches of 2,000).
constexpr std::size_t kEnoughBatches = 16;
/// Error of the saturated throughput as the fluid estimate has it, where it is the limit
/// (planner.md, section 5: -0.2 to -3 % of mean TPOT up to 80 % of saturation).
constexpr double kSaturationSd = 0.02;
/// Requests of a batch, at least; and batches of a run, at most (planner.md, section 6).
constexpr std::int64_t kLeastBatch = 2'000;
constexpr std::int64_t kMostBatches = 20;
/// Requests of each client of a closed loop, at least: the first ones come all at once.
constexpr std::int64_t kRoundsOfClients = 10;

/// A point of the search.
struct Seen {
  double x = 0.0;  ///< log load
  Evaluation found;
  double cycle_s = 0.0;  ///< As ShareRun.
};

/// The margins made not to fall over the load: neighbours that contradict each other are pooled.
void make_isotonic(std::vector<Seen>& seen) {
  struct Pool {
    double sum;
    double count;
    [[nodiscard]] double mean() const { return sum / count; }
  };
  std::vector<Pool> pools;
  for (const Seen& one : seen) {
    pools.push_back({.sum = one.found.margin, .count = 1.0});
    while (pools.size() > 1 && pools[pools.size() - 2].mean() > pools.back().mean()) {
      const Pool last = pools.back();
      pools.pop_back();
      pools.back().sum += last.sum;
      pools.back().count += last.count;
    }
  }
  std::size_t at = 0;
  for (const Pool& pool : pools) {
    for (double i = 0.0; i < pool.count; i += 1.0) {
      seen[at++].found.margin = pool.mean();
    }
  }
}

class Search {
 public:
  Search(const scenario::Resolved& resolved,
         const Targets& targets,
         const CapacityOptions& options,
         const std::atomic<bool>& interrupt)
      : resolved_(resolved),
        targets_(targets),
        options_(options),
        interrupt_(interrupt),
        near_(std::max(kNearest, kNearShare * expected_sd(options.requests))) {}

  core::Result<std::optional<Capacity>> run() {
    const double ceiling = core::log(
        options_.is_closed_loop ? std::max(1.0, std::floor(options_.ceiling)) : options_.ceiling);
    const double floor = std::min(ceiling, core::log(lowest()));
    double x = std::clamp(core::log(options_.guess), floor, ceiling);
    double step = kFirstStep;
    int left = kMostEvaluations;
    int far_left = kMostFarEvaluations;
    while (left > 0) {
      if (auto done = evaluate(x); !done) {
        return core::fail(std::move(done).error());
      }
      if (interrupt_) {
        return std::nullopt;
      }
      --left;
      const Seen* low = below();
      const Seen* high = above();
      if (low != nullptr && low->x >= ceiling) {
        return finish(Limit::kUtilisation);
      }
      if (high != nullptr && high->x <= floor) {
        return finish(Limit::kNone);
      }
      if (low != nullptr && high != nullptr) {
        if (are_near(*low, *high)) {
          break;
        }
        x = next_between(*low, *high);
        continue;
      }
      const Seen& nearest = low != nullptr ? *low : *high;
      if (!options_.is_closed_loop && is_near(nearest)) {
        break;
      }
      // Further away: not at the cost of the search near the root.
      if (left == 1 && far_left > 0) {
        ++left;
        --far_left;
      }
      const double wanted = -nearest.found.margin / slope_near(nearest.x);
      x = nearest.x + std::clamp(wanted * kOvershoot, -step, step);
      if (options_.is_closed_loop) {
        // One client at least is a step.
        x = low != nullptr ? std::max(x, core::log(nearest.found.load + 1.0))
                           : std::min(x, core::log(std::max(1.0, nearest.found.load - 1.0)));
      }
      x = std::clamp(x, floor, ceiling);
      step *= 2.0;
    }
    return finish(below() == nullptr && !is_near(*above()) ? Limit::kNone : Limit::kTarget);
  }

 private:
  /// Below it no load is looked for.
  [[nodiscard]] double lowest() const {
    const double share = kEmptyShare * options_.ceiling;
    if (options_.is_closed_loop) {
      return std::max(1.0, share);
    }
    // A run ends within what simulated time can say, with half to spare.
    const double longest = core::SimTime::last().to_seconds() / 2.0;
    return std::max(share, core::real(options_.requests) / longest);
  }

  /// So that the next load lies on the other side of the root.
  static constexpr double kOvershoot = 1.1;

  core::Result<void> evaluate(double x) {
    double load = core::exp(x);
    std::int64_t requests = options_.requests;
    std::int64_t batch = std::max(kLeastBatch, requests / kMostBatches);
    if (options_.is_closed_loop) {
      load = std::max(1.0, std::round(load));
      x = core::log(load);
      const auto clients = static_cast<std::int64_t>(load);
      requests = std::max(requests, kRoundsOfClients * clients);
      batch = std::max(clients, requests / kMostBatches);
    }
    auto run = run_share(resolved_,
                         targets_,
                         {.load = load,
                          .requests = requests,
                          .batch = batch,
                          .seed = options_.seed,
                          .trace_rate = options_.trace_rate,
                          .warm_up = options_.warm_up},
                         interrupt_);
    if (!run) {
      return core::fail(std::move(run).error());
    }
    Evaluation found{.load = load, .margin = -HUGE_VAL, .target = 0};
    for (std::size_t i = 0; i < targets_.size(); ++i) {
      const double margin = margin_of(targets_[i], run->targets[i].total());
      if (margin > found.margin) {
        found.margin = margin;
        found.target = i;
      }
    }
    requests_ += run->requests;
    const bool is_nearest = std::ranges::all_of(seen_, [&](const Seen& other) {
      return std::abs(found.margin) < std::abs(other.found.margin);
    });
    if (is_nearest) {
      nearest_ = std::move(run->targets[found.target]);
      nearest_target_ = found.target;
      overloaded_ = run->overloaded;
      power_ = run->summary.power;
    }
    seen_.push_back({.x = x, .found = found, .cycle_s = run->mean_cycle_s});
    in_order_.push_back(found);
    std::ranges::stable_sort(seen_, {}, &Seen::x);
    return {};
  }

  /// The highest load that meets the targets below the lowest that does not, and that.
  [[nodiscard]] const Seen* below() const {
    const Seen* found = nullptr;
    for (const Seen& one : seen_) {
      if (one.found.margin > 0.0) {
        break;
      }
      found = &one;
    }
    return found;
  }
  [[nodiscard]] const Seen* above() const {
    const auto first =
        std::ranges::find_if(seen_, [](const Seen& one) { return one.found.margin > 0.0; });
    return first == seen_.end() ? nullptr : &*first;
  }

  [[nodiscard]] double slope_near(double x) const {
    const Seen* left = nullptr;
    const Seen* right = nullptr;
    for (const Seen& one : seen_) {
      if (one.x <= x) {
        left = left == nullptr || one.x < x ? &one : left;
      }
      if (one.x > x && right == nullptr) {
        right = &one;
      }
    }
    // The two neighbours on the root's side, else those on the other.
    double slope = options_.slope > 0.0 ? options_.slope : kUsualSlope;
    if (seen_.size() > 1) {
      const Seen* one = right != nullptr ? left : &seen_[seen_.size() - 2];
      const Seen* other = right != nullptr ? right : &seen_.back();
      const double width = other->x - one->x;
      if (width > 0.0) {
        slope = (other->found.margin - one->found.margin) / width;
      }
    }
    return std::max(slope, kLeastSlope);
  }

  [[nodiscard]] bool is_near(const Seen& one) const {
    return std::abs(one.found.margin) <= near_ * slope_near(one.x);
  }

  /// Between neighbouring numbers of clients there is none, and the run of the one that meets the
  /// targets is the answer.
  [[nodiscard]] bool are_near(const Seen& low, const Seen& high) const {
    if (options_.is_closed_loop) {
      return high.found.load - low.found.load <= std::max(1.0, near_ * low.found.load);
    }
    return high.x - low.x <= near_ || is_near(low) || is_near(high);
  }

  /// By false position; a side that stays twice counts half (the Illinois rule), since the largest
  /// of several margins bends.
  double next_between(const Seen& low, const Seen& high) {
    low_weight_ = low.x == last_low_ ? low_weight_ / 2.0 : 1.0;
    high_weight_ = high.x == last_high_ ? high_weight_ / 2.0 : 1.0;
    last_low_ = low.x;
    last_high_ = high.x;
    const double below = -low.found.margin * low_weight_;
    const double part = below / (below + high.found.margin * high_weight_);
    const double x = low.x + (high.x - low.x) * std::clamp(part, kLeastPart, 1.0 - kLeastPart);
    if (!options_.is_closed_loop) {
      return x;
    }
    return core::log(
        std::clamp(std::round(core::exp(x)), low.found.load + 1.0, high.found.load - 1.0));
  }

  Capacity finish(Limit limit) {
    Capacity capacity = find(limit);
    capacity.requests_per_second = capacity.load;
    if (options_.is_closed_loop && capacity.load > 0.0) {
      // Clients in flight by the time of each: of the run nearest to them.
      const auto nearest = std::ranges::min_element(
          seen_, {}, [&](const Seen& one) { return std::abs(one.found.load - capacity.load); });
      capacity.requests_per_second = nearest->found.load / nearest->cycle_s;
    }
    return capacity;
  }

  Capacity find(Limit limit) {
    Capacity capacity;
    capacity.limit = limit;
    capacity.target = nearest_target_;
    capacity.requests = requests_;
    capacity.evaluations = in_order_;
    capacity.unstable = overloaded_;
    capacity.power = power_;
    if (limit == Limit::kNone) {
      return capacity;
    }
    if (limit == Limit::kUtilisation) {
      capacity.load = in_order_.back().load;
      capacity.sd = options_.is_closed_loop ? 0.0 : kSaturationSd;
      return capacity;
    }
    make_isotonic(seen_);
    const Seen* low = below();
    const Seen* high = above();
    const Seen& nearest = low == nullptr ? *high
                          : high == nullptr
                              ? *low
                              : *std::ranges::min_element(seen_, {}, [](const Seen& one) {
                                  return std::abs(one.found.margin);
                                });
    double x = nearest.x;
    capacity.slope = slope_near(nearest.x);
    if (low != nullptr && high != nullptr && high->x > low->x) {
      x = low->x +
          (high->x - low->x) * (-low->found.margin) / (high->found.margin - low->found.margin);
      capacity.slope =
          std::max(kLeastSlope, (high->found.margin - low->found.margin) / (high->x - low->x));
    } else {
      x -= nearest.found.margin / capacity.slope;
    }
    capacity.load = std::min(core::exp(x), options_.ceiling);
    if (options_.is_closed_loop) {
      constexpr double kRounding = 1e-9;
      capacity.load = std::max(low == nullptr ? 1.0 : low->found.load,
                               std::floor(capacity.load * (1.0 + kRounding)));
    }
    capacity.parts = influences(targets_[nearest_target_], nearest_);
    for (double& part : capacity.parts) {
      part /= -capacity.slope;
    }
    const double of_batches = sd_of_mean(capacity.parts).value_or(0.0);
    // What expected_sd() says was measured where requests come at random.
    capacity.sd = options_.is_closed_loop || capacity.parts.size() >= kEnoughBatches
                      ? std::max(of_batches, kNearest)
                      : std::max(of_batches, expected_sd(options_.requests));
    return capacity;
  }

  const scenario::Resolved& resolved_;
  const Targets& targets_;
  const CapacityOptions& options_;
  const std::atomic<bool>& interrupt_;
  double near_;
  std::vector<Seen> seen_;  ///< By load.
  std::vector<Evaluation> in_order_;
  TargetCounts nearest_;
  std::size_t nearest_target_ = 0;
  bool overloaded_ = false;
  std::optional<metrics::PowerSummary> power_;
  std::int64_t requests_ = 0;
  double last_low_ = -HUGE_VAL;
  double last_high_ = HUGE_VAL;
  double low_weight_ = 1.0;
  double high_weight_ = 1.0;
};

}  // namespace

double expected_sd(std::int64_t requests) {
  // 10 % at 2,000 requests; the power meets the other three within a tenth of each.
  constexpr double kAt2000 = 0.10;
  constexpr double kPower = -0.37;
  return kAt2000 * core::pow(core::real(requests) / 2'000.0, kPower);
}

core::Result<std::optional<Capacity>> find_capacity(const scenario::Resolved& resolved,
                                                    const Targets& targets,
                                                    const CapacityOptions& options,
                                                    const std::atomic<bool>& interrupt) {
  return Search(resolved, targets, options, interrupt).run();
}

}  // namespace ridgeline::plan
