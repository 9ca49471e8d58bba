#include "evidence/validate/client_load.hpp"

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

#include "core/result.hpp"
#include "core/statistics/quantiles.hpp"
#include "document/document.hpp"
#include "document/node_path.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/evidence_limits.hpp"
#include "evidence/validate/loose_node.hpp"

namespace ridgeline::evidence::validate {
namespace {

/// A count that a file states; what is too large is refused with the record (evidence_limits.hpp).
std::int64_t count_of(double count) {
  return static_cast<std::int64_t>(std::clamp(std::floor(count + 0.5), 0.0, 1e15));
}

/// "null or NaN": what a file holds in place of a number.
std::string found_in(const document::Node& node) {
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
  const double usual = statistics::sorted_quantile(starts, 0.5);
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

/// How long after the last answer, were it of the mean length, the run should end: answers near the
/// end of the run that are longer take their further tokens' time.
double seconds_of_longer_answers(const StageLoad& stage, const Evidence& evidence) {
  const double gap_s =
      evidence.measured.at(Figure::kTpot, Level::kMean).value_or(0.0) / kMillisecondsPerSecond;
  double mean = 0.0;
  for (const auto& row : stage.rows) {
    mean += static_cast<double>(row.output_tokens) / static_cast<double>(stage.rows.size());
  }
  const double span = stage.rows.back().arrival_s;
  double end = span;
  for (const auto& row : stage.rows) {
    const double further = static_cast<double>(row.output_tokens) - mean;
    end = std::max(end, row.arrival_s + further * gap_s);
  }
  return end - span;
}

/// What was offered is what was sent: a random process with a rate sends more or less. Both rates
/// count gaps, of which there is one less than requests.
void rate_by_rows(const StageLoad& stage, Evidence& evidence) {
  const double span = stage.rows.back().arrival_s;
  const auto requests = static_cast<double>(stage.requests);
  if (!evidence.offered_per_s || !(span > 0.0)) {
    return;
  }
  evidence.offered_per_s = (requests - 1.0) / span;
  if (evidence.completed_per_s) {
    const double seconds =
        requests / *evidence.completed_per_s - seconds_of_longer_answers(stage, evidence);
    evidence.completed_per_s =
        seconds > 0.0 ? std::optional((requests - 1.0) / seconds) : std::nullopt;
  }
}

/// Names where the totals' mean lengths are not those of the single requests.
void compare_lengths(const std::string& place,
                     const std::vector<ClientRequest>& requests,
                     Evidence& evidence) {
  constexpr double kTolerance = 0.01;  // some files round their means
  const auto compare = [&](std::string_view name, double total, double ClientRequest::* tokens) {
    double mean = 0.0;
    for (const auto& request : requests) {
      mean += request.*tokens / static_cast<double>(requests.size());
    }
    if (!requests.empty() && total > 0.0 && std::abs(total - mean) > kTolerance * mean) {
      evidence.doubts.push_back(
          fmt::format("{} holds {:.6g} {} tokens a request, expected {:.6g}, as the totals say",
                      place,
                      mean,
                      name,
                      total));
    }
  };
  compare("input", evidence.input.mean, &ClientRequest::input_tokens);
  compare("output", evidence.output.mean, &ClientRequest::output_tokens);
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

double read_number(const document::Node* node,
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

std::optional<double> read_statistic(const document::Node& node,
                                     std::string_view path,
                                     Evidence& evidence) {
  const document::Node* found = at_path(node, path);
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
    rate_by_rows(stage, evidence);
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
  compare_lengths(place, sound, evidence);
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

void fill_times(Figure figure, std::vector<double> times, Figures& figures) {
  if (times.empty()) {
    return;
  }
  double sum = 0.0;
  for (const double time : times) {
    sum += time;
  }
  std::ranges::sort(times);
  figures.at(figure, Level::kMean) = sum / static_cast<double>(times.size());
  figures.at(figure, Level::kP50) = statistics::sorted_quantile(times, 0.5);
  figures.at(figure, Level::kP90) = statistics::sorted_quantile(times, 0.9);
  figures.at(figure, Level::kP99) = statistics::sorted_quantile(times, 0.99);
}

Figures figures_of_requests(const std::vector<ClientRequest>& requests) {
  Figures figures;
  const auto fill = [&](Figure figure, std::optional<double> ClientRequest::* time) {
    std::vector<double> all;
    for (const auto& request : requests) {
      if (request.*time) {
        all.push_back(*(request.*time));
      }
    }
    fill_times(figure, std::move(all), figures);
  };
  fill(Figure::kTtft, &ClientRequest::ttft_ms);
  fill(Figure::kE2e, &ClientRequest::e2e_ms);
  fill(Figure::kTpot, &ClientRequest::tpot_ms);
  return figures;
}

std::optional<double> mean_answer_seconds(const Evidence& evidence) {
  const auto mean = [&](Figure figure) { return evidence.measured.at(figure, Level::kMean); };
  const auto first = mean(Figure::kTtft);
  const auto gap = mean(Figure::kTpot);
  auto e2e = mean(Figure::kE2e);
  if (!e2e && first && gap && evidence.output.mean >= 1.0) {
    e2e = *first + *gap * (evidence.output.mean - 1.0);
  }
  return e2e ? std::optional(*e2e / kMillisecondsPerSecond) : std::nullopt;
}

void note_throughput(double requests, std::optional<double> per_second, Evidence& evidence) {
  evidence.request_throughput = per_second;
  evidence.completed_per_s = per_second;
  const auto answer = mean_answer_seconds(evidence);
  if (per_second && answer && *per_second > 0.0 && requests > 0.0) {
    const double seconds = requests / *per_second - *answer;
    evidence.completed_per_s = seconds > 0.0 ? std::optional(requests / seconds) : std::nullopt;
  }
}

void doubt_token_times(Evidence& evidence, std::optional<double> gap_ms) {
  constexpr double kFar = 0.2;
  const auto& first = evidence.measured.at(Figure::kTtft, Level::kMean);
  const auto& each = evidence.measured.at(Figure::kTpot, Level::kMean);
  const auto& whole = evidence.measured.at(Figure::kE2e, Level::kMean);
  if (!first || !each || !whole || *whole <= 0.0 || evidence.output.mean < 2.0) {
    return;
  }
  const auto sum_of = [&](double each_ms) {
    return *first + each_ms * (evidence.output.mean - 1.0);
  };
  const auto fits = [&](double each_ms) {
    return std::abs(sum_of(each_ms) - *whole) <= kFar * *whole;
  };
  // A mean by requests counts short answers, which wait longest, as much as long ones; a mean of
  // all gaps does not.
  if (fits(*each) || (gap_ms && fits(*gap_ms))) {
    return;
  }
  const double sum = sum_of(*each);
  evidence.warnings.push_back(
      {.code = "W-measured-contradicts",
       .message = fmt::format("a mean TTFT of {:.4g} ms and {:.4g} tokens of {:.4g} ms each are "
                              "{:.4g} ms, and the mean E2E is {:.4g} ms: the time per output token "
                              "is not compared",
                              *first,
                              evidence.output.mean,
                              *each,
                              sum,
                              *whole)});
  for (std::size_t level = 0; level < kNumLevels; ++level) {
    evidence.measured.at(Figure::kTpot, static_cast<Level>(level)).reset();
  }
}

void assume_mean_lengths(const std::string& why, Evidence& evidence) {
  const std::string assumed = "every prompt and answer of the mean length";
  evidence.assumed.push_back(assumed);
  evidence.doubts.push_back(fmt::format("{}: {} is assumed", why, assumed));
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

}  // namespace ridgeline::evidence::validate
