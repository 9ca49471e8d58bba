// inference-perf's reports: statistics of a run or stage, and one record a request.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "document/node_path.hpp"
#include "evidence/validate/client_files.hpp"
#include "evidence/validate/client_load.hpp"
#include "evidence/validate/client_readers.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/file_load.hpp"
#include "evidence/validate/loose_node.hpp"
#include "evidence/validate/result_document.hpp"

namespace ridgeline::evidence::validate {
namespace {

Evidence inference_perf_run() {
  Evidence evidence;
  evidence.family = "inference-perf";
  evidence.generator = "inference-perf";
  evidence.id = "lifecycle metrics";
  evidence.stage = "0";
  evidence.tells_server = false;
  evidence.tpot_to_last_token = true;
  return evidence;
}

Figures lifecycle_figures(const document::Node& node, Evidence& evidence) {
  struct Name {
    Figure figure;
    std::string_view key;
  };
  static constexpr auto kNames = std::to_array<Name>({{Figure::kE2e, "request_latency"},
                                                      {Figure::kTtft, "time_to_first_token"},
                                                      {Figure::kTpot, "time_per_output_token"}});
  static constexpr std::array<std::string_view, kNumLevels> kKeys = {
      "mean", "median", "p90", "p99"};
  Figures figures;
  for (const auto& name : kNames) {
    for (std::size_t level = 0; level < kNumLevels; ++level) {
      const auto path = fmt::format("successes.latency.{}.{}", name.key, kKeys[level]);
      if (const auto value = read_statistic(node, path, evidence)) {
        figures.at(name.figure, static_cast<Level>(level)) = *value * kMillisecondsPerSecond;
      }
    }
  }
  const auto throughput = number_at_path(node, "successes.throughput.output_tokens_per_sec");
  if (throughput && *throughput > 0.0) {
    figures.at(Figure::kOutputThroughput, Level::kMean) = throughput;
  }
  return figures;
}

/// The first of the paths that the node has; the first of all where it has none.
std::string_view path_in(const document::Node& node,
                         std::initializer_list<std::string_view> paths) {
  const auto* const found = std::ranges::find_if(
      paths, [&](std::string_view path) { return at_path(node, path) != nullptr; });
  return found == paths.end() ? *paths.begin() : *found;
}

/// Times of a request on its client's clock, in seconds.
struct TokenTimes {
  double first = 0.0;
  double last = 0.0;
  std::size_t count = 0;  ///< 1, or 2 for all that are more.
};
/// The first and the last token's time of a document; nothing where it has none.
std::optional<TokenTimes> token_times(const document::Node& item,
                                      const std::string& place,
                                      std::string& problem) {
  const std::string_view path =
      path_in(item, {"info.output_token_times", "info.response_metrics.output_token_times"});
  const document::Node* list = at_path(item, path);
  const auto times = list != nullptr && list->is_list() ? std::span(list->items())
                                                        : std::span<const document::Node>();
  if (times.empty()) {
    return std::nullopt;
  }
  const std::string name = fmt::format("{}{}", place, path);
  return TokenTimes{.first = read_number(&times.front(), name, kAnyTime, problem),
                    .last = read_number(&times.back(), name, kAnyTime, problem),
                    .count = times.size()};
}

ClientRequest lifecycle_request(const document::Node& item, std::size_t number) {
  ClientRequest request;
  const std::string place = fmt::format("request {}: ", number);
  const auto read = [&](std::string_view path, const Allowed& allowed) {
    return read_number(
        at_path(item, path), fmt::format("{}{}", place, path), allowed, request.problem);
  };
  const double start = read("start_time", kAnyTime);
  const double end = read("end_time", {.lowest = start, .highest = kAnyTime.highest});
  request.start_place = place + "start_time";
  request.start_s = start;
  request.input_tokens =
      read(path_in(item, {"info.input_tokens", "info.request_metrics.text.input_tokens"}),
           kAllowedTokens);
  request.output_tokens = read(
      path_in(item, {"info.output_tokens", "info.response_metrics.output_tokens"}), kAllowedTokens);
  const auto times = token_times(item, place, request.problem);
  if (!request.problem.empty()) {
    return request;
  }
  request.e2e_ms = (end - start) * kMillisecondsPerSecond;
  if (times) {
    request.ttft_ms = (times->first - start) * kMillisecondsPerSecond;
  }
  if (times && !(start <= times->first && times->first <= times->last && times->last <= end)) {
    request.problem = fmt::format(
        "{}info.output_token_times are {:.6f} to {:.6f}, expected in order between start_time, "
        "{:.6f}, and end_time, {:.6f}",
        place,
        times->first,
        times->last,
        start,
        end);
  }
  if (times && (times->count == 1) != (request.output_tokens <= 1.0)) {
    request.problem = fmt::format(
        "{}info.output_tokens is {:.6g}, expected {}, as "
        "info.output_token_times has",
        place,
        request.output_tokens,
        times->count == 1 ? "1" : "more");
  }
  if (times && request.output_tokens > 1.0) {
    request.tpot_ms =
        (times->last - times->first) * kMillisecondsPerSecond / (request.output_tokens - 1.0);
  }
  return request;
}

/// The requests that succeeded: their times follow from the tokens' where those stand.
std::vector<ClientRequest> lifecycle_requests(const document::Node& document) {
  std::vector<ClientRequest> all;
  for (std::size_t i = 0; i < document.items().size(); ++i) {
    if (member_at(document.items()[i], "error") == nullptr) {
      all.push_back(lifecycle_request(document.items()[i], i + 1));
    }
  }
  return all;
}

/// Replays the requests of the file beside the summary, where there is one.
void replay_lifecycle_requests(const std::string& path, double counted, Evidence& evidence) {
  const std::string file = requests_file("inference-perf", path);
  if (!std::filesystem::exists(file)) {
    return;
  }
  core::Result<std::vector<ClientRequest>> requests;
  if (const auto document = read_result_document(file); !document) {
    requests = core::fail(document.error());
  } else if (!is_inference_perf_requests(*document)) {
    requests = core::fail(core::Error{.message = "is no list of requests with start_time"});
  } else {
    requests = lifecycle_requests(*document);
  }
  replay_if_complete(
      file_name(file), std::move(requests), counted, evidence, evidence.stages.front());
  take_load_of_file(file, evidence);
}

}  // namespace

Evidence read_inference_perf(const document::Node& node, const std::string& path) {
  Evidence evidence = inference_perf_run();
  evidence.generation_config = sampling_of(node);
  evidence.measured = lifecycle_figures(node, evidence);
  const double requests = number_at_path(node, "successes.count").value_or(0.0);
  const double seconds = number_at_path(node, "load_summary.send_duration").value_or(0.0);
  evidence.offered_per_s = number_at_path(node, "load_summary.requested_rate");
  note_throughput(
      requests, number_at_path(node, "successes.throughput.requests_per_sec"), evidence);
  const auto clients = number_at_path(node, "load_summary.concurrency");
  evidence.closed_loop = clients && *clients >= 1.0 && !evidence.offered_per_s;
  evidence.stages.push_back(evidence.closed_loop
                                ? closed_load(requests, *clients)
                                : open_load(requests, seconds, StageLoad::Kind::kRandom));
  const auto mean = [&](std::initializer_list<std::string_view> paths) {
    return about(number_at_path(node, path_in(node, paths)).value_or(0.0));
  };
  evidence.input = mean({"successes.prompt_len.mean", "successes.prompt_tokens.mean"});
  evidence.output = mean({"successes.output_len.mean", "successes.output_tokens.mean"});
  constexpr double kMilliseconds = 1e3;
  auto gap = number_at_path(node, "successes.latency.inter_token_latency.mean");
  if (gap) {
    gap = *gap * kMilliseconds;
  }
  doubt_token_times(evidence, gap);
  replay_lifecycle_requests(path, requests, evidence);
  const StageLoad& stage = evidence.stages.front();
  if (stage.rows.empty()) {
    evidence.assumed.emplace_back(
        "Poisson arrivals given their number, prompts that share nothing");
    assume_mean_lengths(
        file_name(requests_file("inference-perf", path)) + " is missing or not used", evidence);
  }
  require_load(evidence);
  if (evidence.problem.empty() && stage.rows.empty() && seconds <= 0.0 && !evidence.closed_loop) {
    evidence.problem = "load_summary.send_duration is missing";
  }
  return evidence;
}

Evidence read_inference_perf_requests(const document::Node& document) {
  return run_of_requests(inference_perf_run(), lifecycle_requests(document));
}

}  // namespace ridgeline::evidence::validate
