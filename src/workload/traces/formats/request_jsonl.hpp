#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "core/units.hpp"
#include "workload/item.hpp"
#include "workload/traces/format.hpp"
#include "workload/traces/reading/fields.hpp"

namespace ridgeline::workload {

/// What a line of our own format can say of a request.
enum class JsonlKey : std::uint8_t {
  kArrival,
  kInputTokens,
  kOutputTokens,
  kGroup,
  kAfter,
  kDelay,
  kPrompt,
  kReasoning,
  kSession,
  kTurn,
  kPriority,
  kSloClass,
  kTenant,
  kModel,
  kAdapter,
  kImages,
  kAudios,
  kVideos,
  kImageTokens,
  kAudioTokens,
  kVideoTokens,
  kStage,
  kMaxTokens,
  kAbort,
  kLimit,
  kRank,
};
inline constexpr std::array<std::string_view, 26> kJsonlKeys = {
    "arrival_s",     "input_tokens",
    "output_tokens", "group",
    "after",         "delay_s",
    "prompt",        "reasoning_tokens",
    "session",       "turn",
    "priority",      "slo_class",
    "tenant",        "model",
    "adapter",       "images",
    "audios",        "videos",
    "image_tokens",  "audio_tokens",
    "video_tokens",  "stage",
    "max_tokens",    "abort_s",
    "limit_tokens",  "data_parallel_rank"};
/// What `--requests-out` writes beside them: measured, and read over.
inline constexpr std::array<std::string_view, 10> kMeasuredKeys = {"request_id",
                                                                   "cached_tokens",
                                                                   "preemptions",
                                                                   "outcome",
                                                                   "queue_time_ms",
                                                                   "ttft_ms",
                                                                   "tpot_ms",
                                                                   "e2e_ms",
                                                                   "server_ttft_ms",
                                                                   "server_e2e_ms"};
/// Keys of a cluster's requests.
inline constexpr std::array<std::string_view, 8> kClusterKeys = {"instance",
                                                                 "num_attempts",
                                                                 "gateway_ms",
                                                                 "instance_queue_ms",
                                                                 "prefill_ms",
                                                                 "transfer_ms",
                                                                 "delivery_ms",
                                                                 "attempts"};
inline constexpr std::string_view kJsonlNeededKeys = "arrival_s, input_tokens, output_tokens";
/// The key that makes the first line one of settings.
inline constexpr std::string_view kJsonlHeaderKey = "ridgeline_workload";

/// What the first line says of the whole file, if it is one of settings.
struct JsonlSettings {
  bool groups = false;  ///< Requests stand in groups.
  bool waits = false;   ///< Some wait for answers.
  /// Content -1 - k is the answer of the file's request k, not of the group's.
  bool answers_are_absolute = false;
  core::Tokens block_tokens = core::Tokens(0);
  std::vector<Stage> stages = {Stage{}};
};
bool read_jsonl_settings(const TraceLine& line, JsonlSettings& settings);

/// Writes our own format: text that is JSON by construction, so that times are exact decimals.
[[nodiscard]] std::unique_ptr<TraceWriter> make_request_jsonl_writer();

}  // namespace ridgeline::workload
