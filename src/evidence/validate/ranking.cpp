#include "evidence/validate/ranking.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "accuracy/bands.hpp"
#include "core/distributions.hpp"
#include "core/math.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/scores.hpp"
#include "statistics/quantiles.hpp"

namespace ridgeline::evidence::validate {
namespace {

/// Standard deviation of a normal law over its median absolute deviation.
constexpr double kNormalOverMedian = 1.4826;
/// Fewer records alike say too little.
constexpr std::ptrdiff_t kFewestRecords = 8;
/// Below, residuals would say that a prediction cannot err.
constexpr double kLeastSpread = 1e-6;

struct Times {
  double ttft_ms = 0.0;
  double tpot_ms = 0.0;
};

struct Point {
  std::size_t group = 0;
  std::string deployment;
  accuracy::Question likeness;
  bool scored = false;
  Times measured;
  Times predicted;
  double measured_cost = 0.0;  ///< Per token, relative.
  double predicted_cost = 0.0;
  Times spread;  ///< Of log(measured / predicted).

  [[nodiscard]] bool holds(const Times& limits) const {
    return measured.ttft_ms <= limits.ttft_ms && measured.tpot_ms <= limits.tpot_ms;
  }
};

std::optional<Times> times_of(const Figures& figures) {
  const auto& ttft = figures.at(Figure::kTtft, Level::kMean);
  const auto& tpot = figures.at(Figure::kTpot, Level::kMean);
  return ttft && tpot ? std::optional(Times{.ttft_ms = *ttft, .tpot_ms = *tpot}) : std::nullopt;
}

double cost_of(const Evidence& evidence, const std::string& gpu, const Times& times) {
  const double gpus = static_cast<double>(evidence.tensor_parallel * evidence.pipeline_parallel *
                                          evidence.data_parallel);
  const double answer = evidence.output.mean;
  const double tokens = static_cast<double>(evidence.stages.front().concurrency) * answer;
  return relative_price(gpu) * gpus * (times.ttft_ms + times.tpot_ms * (answer - 1.0)) / tokens;
}

struct Group {
  std::string name;
  std::vector<std::size_t> points;
};

class Ranker {
 public:
  explicit Ranker(const std::vector<ScoredRecord>& records) {
    for (const ScoredRecord& record : records) {
      add(record);
    }
    for (Point& point : points_) {
      point.spread = spread_of(point);
    }
  }

  Ranking run() {
    Ranking ranking;
    for (std::size_t i = 0; i < kSureBins; ++i) {
      constexpr double kWidth = 0.5 / kSureBins;
      ranking.bins[i].from = 0.5 + kWidth * static_cast<double>(i);
      ranking.bins[i].to = ranking.bins[i].from + kWidth;
    }
    for (const double confidence : kConfidences) {
      RankingAt at{.confidence = confidence, .groups = {}, .all = {.group = "all"}};
      std::vector<double> all_regrets;
      for (const Group& group : groups_) {
        if (group.points.size() < kFewestPoints) {
          continue;
        }
        std::vector<double> regrets;
        at.groups.push_back(ask(group, confidence, regrets, ranking));
        all_regrets.insert(all_regrets.end(), regrets.begin(), regrets.end());
        add_to(at.all, at.groups.back());
      }
      summarise(at.all, std::move(all_regrets));
      ranking.by_confidence.push_back(std::move(at));
    }
    for (SureBin& bin : ranking.bins) {
      const double n = std::max(1.0, static_cast<double>(bin.picks));
      bin.said /= n;
      bin.held /= n;
    }
    ranking.small_groups = std::ranges::count_if(
        groups_, [](const Group& group) { return group.points.size() < kFewestPoints; });
    return ranking;
  }

 private:
  void add(const ScoredRecord& record) {
    const Evidence& evidence = record.evidence;
    const auto measured = times_of(evidence.measured);
    const auto predicted =
        record.prediction ? times_of(record.prediction->figures) : std::optional<Times>();
    if (!measured || !predicted || evidence.stages.size() != 1 ||
        evidence.stages.front().kind != StageLoad::Kind::kClosed || evidence.old_engine ||
        evidence.fleet || record.standing == Standing::kContradicted) {
      return;
    }
    const std::string name =
        fmt::format("{} {} {}", evidence.model, evidence.precision, evidence.workload);
    auto group = std::ranges::find(groups_, name, &Group::name);
    if (group == groups_.end()) {
      group = groups_.insert(group, Group{.name = name, .points = {}});
    }
    group->points.push_back(points_.size());
    const std::string& gpu =
        record.prediction->likeness[static_cast<std::size_t>(accuracy::Axis::kGpu)];
    points_.push_back({.group = static_cast<std::size_t>(group - groups_.begin()),
                       .deployment = fmt::format("{} TP{} PP{} DP{} EP{}",
                                                 gpu,
                                                 evidence.tensor_parallel,
                                                 evidence.pipeline_parallel,
                                                 evidence.data_parallel,
                                                 evidence.expert_parallel),
                       .likeness = record.prediction->likeness,
                       .scored = record.standing == Standing::kScored,
                       .measured = *measured,
                       .predicted = *predicted,
                       .measured_cost = cost_of(evidence, gpu, *measured),
                       .predicted_cost = cost_of(evidence, gpu, *predicted),
                       .spread = {}});
  }

