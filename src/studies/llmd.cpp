#include "studies/llmd.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/math.hpp"
#include "core/parallel.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "routing/registry.hpp"
#include "studies/campaign.hpp"
#include "studies/lab.hpp"
#include "studies/ladder.hpp"
#include "studies/study.hpp"

namespace ridgeline::studies {
namespace {

constexpr std::uint64_t kSeed = 1;
/// A predicted throughput is right within this share of the measured one ...
constexpr double kTolerance = 0.15;
/// ... and the study's throughputs are where this share of them is.
constexpr double kMostRows = 0.8;
/// Throughputs nearer than this were measured equal: each stage was run once.
constexpr double kEqual = 0.10;
/// The strategy that follows load alone, and how seldom its gauges may have been read; the first is
/// the router's default.
constexpr const char* kByLoad = "load";
constexpr auto kIntervals = std::to_array<double>({0.05, 0.5, 1.0, 2.0, 4.0});
/// A stage whose requests wait longer than this in the mean is in overload, for that strategy.
constexpr double kFewSeconds = 5.0;
/// A stage whose slowest tenth waits less than this for the first token is no overload.
constexpr double kPromptly = 2.5;

/// A stage of a strategy, predicted and measured.
struct Pairing {
  const MeasuredStage* measured = nullptr;
  LadderStage predicted;

