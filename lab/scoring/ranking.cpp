#include "lab/scoring/ranking.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/math.hpp"
#include "core/statistics/quantiles.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/scores.hpp"
#include "lab/scoring/evidence_words.hpp"
#include "lab/scoring/left_out_bands.hpp"
#include "latency/accuracy/bands.hpp"

namespace ridgeline::scoring {
namespace {

struct Times {
  double ttft_ms = 0.0;
  double tpot_ms = 0.0;
};

struct Point {
  std::size_t group = 0;
  std::string deployment;
  accuracy::Question server;  ///< Whose bands leave it out.
  Times measured;
  Times predicted;
  double measured_cost = 0.0;  ///< Per token, relative.
  double predicted_cost = 0.0;
  std::optional<accuracy::Band> ttft;  ///< Errors of other deployments; nothing where it has none.
  std::optional<accuracy::Band> tpot;

  [[nodiscard]] bool holds(const Times& limits) const {
    return measured.ttft_ms <= limits.ttft_ms && measured.tpot_ms <= limits.tpot_ms;
  }
};

std::optional<Times> times_of(const Figures& figures) {
  const auto& ttft = figures.at(Figure::kTtft, Level::kMean);
  const auto& tpot = figures.at(Figure::kTpot, Level::kMean);
  return ttft && tpot ? std::optional(Times{.ttft_ms = *ttft, .tpot_ms = *tpot}) : std::nullopt;
}

/// Mean tokens of an answer: as stated, or (of a list of requests) by Little's law as simulated.
double answer_of(const Evidence& evidence, const Prediction& prediction) {
  const auto& rate = prediction.figures.at(Figure::kOutputThroughput, Level::kMean);
  const auto& e2e_ms = prediction.figures.at(Figure::kE2e, Level::kMean);
  constexpr double kMsPerSecond = 1000.0;
  return evidence.output.mean > 0.0 || !rate || !e2e_ms
             ? evidence.output.mean
             : *rate * *e2e_ms / kMsPerSecond / prediction.mean_in_flight;
}

double cost_of(const Evidence& evidence,
               const std::string& gpu,
               double answer,
               const Times& times) {
  const double gpus = static_cast<double>(evidence.tensor_parallel * evidence.pipeline_parallel *
                                          evidence.data_parallel);
  const double tokens = static_cast<double>(evidence.stages.front().concurrency) * answer;
  return relative_price(gpu) * gpus * (times.ttft_ms + times.tpot_ms * (answer - 1.0)) / tokens;
}

/// By deployment: how many of its picks held, of how many.
using Held = std::map<accuracy::Question, std::pair<double, double>>;

struct Group {
  std::string name;
  std::vector<std::size_t> points;
};

class Ranker {
 public:
  explicit Ranker(const std::vector<ScoredRecord>& records) {
    const auto left_out = bands_left_out(records);
    if (std::ranges::all_of(left_out, [](const auto& pair) { return pair.second.bands.empty(); })) {
      by_ = BandsOf::kShipped;
    }
    for (const ScoredRecord& record : records) {
      if (record.prediction) {
        const accuracy::Question group = accuracy::group_of(record.prediction->likeness);
        add(record, by_ == BandsOf::kShipped ? accuracy::bands() : left_out.at(group));
      }
    }
  }