  [[nodiscard]] Times spread_of(const Point& point) const {
    const auto alike = [&](const Point& other) {
      using accuracy::Axis;
      return std::ranges::all_of(std::array{Axis::kNetwork, Axis::kLoop, Axis::kEngine},
                                 [&](Axis axis) {
                                   const auto i = static_cast<std::size_t>(axis);
                                   return point.likeness[i] == other.likeness[i];
                                 });
    };
    const auto residuals = [&](bool of_slice) {
      std::array<std::vector<double>, 2> found;
      for (const Point& other : points_) {
        if (other.group != point.group && other.scored && (!of_slice || alike(other))) {
          found[0].push_back(std::abs(core::log(other.measured.ttft_ms / other.predicted.ttft_ms)));
          found[1].push_back(std::abs(core::log(other.measured.tpot_ms / other.predicted.tpot_ms)));
        }
      }
      return found;
    };
    auto found = residuals(true);
    if (std::ssize(found[0]) < kFewestRecords) {
      found = residuals(false);
    }
    const auto spread = [](std::vector<double>& sizes) {
      std::ranges::sort(sizes);
      return sizes.empty() ? std::numeric_limits<double>::infinity()
                           : std::max(kLeastSpread,
                                      kNormalOverMedian * statistics::sorted_quantile(sizes, 0.5));
    };
    return {.ttft_ms = spread(found[0]), .tpot_ms = spread(found[1])};
  }

  /// How sure it is that a point meets both limits.
  [[nodiscard]] static double sure(const Point& point, const Times& limits) {
    const auto below = [](double limit, double predicted, double spread) {
      return core::normal_cdf(core::log(limit / predicted) / spread);
    };
    return below(limits.ttft_ms, point.predicted.ttft_ms, point.spread.ttft_ms) *
           below(limits.tpot_ms, point.predicted.tpot_ms, point.spread.tpot_ms);
  }

  RankingRow ask(const Group& group,
                 double confidence,
                 std::vector<double>& regrets,
                 Ranking& ranking) const {
    RankingRow row{.group = group.name, .points = std::ssize(group.points)};
    std::vector<std::string> deployments;
    for (const std::size_t i : group.points) {
      deployments.push_back(points_[i].deployment);
    }
    std::ranges::sort(deployments);
    row.deployments = std::ranges::unique(deployments).begin() - deployments.begin();
    for (const double tpot : kTpotLimits) {
      for (const double ttft : kTtftLimits) {
        answer(group, {.ttft_ms = ttft, .tpot_ms = tpot}, confidence, row, regrets, ranking);
      }
    }
    summarise(row, regrets);
    return row;
  }

  void answer(const Group& group,
              const Times& limits,
              double confidence,
              RankingRow& row,
              std::vector<double>& regrets,
              Ranking& ranking) const {
    const Point* pick = nullptr;
    const Point* best = nullptr;
    for (const std::size_t i : group.points) {
      const Point& point = points_[i];
      if (sure(point, limits) >= confidence &&
          (pick == nullptr || point.predicted_cost < pick->predicted_cost)) {
        pick = &point;
      }
      if (point.holds(limits) && (best == nullptr || point.measured_cost < best->measured_cost)) {
        best = &point;
      }
    }
    if (pick == nullptr || best == nullptr) {
      row.one_sided += pick != best ? 1 : 0;
      return;
    }
    ++row.picks;
    if (!pick->holds(limits)) {
      ++row.violations;
      row.worst_over_pct = std::max(row.worst_over_pct,
                                    100.0 * (std::max(pick->measured.ttft_ms / limits.ttft_ms,
                                                      pick->measured.tpot_ms / limits.tpot_ms) -
                                             1.0));
    }
    regrets.push_back(std::max(0.0, 100.0 * (pick->measured_cost / best->measured_cost - 1.0)));
    const double said = sure(*pick, limits);
    constexpr double kHalf = 0.5;
    const auto place = static_cast<std::size_t>((said - kHalf) / kHalf * kSureBins);
    SureBin& bin = ranking.bins[std::min(kSureBins - 1, place)];
    ++bin.picks;
    bin.said += said;
    bin.held += pick->holds(limits) ? 1.0 : 0.0;
  }

  static void add_to(RankingRow& all, const RankingRow& row) {
    all.points += row.points;
    all.deployments += row.deployments;
    all.picks += row.picks;
    all.violations += row.violations;
    all.one_sided += row.one_sided;
    all.worst_over_pct = std::max(all.worst_over_pct, row.worst_over_pct);
  }

  static void summarise(RankingRow& row, std::vector<double> regrets) {
    if (regrets.empty()) {
      return;
    }
    std::ranges::sort(regrets);
    for (const double regret : regrets) {
      row.mean_regret_pct += regret / static_cast<double>(regrets.size());
    }
    constexpr double kNineTenths = 0.9;
    row.p90_regret_pct = statistics::sorted_quantile(regrets, kNineTenths);
    row.max_regret_pct = regrets.back();
  }

  std::vector<Point> points_;
  std::vector<Group> groups_;
};

}  // namespace

bool SureBin::calibrated() const {
  return picks == 0 || std::abs(held - said) <= kCalibrated;
}

double relative_price(const std::string& gpu) {
  // Owner's cost at a hyperscaler, $ per hour: H100 1.30, B200 1.95, GB200 2.21, MI300X 1.12,
  // MI325X 1.28, MI355X 1.48.
  static constexpr auto kPrices =
      std::to_array<std::pair<std::string_view, double>>({{"h100", 1.0},
                                                          {"h200", 1.2},
                                                          {"b200", 1.5},
                                                          {"gb200", 1.7},
                                                          {"mi300x", 0.86},
                                                          {"mi325x", 0.98},
                                                          {"mi355x", 1.14}});
  const auto* const known =
      std::ranges::find(kPrices, gpu, &std::pair<std::string_view, double>::first);
  return known == kPrices.end() ? 1.0 : known->second;
}

Ranking rank(const std::vector<ScoredRecord>& records) {
  return Ranker(records).run();
}

}  // namespace ridgeline::evidence::validate
