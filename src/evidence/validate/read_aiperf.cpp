// AIPerf's exports: profile_export_aiperf.json and profile_export.jsonl.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
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

constexpr double kNanosecondsPerSecond = 1e9;

Evidence aiperf_run() {
  Evidence evidence;
  evidence.family = "aiperf";
  evidence.generator = "aiperf";
  evidence.id = "profile export";
  evidence.stage = "0";
  evidence.tells_server = false;
  evidence.e2e_to_last_token = true;
  evidence.tpot_to_last_token = true;
  return evidence;
}

/// Milliseconds in the unit that stands beside a metric; the tool writes "ms" unless a flag sets
/// another. Nothing for units that are none of time.
std::optional<double> milliseconds_in_unit(const document::Node& metric) {
  struct Unit {
    std::string_view name;
    double ms;
  };
  static constexpr auto kUnits = std::to_array<Unit>(
      {{"", 1.0}, {"ms", 1.0}, {"us", 1e-3}, {"ns", 1e-6}, {"s", 1e3}, {"sec", 1e3}});
  const std::string unit = text_at(metric, "unit");
  const auto* const known = std::ranges::find(kUnits, std::string_view(unit), &Unit::name);
  return known == kUnits.end() ? std::nullopt : std::optional(known->ms);
}

/// Where a metric stands: at the top, or in "records" in the first versions.
std::string path_of(const document::Node& node, std::string_view name) {
  return fmt::format("{}{}", member_at(node, name) == nullptr ? "records." : "", name);
}
std::optional<double> average(const document::Node& node, std::string_view name) {
  return number_at_path(node, path_of(node, name) + ".avg");
}

constexpr auto kMetrics =
    std::to_array<std::pair<Figure, std::string_view>>({{Figure::kE2e, "request_latency"},
                                                        {Figure::kTtft, "time_to_first_token"},
                                                        {Figure::kTpot, "inter_token_latency"}});

Figures aiperf_figures(const document::Node& node, Evidence& evidence) {
  static constexpr std::array<std::string_view, kNumLevels> kKeys = {"avg", "p50", "p90", "p99"};
  Figures figures;
  for (const auto& [figure, name] : kMetrics) {
    const std::string path = path_of(node, name);
    const document::Node* metric = member_at_path(node, path);
    const auto unit = metric == nullptr ? std::nullopt : milliseconds_in_unit(*metric);
    if (metric != nullptr && !unit) {
      evidence.doubts.push_back(
          fmt::format("{}.unit is \"{}\", expected ms, us, ns or s: it is not compared",
                      path,
                      text_at(*metric, "unit")));
    }
    for (std::size_t level = 0; unit && level < kNumLevels; ++level) {
      if (const auto value =
              read_statistic(node, fmt::format("{}.{}", path, kKeys[level]), evidence)) {
        figures.at(figure, static_cast<Level>(level)) = *value * *unit;
      }
    }
  }
  const auto throughput = average(node, "output_token_throughput");
  if (throughput && *throughput > 0.0) {
    figures.at(Figure::kOutputThroughput, Level::kMean) = throughput;
  }
  return figures;
}

/// Whether a record is one of a request that failed, was cancelled or only warmed the server up.
bool does_not_count(const document::Node& record) {
  const document::Node* metadata = member_at(record, "metadata");
  return member_at(record, "error") != nullptr ||
         (metadata != nullptr && (truth_at(*metadata, "was_cancelled").value_or(false) ||
                                  text_at(*metadata, "benchmark_phase") == "warmup"));
}

ClientRequest aiperf_request(const document::Node& record, std::int64_t line) {
  ClientRequest request;
  const auto number = [&](std::string_view path, const Allowed& allowed) {
    return read_number(
        at_path(record, path), fmt::format("line {}: {}", line, path), allowed, request.problem);
  };
  // Which times there are depends on the answer: one token has no gap.
  const auto time = [&](std::string_view name) -> std::optional<double> {
    const std::string path = fmt::format("metrics.{}", name);
    const document::Node* metric = member_at_path(record, path);
    const auto unit = metric == nullptr ? std::nullopt : milliseconds_in_unit(*metric);
    return unit ? std::optional(*unit * number(path + ".value", kAllowedTime)) : std::nullopt;
  };
  constexpr std::string_view kStart = "metadata.request_start_ns";
  request.start_place = fmt::format("line {}: {}", line, kStart);
  request.start_s = number(kStart, kAnyTime) / kNanosecondsPerSecond;
  request.input_tokens = number("metrics.input_sequence_length.value", kAllowedTokens);
  request.output_tokens = number("metrics.output_sequence_length.value", kAllowedTokens);
  request.ttft_ms = time("time_to_first_token");
  request.e2e_ms = time("request_latency");
  request.tpot_ms = time("inter_token_latency");
  return request;
}

