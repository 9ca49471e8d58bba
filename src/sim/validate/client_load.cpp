#include "sim/validate/client_load.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/document.hpp"
#include "core/quantiles.hpp"
#include "core/result.hpp"
#include "sim/validate/evidence.hpp"
#include "sim/validate/evidence_limits.hpp"
#include "sim/validate/loose_node.hpp"

namespace ridgeline::sim::validate {
namespace {

/// A count that a file states; what is too large is refused with the record (evidence_limits.hpp).
std::int64_t count_of(double count) {
  return static_cast<std::int64_t>(std::clamp(std::floor(count + 0.5), 0.0, 1e15));
}

/// "null or NaN": what a file holds in place of a number.
std::string found_in(const core::Node& node) {
  return node.is_null() ? "null or NaN" : node.is_string() ? "a text" : "no number";
}

/// Marks the requests that start too far from the median of all.
void check_starts(std::vector<ClientRequest>& requests) {
  std::vector<double> starts;
  for (const auto& request : requests) {
    if (request.problem.empty()) {
      starts.push_back(request.start_s);
    }
  }
  if (starts.empty()) {
    return;
  }
  std::ranges::sort(starts);
  const double usual = core::sorted_quantile(starts, 0.5);
  for (auto& request : requests) {
    const double away = std::abs(request.start_s - usual);
    if (request.problem.empty() && !(away <= kLongestRunSeconds)) {
      request.problem = fmt::format("{} is {:.6g} s from the median start, expected up to {:.6g} s",
                                    request.start_place,
                                    away,
                                    kLongestRunSeconds);
    }
  }
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

double read_number(const core::Node* node,
                   const std::string& place,
                   const Allowed& allowed,
                   std::string& problem) {
  if (!problem.empty()) {
    return 0.0;
  }
  if (node == nullptr) {
    problem = fmt::format("{} is missing", place);
  } else if (!node->is_number() || !std::isfinite(node->as_real())) {
    problem = fmt::format("{} is {}, expected a number", place, found_in(*node));
  } else if (const double value = node->as_real();
             value >= allowed.lowest && value <= allowed.highest) {
    return value;
  } else {
    problem = fmt::format(
        "{} is {:.6g}, expected {:.6g} to {:.6g}", place, value, allowed.lowest, allowed.highest);
  }
  return 0.0;
}

std::optional<double> read_statistic(const core::Node& node,
                                     std::string_view path,
                                     Evidence& evidence) {
  const core::Node* found = find_at_path(node, path);
  if (found == nullptr) {
    return std::nullopt;
  }
  if (!found->is_number() || !std::isfinite(found->as_real())) {
    evidence.doubts.push_back(
        fmt::format("{} is {}, expected a number: it is not compared", path, found_in(*found)));
    return std::nullopt;
  }
  return found->as_real() == 0.0 ? std::nullopt : std::optional(found->as_real());
}

std::vector<ClientRequest> sound_requests(std::vector<ClientRequest> requests, Evidence& evidence) {
  check_starts(requests);
  const auto first = std::ranges::find_if(
      requests, [](const ClientRequest& request) { return !request.problem.empty(); });
  if (first == requests.end()) {
    return requests;
  }
  const std::string why = first->problem;
  const std::size_t all = requests.size();
  std::erase_if(requests, [](const ClientRequest& request) { return !request.problem.empty(); });
  evidence.left_out.push_back(
      fmt::format("{} of {} requests: {}", all - requests.size(), all, why));
  if (requests.empty()) {
    evidence.problem = fmt::format("no request is sound: {}", why);
  }
  return requests;
}

void replay_requests(std::vector<ClientRequest> requests, Evidence& evidence, StageLoad& stage) {
  if (requests.empty()) {
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

void replay_if_complete(const std::string& place,
                        core::Result<std::vector<ClientRequest>> requests,
                        double counted,
                        Evidence& evidence,
                        StageLoad& stage) {
  if (!requests) {
    evidence.doubts.push_back(
        fmt::format("{}: {}: it is not used", place, requests.error().front().message));
    return;
  }
  Evidence read;
  const std::size_t all = requests->size();
  auto sound = sound_requests(std::move(*requests), read);
  for (const auto& rows : read.left_out) {
    evidence.left_out.push_back(fmt::format("{} in {}", rows, place));
  }
  // A row that cannot be read may be one of a request that failed.
  if (static_cast<double>(sound.size()) > counted || static_cast<double>(all) < counted) {
    evidence.doubts.push_back(
        fmt::format("{} holds {} requests that succeeded, expected {:.6g}, as the totals count: it "
                    "is not used",
                    place,
                    sound.size(),
                    counted));
    return;
  }
  replay_requests(std::move(sound), evidence, stage);
}

Evidence run_of_requests(Evidence run, std::vector<ClientRequest> requests) {
  auto sound = sound_requests(std::move(requests), run);
  run.measured = figures_of_requests(sound);
  run.stages.push_back(open_load(static_cast<double>(sound.size()), 0.0, StageLoad::Kind::kRandom));
  replay_requests(std::move(sound), run, run.stages.front());
  require_load(run);
  return run;
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
    figures.at(figure, Level::kP50) = core::sorted_quantile(sorted, 0.5);
    figures.at(figure, Level::kP90) = core::sorted_quantile(sorted, 0.9);
    figures.at(figure, Level::kP99) = core::sorted_quantile(sorted, 0.99);
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