  Ranking run() {
    Ranking ranking;
    ranking.by = by_;
    for (std::size_t i = 0; i < kSureBins; ++i) {
      ranking.bins[i].from = kSureEdges[i];
      ranking.bins[i].to = kSureEdges[i + 1];
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
    for (std::size_t i = 0; i < kSureBins; ++i) {
      summarise(ranking.bins[i], held_[i]);
    }
    ranking.without_band = std::ranges::count_if(
        points_, [](const Point& point) { return !point.ttft || !point.tpot; });
    ranking.small_groups = std::ranges::count_if(
        groups_, [](const Group& group) { return group.points.size() < kFewestPoints; });
    return ranking;
  }

 private:
  void add(const ScoredRecord& record, const accuracy::Bands& bands) {
    const Evidence& evidence = record.evidence;
    const Prediction& prediction = *record.prediction;
    const auto measured = times_of(evidence.measured);
    const auto predicted = times_of(prediction.figures);
    const double answer = answer_of(evidence, prediction);
    if (!measured || !predicted || !(answer > 0.0) || evidence.stages.size() != 1 ||
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
    const accuracy::Question& question = prediction.likeness;
    const std::string& gpu = question[static_cast<std::size_t>(accuracy::Axis::kGpu)];
    const auto band_of = [&](accuracy::Metric metric) {
      const auto error = accuracy::expected_error(bands, question, metric);
      return error && !prediction.bound ? std::optional(error->band) : std::nullopt;
    };
    points_.push_back({.group = static_cast<std::size_t>(group - groups_.begin()),
                       .deployment = fmt::format("{} TP{} PP{} DP{} EP{}",
                                                 gpu,
                                                 evidence.tensor_parallel,
                                                 evidence.pipeline_parallel,
                                                 evidence.data_parallel,
                                                 evidence.expert_parallel),
                       .server = accuracy::group_of(question),
                       .measured = *measured,
                       .predicted = *predicted,
                       .measured_cost = cost_of(evidence, gpu, answer, *measured),
                       .predicted_cost = cost_of(evidence, gpu, answer, *predicted),
                       .ttft = band_of(accuracy::Metric::kTtft),
                       .tpot = band_of(accuracy::Metric::kTpot)});
  }

  /// How sure it is that a point meets both limits.
  [[nodiscard]] static double sure(const Point& point, const Times& limits) {
    const auto below =
        [](const std::optional<accuracy::Band>& band, double limit, double predicted) {
          return band ? accuracy::probability_below(*band, core::log(limit / predicted)) : 0.0;
        };
    return std::min(below(point.ttft, limits.ttft_ms, point.predicted.ttft_ms),
                    below(point.tpot, limits.tpot_ms, point.predicted.tpot_ms));
  }

  RankingRow ask(const Group& group,
                 double confidence,
                 std::vector<double>& regrets,
                 Ranking& ranking) {
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
              Ranking& ranking) {
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
    row.one_sided += (pick == nullptr) != (best == nullptr) ? 1 : 0;
    if (pick == nullptr) {
      return;
    }
    const bool holds = pick->holds(limits);
    ++row.picks;
    if (!holds) {
      ++row.violations;
      row.worst_over_pct = std::max(row.worst_over_pct,
                                    100.0 * (std::max(pick->measured.ttft_ms / limits.ttft_ms,
                                                      pick->measured.tpot_ms / limits.tpot_ms) -
                                             1.0));
    }
    if (best != nullptr) {
      regrets.push_back(std::max(0.0, 100.0 * (pick->measured_cost / best->measured_cost - 1.0)));
    }
    const double said = sure(*pick, limits);
    std::size_t bin = 0;
    while (bin + 1 < kSureBins && said >= kSureEdges[bin + 1]) {
      ++bin;
    }
    ++ranking.bins[bin].picks;
    ranking.bins[bin].said += said;
    auto& [held, all] = held_[bin][pick->server];
    held += holds ? 1.0 : 0.0;
    all += 1.0;
  }

  static void add_to(RankingRow& all, const RankingRow& row) {
    all.points += row.points;
    all.deployments += row.deployments;
    all.picks += row.picks;
    all.violations += row.violations;
    all.one_sided += row.one_sided;
    all.worst_over_pct = std::max(all.worst_over_pct, row.worst_over_pct);
  }

  static void summarise(SureBin& bin, const Held& held) {
    bin.deployments = std::ssize(held);
    const double n = static_cast<double>(bin.picks);
    for (const auto& [server, share] : held) {
      bin.held += share.first / n;
      bin.held_by_deployment += share.first / share.second / static_cast<double>(bin.deployments);
    }
    bin.said /= std::max(1.0, n);
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
  BandsOf by_ = BandsOf::kLeftOut;
  std::array<Held, kSureBins> held_;
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

}  // namespace ridgeline::scoring
