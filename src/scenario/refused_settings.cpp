#include "scenario/refused_settings.hpp"

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "document/document.hpp"
#include "document/reader.hpp"
#include "scenario/options.hpp"

namespace ridgeline::scenario {
namespace {

constexpr std::string_view kEnginePrefix = "engine.";

// clang-format off
constexpr auto kRefused = std::to_array<RefusedSetting>({
    {"engine.max_num_partial_prefills", "max-num-partial-prefills", "1",
     "is refused by vLLM's V1 engine, which has no limit of that kind"},
    {"engine.max_long_partial_prefills", "max-long-partial-prefills", "1",
     "is refused by vLLM's V1 engine, which has no limit of that kind"},
    {"engine.max_queued_requests", "max-queued-requests", "0",
     "a limit of the queue is not modelled for sglang yet"},
    {"engine.disaggregation_mode", "disaggregation-mode", "null",
     "cluster.disaggregation.prefill_instances says which servers are which"},
    {"engine.enable_two_batch_overlap", "enable-two-batch-overlap", "false",
     "an overlap of two halves of a batch is not modelled for sglang yet"},
    {"engine.max_beam_width", "max-beam-width", "1",
     "a beam is not modelled for tensorrt-llm yet"},
    {"engine.host_cache_size", "host-cache-size", "0",
     "a host cache is not modelled for tensorrt-llm yet"},
    {"engine.batch_wait_timeout_ms", "batch-wait-timeout-ms", "0",
     "waiting for more requests is not modelled for tensorrt-llm yet, but in iterations"},
});

struct RefusedChoice {
  std::string_view path;
  std::string_view word;
  std::string_view reason;
};
constexpr auto kRefusedChoices = std::to_array<RefusedChoice>({
    {"engine.load_balance_method", "total_tokens", "total_tokens is not modelled for sglang yet"},
    {"engine.schedule_policy", "routing-key", "routing-key is not modelled for sglang yet"},
    {"engine.schedule_policy", "shortest-prefill-first", "shortest-prefill-first is not modelled for sglang yet"},
    {"engine.radix_eviction_policy", "tlru", "tlru is not modelled for sglang yet"},
    {"engine.speculative_algorithm", "DFLASH", "DFLASH is not modelled for sglang yet"},
    {"engine.speculative_algorithm", "DSPARK", "DSPARK is not modelled for sglang yet"},
    {"engine.speculative_algorithm", "UNO", "UNO is not modelled for sglang yet"},
    {"engine.context_chunking_policy", "FORCE_CHUNK", "FORCE_CHUNK is not modelled for tensorrt-llm yet"},
});
// clang-format on

}  // namespace

std::span<const RefusedSetting> refused_settings() {
  return kRefused;
}

void refuse_settings(document::ObjectReader& engine) {
  for (const RefusedSetting& setting : kRefused) {
    const std::string_view key = setting.path.substr(kEnginePrefix.size());
    const document::Node* const stated = engine.node(key);
    if (stated == nullptr || stated->is_null()) {
      continue;
    }
    const std::string value = stated->is_string() ? stated->as_string() : flow_text(*stated);
    if (value != setting.standard) {
      const bool names_value = setting.reason.starts_with("is ");
      engine.problem(
          key,
          names_value ? fmt::format("{} {}", value, setting.reason) : std::string(setting.reason));
    }
  }
}

std::optional<std::string_view> refused_choice(std::string_view path, std::string_view word) {
  for (const RefusedChoice& choice : kRefusedChoices) {
    if (choice.path == path && choice.word == word) {
      return choice.reason;
    }
  }
  return std::nullopt;
}

}  // namespace ridgeline::scenario
