// guidellm's reports, versions 1 and 2: one run for each benchmark.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "document/document.hpp"
#include "document/node_path.hpp"
#include "evidence/validate/client_load.hpp"
#include "evidence/validate/client_readers.hpp"
#include "evidence/validate/evaluator.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/loose_node.hpp"
#include "evidence/validate/strict_map.hpp"

namespace ridgeline::evidence::validate {
namespace {

Figures guidellm_figures(const document::Node& metrics, Evidence& evidence) {
  struct Name {
    Figure figure;
    std::string_view key;
    double scale;
  };
  static constexpr auto kNames =
      std::to_array<Name>({{Figure::kE2e, "request_latency", kMillisecondsPerSecond},
                           {Figure::kTtft, "time_to_first_token_ms", 1.0},
                           // Its time_per_output_token holds the first token's; this does not.
                           {Figure::kTpot, "inter_token_latency_ms", 1.0}});
  Figures figures;
  static constexpr std::array<std::string_view, kNumLevels> kKeys = {
      "mean", "median", "percentiles.p90", "percentiles.p99"};
  for (const auto& name : kNames) {
    for (std::size_t level = 0; level < kNumLevels; ++level) {
      const auto path = fmt::format("{}.successful.{}", name.key, kKeys[level]);
      if (const auto value = read_statistic(metrics, path, evidence)) {
        figures.at(name.figure, static_cast<Level>(level)) = *value * name.scale;
      }
    }
  }
  const auto throughput = number_at_path(metrics, "output_tokens_per_second.successful.mean");
  if (throughput && *throughput > 0.0) {
    figures.at(Figure::kOutputThroughput, Level::kMean) = throughput;
  }
  return figures;
}

/// A number of a request, at the first of these paths that it has: versions name it differently.
double first_number(const document::Node& request,
                    const std::string& place,
                    std::initializer_list<std::string_view> paths,
                    const Allowed& allowed,
                    std::string& problem) {
  const auto* const known = std::ranges::find_if(
      paths, [&](std::string_view path) { return at_path(request, path) != nullptr; });
  const std::string_view path = known == paths.end() ? *paths.begin() : *known;
  return read_number(at_path(request, path), fmt::format("{}.{}", place, path), allowed, problem);
}

/// Where versions write the end of a request.
constexpr auto kEnds =
    std::to_array<std::string_view>({"info.timings.request_end", "request_end_time", "end_time"});

/// The requests that ended so ("successful", "incomplete"), where the report holds them.
std::vector<ClientRequest> guidellm_requests(const document::Node& benchmark,
                                             const std::string& end) {
  std::vector<ClientRequest> all;
  const document::Node* requests = member_at(benchmark, "requests");
  const auto items =
      requests == nullptr ? std::span<const document::Node>() : items_at(*requests, end);
  for (std::size_t i = 0; i < items.size(); ++i) {
    ClientRequest request;
    const std::string place = fmt::format("requests.{}[{}]", end, i);
    const auto read = [&](std::initializer_list<std::string_view> paths, const Allowed& allowed) {
      return first_number(items[i], place, paths, allowed, request.problem);
    };
    request.start_place = place;
    request.start_s =
        read({"info.timings.request_start", "request_start_time", "start_time"}, kAnyTime);
    const auto is_there = [&](std::string_view path) { return at_path(items[i], path) != nullptr; };
    if (std::ranges::any_of(kEnds, is_there)) {
      // An answer that ends before it starts is of a broken clock.
      static_cast<void>(read({kEnds[0], kEnds[1], kEnds[2]},
                             {.lowest = request.start_s, .highest = kAnyTime.highest}));
    }
    request.input_tokens = read({"input_metrics.text_tokens", "prompt_tokens"}, kAllowedTokens);
    request.output_tokens = read({"output_metrics.text_tokens", "output_tokens"}, kAllowedTokens);
    all.push_back(std::move(request));
  }
  return all;
}

/// How the strategy of a benchmark loads the server, by its totals.
StageLoad guidellm_load(const document::Node* strategy, double requests, Evidence& evidence) {
  const bool one = evidence.strategy == "synchronous";
  const auto streams = strategy == nullptr ? std::nullopt : number_at(*strategy, "streams");
  const auto rate = strategy == nullptr ? std::nullopt : number_at(*strategy, "rate");
  if (one || (evidence.strategy == "concurrent" && streams)) {
    evidence.closed_loop = true;
    return closed_load(requests, one ? 1.0 : *streams);
  }
  if (evidence.strategy == "throughput" || !rate || *rate <= 0.0) {
    return open_load(requests, 0.0, StageLoad::Kind::kAtOnce);
  }
  evidence.offered_per_s = rate;
  const bool random = evidence.strategy == "poisson";
  return open_load(
      requests, requests / *rate, random ? StageLoad::Kind::kRandom : StageLoad::Kind::kEven);
}

/// Requests under way when the benchmark ends are no backlog.
void note_cut_off(std::size_t number, double cut_off, double requests, Evidence& evidence) {
  if (cut_off > 0.0) {
    evidence.completed_per_s.reset();
    evidence.warnings.push_back(
        {.code = "W-incomplete-requests",
         .message = fmt::format("benchmark {}: {:.6g} of {:.6g} requests were incomplete at its "
                                "end: they load the server, and have no times",
                                number,
                                cut_off,
                                requests)});
  }
}

Evidence read_benchmark(const document::Node& benchmark, std::size_t number) {
  Evidence evidence;
  evidence.tells_server = false;
  evidence.tpot_to_last_token = true;
  evidence.family = "guidellm";
  evidence.generator = "guidellm";
  evidence.run = "guidellm";
  const document::Node* strategy = member_at_path(benchmark, "config.strategy");
  evidence.strategy = strategy == nullptr ? "" : text_at(*strategy, "type_");
  evidence.stage = fmt::format("{}-{}", number, evidence.strategy);
  evidence.id = fmt::format("benchmark {} {}", number, evidence.strategy);
  const document::Node* metrics = member_at(benchmark, "metrics");
  if (metrics == nullptr) {
    evidence.problem = "metrics is missing";
    return evidence;
  }
  evidence.measured = guidellm_figures(*metrics, evidence);
  evidence.input =
      about(number_at_path(*metrics, "prompt_token_count.successful.mean").value_or(0));
  evidence.output =
      about(number_at_path(*metrics, "output_token_count.successful.mean").value_or(0));
  const double successful = number_at_path(*metrics, "request_totals.successful").value_or(0.0);
  const double cut_off = number_at_path(*metrics, "request_totals.incomplete").value_or(0.0);
  const double requests = successful + cut_off;
  evidence.stages.push_back(guidellm_load(strategy, requests, evidence));
  note_throughput(
      successful, number_at_path(*metrics, "requests_per_second.successful.mean"), evidence);
  note_cut_off(number, cut_off, requests, evidence);
  StageLoad& stage = evidence.stages.front();
  stage.name = fmt::format("{}", number);
  // A report may hold a sample of its requests.
  if (auto all = guidellm_requests(benchmark, "successful"); !all.empty()) {
    auto incomplete = guidellm_requests(benchmark, "incomplete");
    std::ranges::move(incomplete, std::back_inserter(all));
    replay_if_complete(cut_off > 0.0 ? "requests" : "requests.successful",
                       std::move(all),
                       requests,
                       evidence,
                       stage);
  }
  if (const auto start = number_at(benchmark, "start_time"), end = number_at(benchmark, "end_time");
      start && end && *end < *start) {
    evidence.doubts.push_back(
        fmt::format("benchmark {}: end_time is {:.6f}, expected start_time, {:.6f}, or more",
                    number,
                    *end,
                    *start));
  }
  if (stage.rows.empty()) {
    assume_mean_lengths(fmt::format("benchmark {} holds no single requests", number), evidence);
  }
  if (stage.kind == StageLoad::Kind::kAtOnce) {
    evidence.flags.emplace_back("overloaded: all requests at once");
  }
  require_load(evidence);
  return evidence;
}

/// What the synthetic texts were made from, as the report repeats guidellm's --data: a map as JSON
/// or Python writes it, or "prompt_tokens=256,output_tokens=128".
Evidence data_of(const document::Node& document) {
  Evidence evidence;
  const document::Node* arguments = member_at(document, "args");
  const auto data =
      arguments == nullptr ? std::span<const document::Node>() : items_at(*arguments, "data");
  evidence.problem = "the report repeats no --data";
  if (data.size() != 1 || !data.front().is_string()) {
    return evidence;
  }
  std::string text = data.front().as_string();
  if (text.find('{') == std::string::npos) {
    text = "{" + text + "}";
    for (std::size_t at = text.find('='); at != std::string::npos; at = text.find('=')) {
      text.replace(at, 1, ": ");
    }
  }
  const auto node = document::parse_yaml(text, "args.data");
  if (!node || member_at(*node, "prompt_tokens") == nullptr) {
    return evidence;
  }
  evidence.problem.clear();
  StrictMap section(&*node, "args.data");
  read_synthetic_data(section, evidence);
  return evidence;
}

}  // namespace

std::vector<Evidence> read_guidellm(const document::Node& document) {
  std::vector<Evidence> all;
  const Evidence data = data_of(document);
  const auto& benchmarks = member_at(document, "benchmarks")->items();
  for (std::size_t i = 0; i < benchmarks.size(); ++i) {
    all.push_back(read_benchmark(benchmarks[i], i));
    all.back().generation_config = sampling_of(document);
    if (data.problem.empty() && data.sharing.shared_prefix > 0) {
      // Laws, not each benchmark's means: they are runs of one server, whose cache stays warm.
      all.back().sharing = data.sharing;
      all.back().input = data.input;
      all.back().output = data.output;
    }
  }
  return all;
}

}  // namespace ridgeline::evidence::validate
