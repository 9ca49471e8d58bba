// Results of `vllm bench serve --save-result` and SGLang's bench_serving.
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

#include "document/document.hpp"
#include "evidence/validate/bench_checks.hpp"
#include "evidence/validate/client_load.hpp"
#include "evidence/validate/client_readers.hpp"
#include "evidence/validate/evidence.hpp"
#include "evidence/validate/loose_node.hpp"

namespace ridgeline::evidence::validate {
namespace {

Figures bench_figures(const document::Node& node, Evidence& evidence) {
  struct Name {
    Figure figure;
    std::string_view vllm;
    std::string_view other;  ///< SGLang's name, where it differs.
  };
  static constexpr auto kNames = std::to_array<Name>({{Figure::kE2e, "e2el", "e2e_latency"},
                                                      {Figure::kTtft, "ttft", ""},
                                                      {Figure::kTpot, "tpot", ""},
                                                      {Figure::kItl, "itl", ""}});
  static constexpr std::array<std::string_view, kNumLevels> kPrefixes = {
      "mean", "median", "p90", "p99"};
  Figures figures;
  for (const auto& name : kNames) {
    for (std::size_t level = 0; level < kNumLevels; ++level) {
      for (const auto metric : {name.vllm, name.other}) {
        if (metric.empty()) {
          continue;
        }
        // A single token has no TPOT: those files then hold a zero.
        const auto key = fmt::format("{}_{}_ms", kPrefixes[level], metric);
        if (const auto value = read_statistic(node, key, evidence)) {
          figures.at(name.figure, static_cast<Level>(level)) = value;
        }
      }
    }
  }
  const auto throughput = number_at(node, "output_throughput");
  if (throughput && *throughput > 0.0) {
    figures.at(Figure::kOutputThroughput, Level::kMean) = throughput;
  }
  return figures;
}

/// The lists of a file that was saved in detail, with an item for each request.
struct BenchLists {
  std::span<const document::Node> inputs;
  std::span<const document::Node> outputs;
  std::span<const document::Node> starts;  ///< Newer versions have them.
  std::span<const document::Node> ttfts;
};

/// The lists, or none where their lengths differ: then nothing says which item is of which request.
BenchLists bench_lists(const document::Node& node, Evidence& evidence) {
  const BenchLists lists{.inputs = items_at(node, "input_lens"),
                         .outputs = items_at(node, "output_lens"),
                         .starts = items_at(node, "start_times"),
                         .ttfts = items_at(node, "ttfts")};
  const auto differs = [&](std::string_view name, std::span<const document::Node> list) {
    if (list.size() == lists.inputs.size() || (list.empty() && name != "output_lens")) {
      return false;
    }
    evidence.doubts.push_back(
        fmt::format("{} has {} items, expected {}, as input_lens has: single requests are not used",
                    name,
                    list.size(),
                    lists.inputs.size()));
    return true;
  };
  const bool differ = differs("output_lens", lists.outputs) ||
                      differs("start_times", lists.starts) || differs("ttfts", lists.ttfts);
  return differ ? BenchLists() : lists;
}

/// The single requests. Failed ones have no answer, and no start to go by.
std::vector<ClientRequest> bench_requests(const BenchLists& lists) {
  std::vector<ClientRequest> requests;
  for (std::size_t i = 0; i < lists.inputs.size(); ++i) {
    if (lists.outputs[i].is_number() && lists.outputs[i].as_real() == 0.0) {
      continue;
    }
    ClientRequest request;
    const auto read =
        [&](std::string_view name, std::span<const document::Node> list, const Allowed& allowed) {
          return read_number(&list[i], fmt::format("{}[{}]", name, i), allowed, request.problem);
        };
    request.start_place = fmt::format("start_times[{}]", i);
    request.input_tokens = read("input_lens", lists.inputs, kAllowedTokens);
    request.output_tokens = read("output_lens", lists.outputs, kAllowedTokens);
    if (!lists.starts.empty()) {
      request.start_s = read("start_times", lists.starts, kAnyTime);
    }
    if (!lists.ttfts.empty()) {
      request.ttft_ms = kMillisecondsPerSecond * read("ttfts", lists.ttfts, kAllowedTime);
    }
    requests.push_back(std::move(request));
  }
  return requests;
}

/// Whether the run lasted as long as its requests say: the last first token, and on average the
/// last token, came before the end.
void check_duration(const document::Node& node,
                    const std::vector<ClientRequest>& sound,
                    Evidence& evidence) {
  /// Clocks are read at slightly different moments.
  constexpr double kTolerance = 1.01;
  const auto duration = number_at(node, "duration");
  if (!duration || sound.empty()) {
    return;
  }
  double first = sound.front().start_s;
  double last = first;
  double mean = 0.0;
  for (const auto& request : sound) {
    first = std::min(first, request.start_s);
    last = std::max(last, request.start_s + request.ttft_ms.value_or(0.0) / kMillisecondsPerSecond);
    mean += request.start_s / static_cast<double>(sound.size());
  }
  const double e2e_ms = evidence.measured.at(Figure::kE2e, Level::kMean).value_or(0.0);
  const double least = std::max(last, mean + e2e_ms / kMillisecondsPerSecond) - first;
  if (least > *duration * kTolerance) {
    evidence.doubts.push_back(fmt::format(
        "duration is {:.6g} s, expected {:.6g} s or more, as start_times and latencies say",
        *duration,
        least));
  }
}

}  // namespace

bool is_sglang_bench(const document::Node& node) {
  return text_at(node, "backend").starts_with("sglang") ||
         member_at(node, "mean_e2e_latency_ms") != nullptr;
}

Evidence read_vllm_bench(const document::Node& node) {
  Evidence evidence;
  const bool is_sglang = is_sglang_bench(node);
  evidence.family = is_sglang ? "sglang-bench" : "vllm-bench";
  evidence.generator = is_sglang ? "sglang bench_serving" : "vllm bench";
  evidence.model = text_at(node, "model_id");
  const std::string date = text_at(node, "date");
  evidence.id = date.empty() ? evidence.family : fmt::format("{} {}", evidence.family, date);
  evidence.stage = "0";
  evidence.tells_server = false;
  evidence.e2e_to_last_token = true;
  evidence.tpot_to_last_token = true;
  evidence.generation_config = sampling_of(node);
  evidence.measured = bench_figures(node, evidence);
  const auto rate = number_at(node, "request_rate");
  const auto clients = number_at(node, "max_concurrency");
  const BenchLists lists = bench_lists(node, evidence);
  auto sound = sound_requests(bench_requests(lists), evidence);
  const bool timed = !sound.empty() && !lists.starts.empty();
  check_bench_totals(node, evidence);
  check_bench_rows(node, sound, timed, evidence);
  const double requests = sound.empty() ? number_at(node, "completed").value_or(0.0)
                                        : static_cast<double>(sound.size());
  if (timed) {
    check_duration(node, sound, evidence);
  }
  const bool open = rate && *rate > 0.0;
  if (clients && !open) {
    evidence.closed_loop = true;
    evidence.stages.push_back(closed_load(requests, *clients));
  } else if (open) {
    evidence.stages.push_back(open_load(requests, requests / *rate, StageLoad::Kind::kRandom));
    evidence.offered_per_s = clients ? std::nullopt : rate;
  } else {
    evidence.stages.push_back(open_load(requests, 0.0, StageLoad::Kind::kAtOnce));
  }
  if (requests > 0.0) {
    const double completed = number_at(node, "completed").value_or(requests);
    evidence.input = about(number_at(node, "total_input_tokens").value_or(0.0) / completed);
    evidence.output = about(number_at(node, "total_output_tokens").value_or(0.0) / completed);
  }
  note_throughput(requests, number_at(node, "request_throughput"), evidence);
  StageLoad& stage = evidence.stages.front();
  replay_requests(std::move(sound), evidence, stage);
  if (!timed && stage.kind == StageLoad::Kind::kRecorded) {
    // Nothing says when: evenly at the rate, or all at once.
    stage.kind = open ? StageLoad::Kind::kEven : StageLoad::Kind::kAtOnce;
  }
  if (stage.rows.empty()) {
    assume_mean_lengths("input_lens and output_lens are missing or not used", evidence);
  }
  require_load(evidence);
  return evidence;
}

}  // namespace ridgeline::evidence::validate
