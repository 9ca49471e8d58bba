#include "sim/validate/client_load.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/validate/evidence.hpp"
#include "sim/validate/evidence_limits.hpp"

namespace ridgeline::sim::validate {
namespace {

/// A count that a file states; what is too large is refused with the record (evidence_limits.hpp).
std::int64_t count_of(double count) {
  return static_cast<std::int64_t>(std::clamp(std::floor(count + 0.5), 0.0, 1e15));
}

/// numpy's default: linear between order statistics. Requires sorted values, at least one.
double quantile_of(const std::vector<double>& sorted, double p) {
  const double at = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(at));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (at - std::floor(at));
}

/// What is wrong with a request whose neighbours started about `usual_start_s`; empty: nothing.
std::string problem_of(const ClientRequest& request, double usual_start_s) {
  const double away = std::abs(request.start_s - usual_start_s);
  if (!(away <= kLongestRunSeconds)) {
    return fmt::format("starts {:.6g} s from the median request, expected up to {:.6g} s",
                       away,
                       kLongestRunSeconds);
  }
  for (const double tokens : {request.input_tokens, request.output_tokens}) {
    if (!(tokens >= 1.0 && tokens <= kMostTokens)) {
      return fmt::format("has {:.6g} tokens, expected 1 to {:.6g}", tokens, kMostTokens);
    }
  }
  return {};
}

}  // namespace

TokenCounts about(double mean) {
  return {.law = TokenCounts::Law::kFixed, .mean = mean, .lowest = mean, .highest = mean};
}

StageLoad open_load(double requests, double seconds, StageLoad::Kind kind) {
  StageLoad stage;
  stage.kind = kind;
  stage.name = "0";
  stage.requests = count_of(requests);
  stage.duration_s = seconds;
  return stage;
}

StageLoad closed_load(double requests, double clients) {
  StageLoad stage = open_load(requests, 0.0, StageLoad::Kind::kClosed);
  stage.concurrency = count_of(clients);
  return stage;
}

void replay_requests(std::vector<ClientRequest> requests, Evidence& evidence, StageLoad& stage) {
  if (requests.empty()) {
    return;
  }
  std::vector<double> starts;
  for (const auto& request : requests) {
    if (std::isfinite(request.start_s)) {
      starts.push_back(request.start_s);
    }
  }
  std::ranges::sort(starts);
  const double usual = starts.empty() ? 0.0 : quantile_of(starts, 0.5);
  std::string first_problem;
  const std::size_t all = requests.size();
  std::erase_if(requests, [&](const ClientRequest& request) {
    const std::string problem = problem_of(request, usual);
    if (first_problem.empty() && !problem.empty()) {
      first_problem = fmt::format("{} {}", request.place, problem);
    }
    return !problem.empty();
  });
  if (requests.size() < all) {
    evidence.left_out.push_back(
        fmt::format("{} of {} requests: {}", all - requests.size(), all, first_problem));
  }
  if (requests.empty()) {
    evidence.problem = fmt::format("no request is sound: {}", first_problem);
    return;
  }
  std::ranges::stable_sort(requests, {}, &ClientRequest::start_s);
  const bool timed = stage.kind != StageLoad::Kind::kClosed;
  for (const auto& request : requests) {
    stage.rows.push_back({.arrival_s = timed ? request.start_s - requests.front().start_s : 0.0,
                          .input_tokens = static_cast<std::int64_t>(request.input_tokens),
                          .output_tokens = static_cast<std::int64_t>(request.output_tokens)});
  }
  stage.requests = static_cast<std::int64_t>(stage.rows.size());
  if (timed) {
    stage.kind = StageLoad::Kind::kRecorded;
    // What was offered is what was sent: a random process with a rate sends more or less.
    const double span = stage.rows.back().arrival_s;
    if (evidence.offered_per_s && span > 0.0) {
      evidence.offered_per_s = static_cast<double>(stage.requests) / span;
    }
  }
}

Figures figures_of_requests(const std::vector<ClientRequest>& requests) {
  Figures figures;
  const auto fill = [&](Figure figure, std::optional<double> ClientRequest::* time) {
    std::vector<double> sorted;
    double sum = 0.0;
    for (const auto& request : requests) {
      if (request.*time) {
        sorted.push_back(*(request.*time));
        sum += sorted.back();
      }
    }
    if (sorted.empty()) {
      return;
    }
    std::ranges::sort(sorted);
    figures.at(figure, Level::kMean) = sum / static_cast<double>(sorted.size());
    figures.at(figure, Level::kP50) = quantile_of(sorted, 0.5);
    figures.at(figure, Level::kP90) = quantile_of(sorted, 0.9);
    figures.at(figure, Level::kP99) = quantile_of(sorted, 0.99);
  };
  fill(Figure::kTtft, &ClientRequest::ttft_ms);
  fill(Figure::kE2e, &ClientRequest::e2e_ms);
  fill(Figure::kTpot, &ClientRequest::tpot_ms);
  return figures;
}

std::optional<double> sustained_rate(double requests,
                                     std::optional<double> per_second,
                                     std::optional<double> e2e_ms) {
  if (!per_second || !e2e_ms || !(*per_second > 0.0) || !(requests > 0.0)) {
    return per_second;
  }
  const double seconds = requests / *per_second - *e2e_ms / kMillisecondsPerSecond;
  return seconds > 0.0 ? std::optional(requests / seconds) : std::nullopt;
}

void require_load(Evidence& evidence) {
  const bool rows = !evidence.stages.empty() && !evidence.stages.front().rows.empty();
  const bool sound = !evidence.stages.empty() && evidence.stages.front().requests > 0 &&
                     (rows || (evidence.input.mean >= 1.0 && evidence.output.mean >= 1.0));
  if (evidence.problem.empty() && !sound) {
    evidence.problem = "requests, prompt or answer lengths are missing";
  }
  if (evidence.problem.empty() && evidence.measured.empty()) {
    evidence.problem = "no latency and no throughput";
  }
}

}  // namespace ridgeline::sim::validate
