#include "lab/studies/llmd.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/math.hpp"
#include "core/parallel.hpp"
#include "core/result.hpp"
#include "lab/records/campaign.hpp"
#include "lab/studies/lab.hpp"
#include "lab/studies/ladder.hpp"
#include "lab/studies/llmd_evidence.hpp"
#include "lab/studies/pairings.hpp"
#include "lab/studies/study.hpp"
#include "routing/registry.hpp"

namespace ridgeline::studies {
namespace {

/// Each stage was measured once; what is predicted is the mean of so many histories.
constexpr std::uint64_t kHistories = 3;
/// A predicted throughput is right within this share of the measured one ...
constexpr double kTolerance = 0.15;
/// ... and the study's throughputs are where this share of them is.
constexpr double kMostRows = 0.8;
/// Throughputs nearer than this were measured equal: each stage was run once.
constexpr double kEqual = 0.10;
/// The strategy that follows load alone, and how seldom its gauges may have been read; the first is
/// the router's default.
constexpr const char* kByLoad = "load";
constexpr const char* kByChance = "random";
constexpr auto kIntervals = std::to_array<double>({0.05, 0.5, 1.0, 2.0, 4.0});
/// A stage whose requests wait longer than this in the mean is in overload, for that strategy.
constexpr double kFewSeconds = 5.0;
/// Two strategies at one rate whose measured throughputs differ.
struct Contest {
  double rate = 0.0;
  std::string faster;
  std::string slower;
  bool right = false;
};

std::vector<Contest> contests_of(const std::vector<Pairing>& pairings) {
  std::vector<Contest> contests;
  for (const Pairing& a : pairings) {
    for (const Pairing& b : pairings) {
      if (a.measured->rate == b.measured->rate &&
          a.measured->output_tokens_per_s > (1.0 + kEqual) * b.measured->output_tokens_per_s) {
        contests.push_back(
            {.rate = a.measured->rate,
             .faster = a.measured->strategy,
             .slower = b.measured->strategy,
             .right = a.predicted.output_tokens_per_s > b.predicted.output_tokens_per_s});
      }
    }
  }
  return contests;
}

StudyTable order_table(const char* name, const std::vector<Contest>& contests) {
  StudyTable table{.name = name, .rows = {}};
  for (const Contest& one : contests) {
    table.rows.push_back(row("rate",
                             one.rate,
                             "measured_faster",
                             one.faster,
                             "measured_slower",
                             one.slower,
                             "predicted_so",
                             one.right));
  }
  return table;
}

/// Rows whose throughput is within the tolerance.
std::int64_t within(const std::vector<Pairing>& pairings) {
  return std::ranges::count_if(
      pairings, [](const Pairing& one) { return std::abs(one.ratio() - 1.0) <= kTolerance; });
}

StudyTable throughput_table(const std::vector<Pairing>& pairings,
                            const std::vector<Pairing>& calibrated) {
  StudyTable table{.name = "throughput", .rows = {}};
  for (std::size_t i = 0; i < pairings.size(); ++i) {
    const Pairing& one = pairings[i];
    table.rows.push_back(row("rate",
                             one.measured->rate,
                             "strategy",
                             one.measured->strategy,
                             "overload",
                             !one.keeps_up(),
                             "predicted_over_measured",
                             one.ratio(),
                             "calibrated_over_measured",
                             calibrated[i].ratio(),
                             "measured_gap_s",
                             kStampsPerToken * one.measured->itl_mean_s,
                             "predicted_gap_s",
                             one.predicted.tpot_mean_s,
                             "calibrated_gap_s",
                             calibrated[i].predicted.tpot_mean_s));
  }
  return table;
}

/// The strategy by load alone, were the gauges read more seldom: rows without overload tell how old
/// they were.
struct GaugeAge {
  double interval_s = 0.0;
  std::vector<Pairing> pairings;