std::vector<ClientRequest> aiperf_requests(const std::vector<ResultLine>& lines) {
  std::vector<ClientRequest> requests;
  for (const auto& [number, record] : lines) {
    if (!record) {
      requests.push_back(
          {.start_place = {},
           .problem = fmt::format("line {}: {}", number, record.error().front().message)});
    } else if (!does_not_count(*record)) {
      requests.push_back(aiperf_request(*record, number));
    }
  }
  return requests;
}

/// Replays the requests of the file beside the statistics, where there is one.
void replay_aiperf_requests(const std::string& path, double counted, Evidence& evidence) {
  const std::string file = requests_file("aiperf", path);
  if (!std::filesystem::exists(file)) {
    return;
  }
  const auto lines = read_result_lines(file);
  replay_if_complete(file_name(file),
                     lines ? core::Result<std::vector<ClientRequest>>(aiperf_requests(*lines))
                           : core::fail(lines.error()),
                     counted,
                     evidence,
                     evidence.stages.front());
  take_load_of_file(file, evidence);
}

/// How the tool sent its requests, wherever its versions and genai-perf say it.
struct Sending {
  std::optional<double> rate;
  std::optional<double> clients;
  bool is_even = false;
};
Sending sending_of(const document::Node& node) {
  const auto number = [&](std::string_view path) -> std::optional<double> {
    const auto value = number_at_path(node, path);
    return value && *value > 0.0 ? value : std::nullopt;
  };
  Sending sending;
  for (const std::string_view place :
       {"input_config.loadgen", "input_config", "input_config.perf_analyzer.stimulus"}) {
    sending.rate = number(fmt::format("{}.request_rate", place));
    sending.clients = number(fmt::format("{}.concurrency", place));
    const document::Node* load = member_at_path(node, place);
    sending.is_even = load != nullptr && text_at(*load, "request_rate_mode") == "constant";
    if (sending.rate || sending.clients) {
      return sending;
    }
  }
  const document::Node* phases = member_at_path(node, "input_config.phases");
  for (const document::Node& phase :
       phases != nullptr && phases->is_list() ? phases->items() : std::vector<document::Node>()) {
    const bool warms_up = text_at(phase, "kind") == "warmup" ||
                          truth_at(phase, "exclude_from_results").value_or(false);
    if (!warms_up) {
      sending = {.rate = number_at(phase, "rate"),
                 .clients = number_at(phase, "concurrency"),
                 .is_even = text_at(phase, "type") == "constant"};
    }
  }
  return sending;
}

}  // namespace

bool is_aiperf_request(const document::Node& record) {
  const document::Node* metadata = member_at(record, "metadata");
  return metadata != nullptr && metadata->is_map() && member_at(record, "metrics") != nullptr;
}

Evidence read_aiperf(const document::Node& node, const std::string& path) {
  Evidence evidence = aiperf_run();
  evidence.generation_config = sampling_of(node);
  evidence.measured = aiperf_figures(node, evidence);
  if (const document::Node* names = member_at_path(node, "input_config.endpoint.model_names");
      names != nullptr && names->is_list() && !names->items().empty() &&
      names->items().front().is_string()) {
    evidence.model = names->items().front().as_string();
  }
  const double requests = average(node, "request_count").value_or(0.0);
  const Sending sending = sending_of(node);
  if (sending.rate) {
    evidence.stages.push_back(
        open_load(requests,
                  requests / *sending.rate,
                  sending.is_even ? StageLoad::Kind::kEven : StageLoad::Kind::kRandom));
    evidence.offered_per_s = sending.rate;
  } else if (sending.clients) {
    evidence.closed_loop = true;
    evidence.stages.push_back(closed_load(requests, *sending.clients));
  } else {
    evidence.stages.push_back(open_load(requests, 0.0, StageLoad::Kind::kAtOnce));
  }
  note_throughput(requests, average(node, "request_throughput"), evidence);
  evidence.input = about(average(node, "input_sequence_length").value_or(0.0));
  evidence.output = about(average(node, "output_sequence_length").value_or(0.0));
  replay_aiperf_requests(path, requests, evidence);
  if (evidence.stages.front().rows.empty()) {
    assume_mean_lengths(file_name(requests_file("aiperf", path)) + " is missing or not used",
                        evidence);
  }
  require_load(evidence);
  // A `loadgen` without both sends all at once.
  const bool is_told = sending.rate || sending.clients || !evidence.stages.front().rows.empty() ||
                       member_at_path(node, "input_config.loadgen") != nullptr;
  if (evidence.problem.empty() && !is_told) {
    evidence.problem = "input_config does not say how requests were sent";
  }
  return evidence;
}

Evidence read_aiperf_requests(const std::vector<ResultLine>& lines) {
  return run_of_requests(aiperf_run(), aiperf_requests(lines));
}

}  // namespace ridgeline::evidence::validate
