#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "document/embedded_file.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::records {

/// lab/data/studies/llm-d.yaml, compiled in.
std::span<const document::EmbeddedFile> campaign_files();

}  // namespace ridgeline::records

/// Published measurements of a whole fleet under several routing strategies.
namespace ridgeline::records {

/// The engine of the published campaigns, which are of autumn 2025.
inline constexpr const char* kCampaignEngine = "vllm@0.11";
/// Their gaps between tokens are half of the time between them, as if the client (inference-perf)
/// had noted two times for each token. Why is not published; the empty line behind each event of a
/// stream would do it. The figures say so themselves: evidence_of() of studies/llmd_evidence.hpp.
inline constexpr double kStampsPerToken = 2.0;

/// What a load generator was asked for, one after the other on warm servers.
struct CampaignStage {
  double rate = 0.0;     ///< Requests per second, nominal.
  double seconds = 0.0;  ///< Nominal: rate * seconds requests are sent.

  friend bool operator==(const CampaignStage&, const CampaignStage&) = default;
};

/// A way to route, as settings of a scenario.
struct Strategy {
  std::string name;
  std::vector<scenario::Override> settings;
};

/// A stage as it was measured.
struct MeasuredStage {
  std::string strategy;
  double rate = 0.0;            ///< Which stage.
  double arrivals_per_s = 0.0;  ///< Achieved.
  double output_tokens_per_s = 0.0;
  double ttft_mean_s = 0.0;
  double ttft_p90_s = 0.0;
  double itl_mean_s = 0.0;
};

/// Prompts are a group's system prompt and a question; each of the groups' prompts comes again and
/// again, in one drawn order.
struct Campaign {
  static constexpr std::int64_t kBlockTokens = 16;  ///< vLLM's default.
  static constexpr std::int64_t kNoLimit = 1'000'000;

  std::string id;  ///< Name of the campaign in its study.
  std::string model;
  std::int64_t tensor_parallel_size = 1;
  std::int64_t instances = 1;
  std::int64_t kv_tokens = 0;  ///< KV cache of one instance, as its engine reported.
  /// In flight at most through the gateway, which refuses more. No limit where none is known.
  std::int64_t gateway_requests = kNoLimit;
  bool poisson = false;  ///< Else evenly spaced arrivals.
  std::int64_t groups = 0;
  std::int64_t prompts_per_group = 0;
  std::int64_t system_tokens = 0;
  std::int64_t question_tokens = 0;
  std::int64_t output_tokens = 0;
  std::vector<CampaignStage> stages;
  std::vector<Strategy> strategies;
  std::vector<MeasuredStage> measured;

  /// Blocks of the engine's own size.
  [[nodiscard]] std::int64_t kv_blocks() const { return kv_tokens / kBlockTokens; }
  /// The row of a stage under a strategy; nullptr where none was published.
  [[nodiscard]] const MeasuredStage* find(const std::string& strategy, double rate) const;
  /// Notes the rate that a stage had under a strategy.
  void set_arrivals(const std::string& strategy, double rate, double arrivals_per_s);
};

/// Campaigns of a document. Problems name the campaign and its key.
[[nodiscard]] core::Result<std::vector<Campaign>> read_campaigns(const document::Node& document);
/// Those of the file compiled in.
[[nodiscard]] std::vector<Campaign> published_campaigns();
/// The one of a study; there must be one.
[[nodiscard]] Campaign published_campaign(const std::string& id);

}  // namespace ridgeline::records
