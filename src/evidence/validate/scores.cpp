#include "evidence/validate/scores.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/check.hpp"
#include "core/statistics/quantiles.hpp"
#include "evidence/validate/client_load.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/loose_node.hpp"
#include "evidence/validate/prediction.hpp"

namespace ridgeline::evidence::validate {
namespace {

/// Below this share of the offered rate a server is behind.
constexpr double kKeepsUp = 0.97;
/// The time that N random gaps take varies by 1 / sqrt(N) of it (a Poisson process); so many times
/// that is left to chance.
constexpr double kChance = 2.0;
/// Shares of an answer's time before its first token that make it a matter of prefill, of decode.
constexpr double kMostlyPrefill = 0.5;
constexpr double kMostlyDecode = 0.1;

/// Below this share of the offered rate the server of a record counts as behind. Of a client's
/// result that only states the rate of random arrivals, the run may have lasted longer by chance.
double least_share(const Evidence& evidence) {
  double requests = 0.0;
  for (const auto& stage : evidence.stages) {
    const bool is_random = stage.kind == StageLoad::Kind::kRandom && stage.rows.empty();
    // A result whose requests have lengths and no times of their own.
    const bool is_untimed = stage.kind == StageLoad::Kind::kEven && !stage.rows.empty();
    if (!is_random && !is_untimed) {
      return kKeepsUp;
    }
    requests += static_cast<double>(stage.requests);
  }
  return evidence.tells_server || requests <= 0.0 ? kKeepsUp
                                                  : kKeepsUp - kChance / std::sqrt(requests);
}

/// A fleet whose first tokens take tens of seconds is above its capacity: its queues grow while it
/// is measured. Of llm-d's published points the slowest tenth waits for less than 8 s or more
/// than 16.
constexpr double kOverloadMs = 10'000.0;

/// Wait for the first token: p90, else the mean.
std::optional<double> longest_wait_ms(const Evidence& evidence) {
  const auto& ninth = evidence.measured.at(Figure::kTtft, Level::kP90);
  return ninth ? ninth : evidence.measured.at(Figure::kTtft, Level::kMean);
}

/// By Little's law so many requests were in flight on average: those completed in a second, times
/// how long one was inside. Nothing where the measurement lacks one of the two.
std::optional<double> measured_in_flight(const Evidence& evidence) {
  const auto answer = mean_answer_seconds(evidence);
  const auto& tokens = evidence.measured.at(Figure::kOutputThroughput, Level::kMean);
  double answers = 0.0;
  double length = 0.0;
  double last_s = 0.0;
  for (const auto& stage : evidence.stages) {
    for (const auto& row : stage.rows) {
      answers += 1.0;
      length += static_cast<double>(row.output_tokens);
      last_s = std::max(last_s, stage.kind == StageLoad::Kind::kRecorded ? row.arrival_s : 0.0);
    }
  }
  const double mean = answers > 0.0 ? length / answers : evidence.output.mean;
  if (answer && tokens && mean > 0.0) {
    return *tokens / mean * *answer;
  }
  // The last answer ends about so long after its request was sent.
  return answer && last_s > 0.0 ? std::optional(answers / (last_s + *answer) * *answer)
                                : std::nullopt;
}

/// Why what was simulated cannot be the load of a client's result; empty where nothing says so. A
/// record of ../groundtruth states its load; of a client's file it is made out.
std::string other_load(const Evidence& evidence, const Prediction& prediction) {
  constexpr double kFar = 3.0;    // Times more or fewer: past what a wrong step time makes.
  constexpr double kLeast = 3.0;  // Requests: fewer are a matter of chance.
  const auto measured = evidence.tells_server ? std::nullopt : measured_in_flight(evidence);
  const double ours = prediction.mean_in_flight * prediction.ranks;
  if (!measured || std::abs(ours - *measured) < kLeast ||
      (ours < kFar * *measured && *measured < kFar * ours)) {
    return {};
  }
  return fmt::format(
      "{:.3g} requests in flight are simulated, and {:.3g} were by the measured throughput and "
      "E2E: "
      "another load, or another server",
      ours,
      *measured);
}

constexpr auto kAxes = std::to_array<std::string_view>({"all",
                                                        "family",
                                                        "model",
                                                        "gpu",
                                                        "tp",
                                                        "workload",
                                                        "strategy",
                                                        "policy",
                                                        "cached",
                                                        "stage",
                                                        "start",
                                                        "phase",
                                                        "bound",
                                                        "batch",
                                                        "context"});

/// Those that a server's start has a place on; the others are of requests.
constexpr auto kStartAxes =
    std::to_array<std::string_view>({"all", "family", "model", "gpu", "tp", "stage"});

/// More than half of the prompt tokens found in the cache.
constexpr double kMostlyCached = 0.5;

/// What a measured answer's time is mostly spent on.
std::string phase_of(const Figures& measured) {
  const auto& first = measured.at(Figure::kTtft, Level::kMean);
  const auto& whole = measured.at(Figure::kE2e, Level::kMean);
  if (!first || !whole || *whole <= 0.0) {
    return "unknown";
  }
  const double share = *first / *whole;
  return share >= kMostlyPrefill ? "prefill" : share <= kMostlyDecode ? "decode" : "mixed";
}

std::string value_on(std::string_view axis, const ScoredRecord& record) {
  const Evidence& evidence = record.evidence;
  if (axis == "all") {
    return record.standing == Standing::kScored
               ? "all"
               : kStandingNames[static_cast<std::size_t>(record.standing)];
  }
  if (axis == "family") {
    return evidence.family;
  }
  if (axis == "model") {
    return evidence.model;
  }
  if (axis == "gpu") {
    return evidence.gpu;
  }
  if (axis == "tp") {
    return fmt::format("{}", evidence.tensor_parallel);
  }
  if (axis == "workload") {
    return evidence.workload;
  }
  if (axis == "strategy") {
    return evidence.strategy;
  }
  if (axis == "policy") {
    return evidence.fleet ? evidence.fleet->policy : std::string();
  }
  if (axis == "cached") {
    return record.prediction->cached_share > kMostlyCached ? "yes" : "no";
  }
  if (axis == "stage") {
    return evidence.stage;
  }
  if (axis == "start") {
    return evidence.stage.starts_with(kFirstRequests) ? "first requests" : "without them";
  }
  if (axis == "phase") {
    return phase_of(evidence.measured);
  }
  if (axis == "bound") {
    return record.prediction->front_end_bound  ? "front end"
           : record.prediction->front_end_near ? "front end near"
                                               : "engine";
  }
  return power_bucket(axis == "batch" ? record.prediction->mean_in_flight
                                      : record.prediction->mean_context);
}

void score_group(std::string_view axis,
                 const std::string& value,
                 const std::vector<const ScoredRecord*>& group,
                 std::vector<ScoreRow>& rows) {
  for (std::size_t i = 0; i < kNumFigures; ++i) {
    for (std::size_t j = 0; j < kNumLevels; ++j) {
      const auto figure = static_cast<Figure>(i);
      const auto level = static_cast<Level>(j);
      std::vector<double> errors;
      for (const ScoredRecord* record : group) {
        if (const auto error = record->error_pct(figure, level)) {
          errors.push_back(*error);
        }
      }
      if (errors.empty()) {
        continue;
      }
      ScoreRow row = summarise_errors(std::move(errors));
      row.axis = axis;
      row.value = value;
      row.figure = figure;
      row.level = level;
      rows.push_back(std::move(row));
    }
  }
}

using Groups = std::vector<std::pair<std::string, std::vector<const ScoredRecord*>>>;

void add_to_group(Groups& groups, const std::string& value, const ScoredRecord& record) {
  const auto known = std::ranges::find(groups, value, &Groups::value_type::first);
  if (known != groups.end()) {
    known->second.push_back(&record);
  } else {
    groups.push_back({value, {&record}});
  }
}

}  // namespace

std::optional<double> error_pct(const Figures& predicted,
                                const Figures& measured,
                                Figure figure,
                                Level level) {
  const auto& ours = predicted.at(figure, level);
  const auto& theirs = measured.at(figure, level);
  if (!ours || !theirs || *theirs <= 0.0) {
    return std::nullopt;
  }
  return 100.0 * (*ours - *theirs) / *theirs;
}

std::optional<double> ScoredRecord::error_pct(Figure figure, Level level) const {
  return prediction ? validate::error_pct(prediction->figures, evidence.measured, figure, level)
                    : std::nullopt;
}

ScoreRow summarise_errors(std::vector<double> errors) {
  RIDGELINE_CHECK(!errors.empty(), "no errors to sum up");
  ScoreRow row;
  row.n = static_cast<std::int64_t>(errors.size());
  const auto count = static_cast<double>(errors.size());
  double over = 0.0;
  for (double& error : errors) {
    row.mean_signed += error / count;
    error = std::abs(error);
    row.mean_abs += error / count;
    over += error > kGrossError ? 1.0 : 0.0;
  }
  std::ranges::sort(errors);
  row.median_abs = statistics::sorted_quantile(errors, 0.5);
  row.p95_abs = statistics::sorted_quantile(errors, 0.95);
  row.p99_abs = statistics::sorted_quantile(errors, 0.99);
  row.share_over_20 = 100.0 * over / count;
  return row;
}

Standing standing_of(const Evidence& evidence, const PartPrediction& result, std::string& reason) {
  if (!result.prediction) {
    reason = result.problem;
    return Standing::kUnpredicted;
  }
  reason = evidence.contradicted.empty() ? other_load(evidence, *result.prediction)
                                         : evidence.contradicted;
  if (!reason.empty()) {
    return Standing::kContradicted;
  }
  for (const auto& flag : evidence.flags) {
    if (mentions(flag, "overload") || mentions(flag, "saturat")) {
      reason = fmt::format("flag {}", flag);
      return Standing::kSaturated;
    }
  }
  if (const auto wait = longest_wait_ms(evidence); evidence.fleet && wait && *wait >= kOverloadMs) {
    reason = fmt::format("first tokens after {:.3g} s", *wait / 1e3);
    return Standing::kSaturated;
  }
  if (evidence.completed_per_s && evidence.offered_per_s &&
      *evidence.completed_per_s < least_share(evidence) * *evidence.offered_per_s) {
    reason = fmt::format("{:.3g} requests/s completed of {:.3g} offered",
                         *evidence.completed_per_s,
                         *evidence.offered_per_s);
    return Standing::kSaturated;
  }
  if (result.prediction->kv_limited) {
    reason = "the clients need more KV cache than there is";
    return Standing::kSaturated;
  }
  return Standing::kScored;
}

std::vector<Outlier> worst_errors(const std::vector<ScoredRecord>& records) {
  std::vector<Outlier> outliers;
  for (std::size_t place = 0; place < records.size(); ++place) {
    Outlier worst{.record = place};
    for (std::size_t i = 0; records[place].standing == Standing::kScored && i < kNumFigures; ++i) {
      const auto figure = static_cast<Figure>(i);
      const auto error = records[place].error_pct(figure, Level::kMean);
      // The parts of a server's time may be next to nothing, a queue's above all.
      if (error && !is_of_server(figure) && std::abs(*error) > std::abs(worst.error_pct)) {
        worst.error_pct = *error;
        worst.figure = figure;
      }
    }
    if (worst.error_pct != 0.0) {
      outliers.push_back(worst);
    }
  }
  std::ranges::stable_sort(outliers, [](const Outlier& a, const Outlier& b) {
    return std::abs(a.error_pct) > std::abs(b.error_pct);
  });
  return outliers;
}

std::vector<ScoreRow> score(const std::vector<ScoredRecord>& records) {
  std::vector<ScoreRow> rows;
  for (const auto axis : kAxes) {
    Groups groups;
    for (const auto& record : records) {
      const bool is_apart =
          record.standing == Standing::kSaturated || record.standing == Standing::kContradicted;
      const bool counts = record.standing == Standing::kScored || (axis == "all" && is_apart);
      const bool has_place =
          !record.evidence.is_start || std::ranges::find(kStartAxes, axis) != kStartAxes.end();
      const bool has_none = axis == "policy" && !record.evidence.fleet;
      if (counts && has_place && record.prediction && !has_none) {
        add_to_group(groups, value_on(axis, record), record);
      }
    }
    for (const auto& [value, group] : groups) {
      score_group(axis, value, group, rows);
    }
  }
  return rows;
}

std::string power_bucket(double value) {
  std::int64_t low = 1;
  while (static_cast<double>(low) * 2.0 <= value && low < (std::int64_t{1} << 40)) {
    low *= 2;
  }
  return low == 1 ? "1" : fmt::format("{}-{}", low, 2 * low - 1);
}

std::span<const std::string_view> score_axes() {
  return kAxes;
}

std::vector<ScoreGroup> groups_by(const std::vector<ScoredRecord>& records,
                                  const std::vector<std::string>& axes) {
  std::vector<ScoreGroup> groups;
  for (const auto& record : records) {
    if (record.standing != Standing::kScored || !record.prediction || record.evidence.is_start) {
      continue;
    }
    std::string value;
    for (const std::string& axis : axes) {
      const std::string own = value_on(axis, record);
      value += fmt::format("{}{}", value.empty() ? "" : ", ", own.empty() ? "none" : own);
    }
    auto known = std::ranges::find(groups, value, &ScoreGroup::value);
    if (known == groups.end()) {
      known = groups.insert(known, {.value = value, .records = {}});
    }
    known->records.push_back(&record);
  }
  return groups;
}

std::vector<ScoreRow> score_by(const std::vector<ScoredRecord>& records,
                               const std::vector<std::string>& axes) {
  std::vector<ScoreRow> rows;
  const std::string name = fmt::format("{}", fmt::join(axes, ", "));
  for (const auto& [value, group] : groups_by(records, axes)) {
    score_group(name, value, group, rows);
  }
  return rows;
}

std::vector<PeerRow> score_peers(const std::vector<ScoredRecord>& records) {
  std::vector<std::string> names;
  for (const auto& record : records) {
    for (const auto& peer : record.evidence.peers) {
      if (std::ranges::find(names, peer.name) == names.end()) {
        names.push_back(peer.name);
      }
    }
  }
  std::vector<PeerRow> rows;
  for (const auto& name : names) {
    for (std::size_t cell = 0; cell < kNumFigures * kNumLevels; ++cell) {
      const auto figure = static_cast<Figure>(cell / kNumLevels);
      const auto level = static_cast<Level>(cell % kNumLevels);
      std::vector<double> theirs;
      std::vector<double> ours;
      for (const auto& record : records) {
        const auto& peers = record.evidence.peers;
        const auto peer = std::ranges::find(peers, name, &PeerPrediction::name);
        const auto own = record.error_pct(figure, level);
        if (record.standing != Standing::kScored || peer == peers.end() || !own) {
          continue;
        }
        if (const auto error = error_pct(peer->figures, record.evidence.measured, figure, level)) {
          theirs.push_back(*error);
          ours.push_back(*own);
        }
      }
      if (theirs.empty()) {
        continue;
      }
      const ScoreRow them = summarise_errors(std::move(theirs));
      const ScoreRow us = summarise_errors(std::move(ours));
      rows.push_back({.peer = name,
                      .figure = figure,
                      .level = level,
                      .n = them.n,
                      .median_abs = them.median_abs,
                      .mean_abs = them.mean_abs,
                      .p95_abs = them.p95_abs,
                      .our_median_abs = us.median_abs,
                      .our_mean_abs = us.mean_abs,
                      .our_p95_abs = us.p95_abs});
    }
  }
  return rows;
}

}  // namespace ridgeline::evidence::validate