  /// Mean of |log(predicted / measured)| of the mean times to first token.
  [[nodiscard]] double distance() const {
    double sum = 0.0;
    for (const auto& [measured, predicted] : pairings) {
      sum += std::abs(core::log(predicted.ttft_mean_s / measured->ttft_mean_s));
    }
    return sum / static_cast<double>(pairings.size());
  }
};

/// Stage by stage, of histories of one ladder.
std::vector<LadderStage> mean_of(std::span<const std::vector<LadderStage>> histories) {
  const auto count = static_cast<std::int64_t>(histories.size());
  const auto many = static_cast<double>(count);
  std::vector<LadderStage> means(histories.front().size());
  for (std::size_t i = 0; i < means.size(); ++i) {
    LadderStage& mean = means[i];
    for (const std::vector<LadderStage>& history : histories) {
      const LadderStage& one = history[i];
      mean.sent += one.sent;
      mean.requests += one.requests;
      mean.output_tokens_per_s += one.output_tokens_per_s / many;
      mean.ttft_mean_s += one.ttft_mean_s / many;
      mean.ttft_p90_s += one.ttft_p90_s / many;
      mean.tpot_mean_s += one.tpot_mean_s / many;
      mean.cached_share += one.cached_share / many;
    }
    mean.sent /= count;
    mean.requests /= count;
  }
  return means;
}

/// The ladder of each strategy.
core::Result<std::vector<std::vector<LadderStage>>> simulate_all(
    const Campaign& campaign, const std::vector<Strategy>& strategies, std::int64_t threads) {
  const std::size_t jobs = strategies.size() * kHistories;
  std::vector<core::Result<std::vector<LadderStage>>> simulated(jobs);
  core::for_each_job(jobs, threads, [&](std::size_t job) {
    simulated[job] = simulate_ladder(campaign, strategies[job / kHistories], 1 + job % kHistories);
  });
  std::vector<std::vector<LadderStage>> histories;
  for (auto& ladder : simulated) {
    if (!ladder) {
      return core::fail(std::move(ladder).error());
    }
    histories.push_back(std::move(*ladder));
  }
  std::vector<std::vector<LadderStage>> ladders;
  for (std::size_t i = 0; i < strategies.size(); ++i) {
    ladders.push_back(mean_of(std::span(histories).subspan(i * kHistories, kHistories)));
  }
  return ladders;
}

/// The strategy, its gauges read so seldom. Chance reads none.
Strategy with_interval(Strategy strategy, double interval_s) {
  if (strategy.name != kByChance) {
    strategy.settings.push_back({.path = "cluster.gateway.refresh_metrics_interval",
                                 .text = fmt::format("{}s", interval_s)});
  }
  return strategy;
}

/// The strategies on instances whose steps take so much longer.
std::vector<Strategy> slowed(std::vector<Strategy> strategies, double factor) {
  for (Strategy& strategy : strategies) {
    strategy.settings.push_back(
        {.path = "cluster.faults",
         .text = fmt::format("{{kind: slowdown, share: 1, at: 0s, factor: {:.3f}}}", factor)});
  }
  return strategies;
}

core::Result<std::vector<GaugeAge>> age_gauges(const Campaign& campaign,
                                               const std::vector<Strategy>& known,
                                               std::int64_t threads) {
  const auto load = std::ranges::find(known, kByLoad, &Strategy::name);
  if (load == known.end()) {
    return std::vector<GaugeAge>();
  }
  std::vector<Strategy> strategies;
  for (const double interval : kIntervals) {
    strategies.push_back(with_interval(*load, interval));
  }
  const auto ladders = simulate_all(campaign, strategies, threads);
  if (!ladders) {
    return core::fail(ladders.error());
  }
  std::vector<GaugeAge> ages;
  for (std::size_t i = 0; i < kIntervals.size(); ++i) {
    auto pairings = pair_up(campaign, {*load}, {(*ladders)[i]});
    std::erase_if(pairings,
                  [](const Pairing& one) { return one.measured->ttft_mean_s >= kFewSeconds; });
    ages.push_back({.interval_s = kIntervals[i], .pairings = std::move(pairings)});
  }
  return ages;
}

StudyTable gauges_table(const std::vector<GaugeAge>& ages) {
  StudyTable table{.name = "gauges", .rows = {}};
  for (const GaugeAge& age : ages) {
    for (const auto& [measured, predicted] : age.pairings) {
      table.rows.push_back(row("interval_s",
                               age.interval_s,
                               "rate",
                               measured->rate,
                               "predicted_ttft_mean_s",
                               predicted.ttft_mean_s,
                               "measured_ttft_mean_s",
                               measured->ttft_mean_s,
                               "predicted_over_measured_tokens",
                               predicted.output_tokens_per_s / measured->output_tokens_per_s));
    }
  }
  return table;
}

/// What becomes of the campaign where every strategy's gauges are as old as those of load seem.
core::Result<void> add_gauge_age(const Campaign& campaign,
                                 const std::vector<Strategy>& strategies,
                                 std::int64_t threads,
                                 Outcome& out) {
  const auto ages = age_gauges(campaign, strategies, threads);
  if (!ages) {
    return core::fail(ages.error());
  }
  out.tables.push_back(gauges_table(*ages));
  if (ages->empty() || ages->front().pairings.empty()) {
    return {};
  }
  const auto best = std::ranges::min_element(*ages, {}, &GaugeAge::distance);
  std::vector<Strategy> aged;
  for (const Strategy& strategy : strategies) {
    aged.push_back(with_interval(strategy, best->interval_s));
  }
  const auto ladders = simulate_all(campaign, aged, threads);
  if (!ladders) {
    return core::fail(ladders.error());
  }
  const auto pairings = pair_up(campaign, strategies, *ladders);
  const auto contests = contests_of(pairings);
  out.tables.push_back(order_table("order_with_old_gauges", contests));
  out.finding += fmt::format(
      " Routing by load waits as measured, below overload, if gauges are read every {:g} s: a "
      "factor of {:.2f} off at the mean, and {:.2f} at the {:g} s of the router's default. With "
      "such gauges everywhere {} of {} pairs stand in the measured order, and {} of {} throughputs "
      "are within 15 %.",
      best->interval_s,
      core::exp(best->distance()),
      core::exp(ages->front().distance()),
      ages->front().interval_s,
      std::ranges::count(contests, true, &Contest::right),
      contests.size(),
      within(pairings),
      pairings.size());
  return {};
}

std::int64_t num_right(const std::vector<Contest>& contests) {
  return std::ranges::count(contests, true, &Contest::right);
}

void decide(const Campaign& campaign,
            const std::vector<Pairing>& raw,
            const std::vector<Pairing>& calibrated,
            Outcome& out) {
  const auto contests = contests_of(calibrated);
  const auto right = num_right(contests);
  const auto near = within(calibrated);
  const auto rows = static_cast<double>(calibrated.size());
  const bool order = right == std::ssize(contests);
  const bool level = static_cast<double>(near) >= kMostRows * rows;
  out.by_rule = order && level   ? Verdict::kConfirmed
                : order || level ? Verdict::kPartlyConfirmed
                                 : Verdict::kRefuted;
  std::set<double> wrong;
  for (const Contest& one : contests) {
    if (!one.right) {
      wrong.insert(one.rate);
    }
  }
  out.because = fmt::format(
      "{} of {} pairs of strategies that were measured apart stand in the measured order{}; {} of "
      "{} throughputs are within 15 %, on instances whose steps take {:.2f} times as long as "
      "predicted. As predicted: {} of {} pairs, {} throughputs",
      right,
      contests.size(),
      wrong.empty() ? "" : fmt::format(" (not at {}/s)", fmt::join(wrong, ", ")),
      near,
      calibrated.size(),
      step_factor(raw),
      num_right(contests_of(raw)),
      contests_of(raw).size(),
      within(raw));
  out.finding = evidence_of(campaign, raw);
}

}  // namespace

core::Result<Outcome> judge_campaign(const Campaign& campaign, const Lab& lab) {
  Outcome out;
  std::vector<Strategy> strategies;
  for (const Strategy& strategy : campaign.strategies) {
    const std::string& router = strategy.settings.front().text;
    if (routing::find_router(router)) {
      strategies.push_back(strategy);
    } else {
      out.skipped.push_back({.part = strategy.name, .needs = "a router " + router});
    }
  }
  const std::int64_t threads = lab.options().threads;
  const auto ladders = simulate_all(campaign, strategies, threads);
  if (!ladders) {
    return core::fail(ladders.error());
  }
  const auto raw = pair_up(campaign, strategies, *ladders);
  const auto slow = slowed(strategies, step_factor(raw));
  const auto slow_ladders = simulate_all(campaign, slow, threads);
  if (!slow_ladders) {
    return core::fail(slow_ladders.error());
  }
  const auto calibrated = pair_up(campaign, strategies, *slow_ladders);
  out.tables = {ladder_table(raw),
                order_table("order", contests_of(calibrated)),
                duration_table(campaign, raw),
                throughput_table(raw, calibrated)};
  decide(campaign, raw, calibrated, out);
  if (auto added = add_gauge_age(campaign, slow, threads, out); !added) {
    return core::fail(std::move(added).error());
  }
  return out;
}

}  // namespace ridgeline::studies
