// Results of `vllm bench serve --save-result` and SGLang's bench_serving.
#include <algorithm>
#include <array>
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
#include "sim/validate/client_load.hpp"
#include "sim/validate/client_readers.hpp"
#include "sim/validate/evidence.hpp"
#include "sim/validate/loose_node.hpp"

namespace ridgeline::sim::validate {
namespace {

Figures bench_figures(const core::Node& node) {
  struct Name {
    Figure figure;
    std::string_view vllm;
    std::string_view other;
  };
  static constexpr auto kNames = std::to_array<Name>({{Figure::kE2e, "e2el", "e2e_latency"},
                                                      {Figure::kTtft, "ttft", "ttft"},
                                                      {Figure::kTpot, "tpot", "tpot"},
                                                      {Figure::kItl, "itl", "itl"}});
  static constexpr std::array<std::string_view, kNumLevels> kPrefixes = {
      "mean", "median", "p90", "p99"};
  Figures figures;
  for (const auto& name : kNames) {
    for (std::size_t level = 0; level < kNumLevels; ++level) {
      for (const auto metric : {name.vllm, name.other}) {
        // A single token has no TPOT: those files then hold a zero.
        const auto value = number_at(node, fmt::format("{}_{}_ms", kPrefixes[level], metric));
        if (value && *value > 0.0) {
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

/// The single requests, where the file was saved in detail. Failed ones have no answer, and no
/// start to go by.
std::vector<ClientRequest> bench_requests(const core::Node& node) {
  const auto inputs = numbers_at(node, "input_lens");
  const auto outputs = numbers_at(node, "output_lens");
  const auto starts = numbers_at(node, "start_times");
  std::vector<ClientRequest> requests;
  if (inputs.size() != outputs.size()) {
    return requests;
  }
  const bool timed = starts.size() == inputs.size();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (outputs[i] != 0.0) {
      requests.push_back({.place = fmt::format("{}[{}]", timed ? "start_times" : "input_lens", i),
                          .start_s = timed ? starts[i] : 0.0,
                          .input_tokens = inputs[i],
                          .output_tokens = outputs[i]});
    }
  }
  return requests;
}

}  // namespace

Evidence read_vllm_bench(const core::Node& node) {
  Evidence evidence;
  evidence.family = "vllm-bench";
  evidence.generator = "vllm bench";
  evidence.model = text_at(node, "model_id");
  evidence.id = fmt::format("vllm-bench {}", text_at(node, "date"));
  evidence.stage = "0";
  evidence.tells_server = false;
  evidence.e2e_to_last_token = true;
  evidence.tpot_to_last_token = true;
  evidence.generation_config = sampling_of(node);
  evidence.measured = bench_figures(node);
  const double requests = number_at(node, "completed").value_or(0.0);
  const auto rate = number_at(node, "request_rate");
  const auto clients = number_at(node, "max_concurrency");
  const auto all = bench_requests(node);
  const bool timed = !all.empty() && member_at(node, "start_times") != nullptr;
  const bool open = rate && *rate > 0.0;
  if (clients && !(open && timed)) {
    evidence.closed_loop = true;
    evidence.stages.push_back(closed_load(requests, *clients));
  } else if (open) {
    evidence.stages.push_back(open_load(requests, requests / *rate, StageLoad::Kind::kRandom));
    evidence.offered_per_s = clients ? std::nullopt : rate;
  } else {
    evidence.stages.push_back(open_load(requests, 0.0, StageLoad::Kind::kAtOnce));
  }
  evidence.completed_per_s = sustained_rate(requests,
                                            number_at(node, "request_throughput"),
                                            evidence.measured.at(Figure::kE2e, Level::kMean));
  if (requests > 0.0) {
    evidence.input = about(number_at(node, "total_input_tokens").value_or(0.0) / requests);
    evidence.output = about(number_at(node, "total_output_tokens").value_or(0.0) / requests);
  }
  StageLoad& stage = evidence.stages.front();
  const bool at_once = stage.kind == StageLoad::Kind::kAtOnce;
  replay_requests(all, evidence, stage);
  if (at_once && !timed) {
    stage.kind = StageLoad::Kind::kAtOnce;
  }
  if (stage.rows.empty()) {
    evidence.assumed.emplace_back("every prompt and answer of the mean length");
  }
  require_load(evidence);
  return evidence;
}

}  // namespace ridgeline::sim::validate
