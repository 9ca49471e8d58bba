#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "observe/http_client.hpp"
#include "observe/metrics_page.hpp"
#include "observe/prompts.hpp"
#include "observe/run_clock.hpp"

/// What is asked of a server before it is measured.
namespace ridgeline::observe {

struct ServerFacts {
  std::string version;              ///< From /version; empty: it has none.
  std::vector<std::string> models;  ///< From /v1/models; empty: it has no such route.
  ServerMetrics metrics;            ///< From /metrics; empty: it has no such route.
};
/// Fails where the server cannot be reached, or wants another key.
[[nodiscard]] core::Result<ServerFacts> look_at_server(HttpClient& client,
                                                       const RunClock& clock,
                                                       const Target& target);
/// /metrics alone; empty where there is no such page.
[[nodiscard]] ServerMetrics look_at_metrics(HttpClient& client, const RunClock& clock);

/// How a server counts the tokens of our prompts.
struct PromptCounts {
  Overhead overhead;
  std::optional<double> tokens_per_word;  ///< Nothing: the server does not count tokens.
  std::string problem;                    ///< Why it does not; empty: it does.
};
/// Finds it out with /tokenize, or with prompts of 64 and 128 words and an answer of one token (for
/// sessions in chats, one more of three messages).
[[nodiscard]] PromptCounts count_prompts(HttpClient& client,
                                         const RunClock& clock,
                                         const PromptMaker::Options& options,
                                         bool has_turns);

}  // namespace ridgeline::observe