  [[nodiscard]] double ratio() const {
    return predicted.output_tokens_per_s / measured->output_tokens_per_s;
  }
  [[nodiscard]] bool keeps_up() const {
    return predicted.ttft_p90_s < kPromptly && measured->ttft_p90_s < kPromptly;
  }
};

/// Of the strategies simulated, by rate, then in the campaign's order of strategies.
std::vector<Pairing> pair_up(const Campaign& campaign,
                             const std::vector<Strategy>& strategies,
                             const std::vector<std::vector<LadderStage>>& ladders) {
  std::vector<Pairing> pairings;
  for (std::size_t stage = 0; stage < campaign.stages.size(); ++stage) {
    for (std::size_t i = 0; i < strategies.size(); ++i) {
      const double rate = campaign.stages[stage].rate;
      const MeasuredStage* row = campaign.find(strategies[i].name, rate);
      // The first stage only warms the caches; its rate may come again.
      if (row != nullptr && stage > 0) {
        pairings.push_back({.measured = row, .predicted = ladders[i][stage]});
      }
    }
  }
  std::ranges::stable_sort(pairings, {}, [](const Pairing& one) { return one.measured->rate; });
  return pairings;
}

StudyTable ladder_table(const std::vector<Pairing>& pairings) {
  StudyTable table{.name = "ladder", .rows = {}};
  for (const auto& [measured, predicted] : pairings) {
    table.rows.push_back(row("rate",
                             measured->rate,
                             "strategy",
                             measured->strategy,
                             "requests",
                             predicted.requests,
                             "predicted_tokens_per_s",
                             predicted.output_tokens_per_s,
                             "measured_tokens_per_s",
                             measured->output_tokens_per_s,
                             "predicted_ttft_mean_s",
                             predicted.ttft_mean_s,
                             "measured_ttft_mean_s",
                             measured->ttft_mean_s,
                             "predicted_ttft_p90_s",
                             predicted.ttft_p90_s,
                             "measured_ttft_p90_s",
                             measured->ttft_p90_s,
                             "predicted_tpot_s",
                             predicted.tpot_mean_s,
                             "measured_itl_s",
                             measured->itl_mean_s,
                             "cached_share",
                             predicted.cached_share));
  }
  return table;
}

/// How long a stage took, by each of its published figures and by ours. They would agree if its
/// clients counted every token.
StudyTable duration_table(const Campaign& campaign, const std::vector<Pairing>& pairings) {
  StudyTable table{.name = "duration", .rows = {}};
  for (const Pairing& one : pairings) {
    const MeasuredStage& measured = *one.measured;
    const auto requests = static_cast<double>(one.predicted.requests);
    const auto answer = static_cast<double>(campaign.output_tokens);
    table.rows.push_back(row("rate",
                             measured.rate,
                             "strategy",
                             measured.strategy,
                             "by_measured_throughput_s",
                             requests * answer / measured.output_tokens_per_s,
                             "by_measured_ttft_and_itl_s",
                             requests / measured.arrivals_per_s + measured.ttft_mean_s +
                                 (answer - 1.0) * measured.itl_mean_s,
                             "predicted_s",
                             requests * answer / one.predicted.output_tokens_per_s));
  }
  return table;
}

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

StudyTable order_table(const std::vector<Contest>& contests) {
  StudyTable table{.name = "order", .rows = {}};
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

/// Rows whose throughput, times a factor, is within the tolerance.
std::int64_t within(const std::vector<Pairing>& pairings, double factor) {
  return std::ranges::count_if(pairings, [&](const Pairing& one) {
    return std::abs(factor * one.ratio() - 1.0) <= kTolerance;
  });
}

/// Measured over predicted throughput of rows without overload, where it follows from arrivals and
/// answer lengths: which share of the tokens asked for the client counted.
struct CountedShare {
  std::int64_t rows = 0;
  double least = 1.0;
  double median = 1.0;
  double most = 1.0;
};

CountedShare counted_share(const std::vector<Pairing>& pairings) {
  std::vector<double> shares;
  for (const Pairing& one : pairings) {
    if (one.keeps_up()) {
      shares.push_back(1.0 / one.ratio());
    }
  }
  if (shares.empty()) {
    return {};
  }
  std::ranges::sort(shares);
  return {.rows = std::ssize(shares),
          .least = shares.front(),
          .median = shares[shares.size() / 2],
          .most = shares.back()};
}

StudyTable throughput_table(const std::vector<Pairing>& pairings, double share) {
  StudyTable table{.name = "throughput", .rows = {}};
  for (const Pairing& one : pairings) {
    table.rows.push_back(row("rate",
                             one.measured->rate,
                             "strategy",
                             one.measured->strategy,
                             "overload",
                             !one.keeps_up(),
                             "predicted_over_measured",
                             one.ratio(),
                             "with_counted_share",
                             share * one.ratio()));
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

core::Result<std::vector<GaugeAge>> age_gauges(const Campaign& campaign, std::int64_t threads) {
  const auto load = std::ranges::find(campaign.strategies, kByLoad, &Strategy::name);
  if (load == campaign.strategies.end()) {
    return std::vector<GaugeAge>();
  }
  std::vector<GaugeAge> ages(kIntervals.size());
  std::vector<core::Errors> errors(kIntervals.size());
  core::for_each_job(kIntervals.size(), threads, [&](std::size_t job) {
    Strategy strategy = *load;
    strategy.settings.push_back({.path = "cluster.gateway.refresh_metrics_interval",
                                 .text = fmt::format("{}s", kIntervals[job])});
    auto ladder = simulate_ladder(campaign, strategy, kSeed);
    if (!ladder) {
      errors[job] = std::move(ladder).error();
      return;
    }
    ages[job].interval_s = kIntervals[job];
    for (const Pairing& one : pair_up(campaign, {*load}, {*ladder})) {
      if (one.measured->ttft_mean_s < kFewSeconds) {
        ages[job].pairings.push_back(one);
      }
    }
  });
  for (core::Errors& error : errors) {
    if (!error.empty()) {
      return core::fail(std::move(error));
    }
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

void add_gauge_age(const std::vector<GaugeAge>& ages, Outcome& out) {
  if (ages.empty() || ages.front().pairings.empty()) {
    return;
  }
  const auto best = std::ranges::min_element(ages, {}, &GaugeAge::distance);
  out.finding += fmt::format(
      " Routing by load waits as measured, below overload, if gauges are read every {:g} s: a "
      "factor of {:.2f} off at the mean, and {:.2f} at the {:g} s of the router's default.",
      best->interval_s,
      core::exp(best->distance()),
      core::exp(ages.front().distance()),
      ages.front().interval_s);
}

void decide(const std::vector<Pairing>& pairings,
            const std::vector<Contest>& contests,
            Outcome& out) {
  const auto right = std::ranges::count(contests, true, &Contest::right);
  const auto near = within(pairings, 1.0);
  const CountedShare share = counted_share(pairings);
  const bool order = right == std::ssize(contests);
  const bool level = static_cast<double>(near) >= kMostRows * static_cast<double>(pairings.size());
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
      "{} throughputs are within 15 %",
      right,
      contests.size(),
      wrong.empty() ? "" : fmt::format(" (not at {}/s)", fmt::join(wrong, ", ")),
      near,
      pairings.size());
  out.finding = fmt::format(
      "In the {} rows without overload, where arrivals and answers decide the throughput, the "
      "measured one is {:.2f} to {:.2f} of ours, {:.2f} at the median: as if the client counted "
      "that share of the tokens that it asked for. With it, {} of {} throughputs are within 15 %.",
      share.rows,
      share.least,
      share.most,
      share.median,
      within(pairings, share.median),
      pairings.size());
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
  std::vector<core::Result<std::vector<LadderStage>>> simulated(strategies.size());
  core::for_each_job(strategies.size(), lab.options().threads, [&](std::size_t job) {
    simulated[job] = simulate_ladder(campaign, strategies[job], kSeed);
  });
  std::vector<std::vector<LadderStage>> ladders;
  for (auto& ladder : simulated) {
    if (!ladder) {
      return core::fail(std::move(ladder).error());
    }
    ladders.push_back(std::move(*ladder));
  }
  const auto pairings = pair_up(campaign, strategies, ladders);
  const auto contests = contests_of(pairings);
  out.tables = {ladder_table(pairings),
                order_table(contests),
                duration_table(campaign, pairings),
                throughput_table(pairings, counted_share(pairings).median)};
  decide(pairings, contests, out);
  const auto ages = age_gauges(campaign, lab.options().threads);
  if (!ages) {
    return core::fail(ages.error());
  }
  out.tables.push_back(gauges_table(*ages));
  add_gauge_age(*ages, out);
  return out;
}

}  // namespace ridgeline::studies
