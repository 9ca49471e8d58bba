#include "evidence/validate/evidence_limits.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "evidence/validate/evidence.hpp"

namespace ridgeline::evidence::validate {
namespace {

/// Milliseconds from a nanosecond to the longest run; tokens a second of the same width.
constexpr double kLeastFigure = 1e-6;
constexpr double kMostFigure = kLongestRunSeconds * 1e3;
constexpr double kMostPerSecond = 1e9;
constexpr double kMostRanks = 65'536;
/// 64 M tokens in blocks of 16: some ten times the cache of the largest GPUs.
constexpr double kMostBlocks = 4'194'304;
constexpr double kMostCount = 1e9;

class LimitCheck {
 public:
  explicit LimitCheck(std::string& problem) : problem_(problem) {}

  void range(const std::string& name, double value, double lowest, double highest) {
    if (problem_.empty() && !(value >= lowest && value <= highest)) {
      problem_ = fmt::format(
          "{}: {:.6g} is out of range, expected {:.6g} to {:.6g}", name, value, lowest, highest);
    }
  }
  template <class T>
  void range(const std::string& name,
             const std::optional<T>& value,
             double lowest,
             double highest) {
    if (value) {
      range(name, static_cast<double>(*value), lowest, highest);
    }
  }
  /// What is out of range is taken out too, so that reports need not fear it.
  void figures(const std::string& of, Figures& figures) {
    for (std::size_t i = 0; i < kNumFigures; ++i) {
      for (std::size_t j = 0; j < kNumLevels; ++j) {
        auto& value = figures.values[i][j];
        range(fmt::format("{}.{}.{}", of, kFigureNames[i], kLevelNames[j]),
              value,
              kLeastFigure,
              kMostFigure);
        if (value && !(*value >= kLeastFigure && *value <= kMostFigure)) {
          value.reset();
        }
      }
    }
  }
  void counts(const std::string& of, const TokenCounts& counts) {
    range(of, counts.mean, 0.0, kMostTokens);
    range(of, counts.std, 0.0, kMostTokens);
    range(of, counts.lowest, -kMostTokens, kMostTokens);
    range(of, counts.highest, -kMostTokens, kMostTokens);
  }

 private:
  std::string& problem_;
};

void check_load(const Evidence& evidence, LimitCheck& check) {
  double requests = 0.0;
  double seconds = 0.0;
  for (const auto& stage : evidence.stages) {
    requests += static_cast<double>(stage.requests);
    seconds += stage.duration_s;
    check.range("workload.concurrency", static_cast<double>(stage.concurrency), 0, kMostRequests);
    for (const auto& row : stage.rows) {
      check.range("arrival", row.arrival_s, 0.0, kLongestRunSeconds);
      check.range("input_tokens", static_cast<double>(row.input_tokens), 1.0, kMostTokens);
      check.range("output_tokens", static_cast<double>(row.output_tokens), 1.0, kMostTokens);
    }
  }
  check.range("workload: requests", requests, 0.0, kMostRequests);
  check.range("workload: seconds", seconds, 0.0, kLongestRunSeconds);
  check.counts("workload.input", evidence.input);
  check.counts("workload.output", evidence.output);
  check.range("workload: rate", evidence.offered_per_s, 0.0, kMostPerSecond);
  check.range("measured: rate", evidence.completed_per_s, 0.0, kMostPerSecond);
  const PromptSharing& sharing = evidence.sharing;
  check.range("workload.prefix.distinct_prompts",
              static_cast<double>(sharing.distinct_prompts),
              0.0,
              kMostRequests);
  check.range("workload.prefix.prompts_per_group",
              static_cast<double>(sharing.prompts_per_group),
              1.0,
              kMostCount);
  check.range("workload.prefix.shared_prefix_tokens",
              static_cast<double>(sharing.shared_prefix),
              0.0,
              kMostTokens);
}

void check_server(const Evidence& evidence, LimitCheck& check) {
  check.range("tp", static_cast<double>(evidence.tensor_parallel), 1.0, kMostRanks);
  check.range("pp", static_cast<double>(evidence.pipeline_parallel), 1.0, kMostRanks);
  check.range("dp", static_cast<double>(evidence.data_parallel), 1.0, kMostRanks);
  check.range("ep", static_cast<double>(evidence.expert_parallel), 1.0, kMostRanks * kMostRanks);
  const ServerFacts& server = evidence.server;
  check.range("server.max_model_len", server.max_model_len, 0.0, kMostCount);
  check.range("server.max_num_seqs", server.max_num_seqs, 0.0, kMostRequests);
  check.range("server.max_num_batched_tokens", server.max_num_batched_tokens, 0.0, kMostTokens);
  check.range("server.block_size", server.block_size, 1.0, kMostTokens);
  check.range("server.num_gpu_blocks", server.num_gpu_blocks, 0.0, kMostBlocks);
}

}  // namespace

void check_limits(Evidence& evidence) {
  LimitCheck check(evidence.problem);
  check_server(evidence, check);
  check_load(evidence, check);
  check.figures("measured", evidence.measured);
  for (auto& peer : evidence.peers) {
    check.figures("predictions." + peer.name, peer.figures);
  }
}

}  // namespace ridgeline::evidence::validate
