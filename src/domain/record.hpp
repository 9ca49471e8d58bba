#pragma once

#include <cstdint>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/step.hpp"

namespace ridgeline::domain {

/// How a request ended.
enum class Outcome : std::uint8_t {
  kFinished,      ///< Generated all that it was to generate.
  kLengthCapped,  ///< Cut by max_model_len.
  kRejected,      ///< Never admitted: it cannot fit (longer than max_model_len, or more blocks than
                  ///< exist).
  kAborted,       ///< Cancelled by the client.
  kUnfinished,    ///< Still in the system when the run was interrupted or its horizon ended.
  kFailed,        ///< Lost with an instance or a gateway that failed, after the last attempt.
  kNoSuchModel,   ///< Refused at the gateway: no pool serves its model.
  kExpired,       ///< Waited in a gateway's queue for as long as it may.
};
inline constexpr std::size_t kNumOutcomes = 8;

/// One request's life on the engine's clock. Instants after its end are SimTime::never().
struct RequestRecord {
  core::RequestId id;
  core::InstanceId instance;  ///< Where it was served; none where an engine runs on its own.
  Outcome outcome = Outcome::kFinished;
  core::Tokens prompt_tokens;
  core::Tokens output_tokens;  ///< Generated.
  core::Tokens cached_tokens;  ///< Prompt tokens found in the prefix cache at first admission.
  std::int32_t preemptions = 0;
  core::LabelSetId label_set;  ///< As domain::Request::label_set.
  core::SimTime arrival;       ///< Sent by the client.
  core::SimTime queued;        ///< Reached the engine's waiting queue.
  core::SimTime first_scheduled = core::SimTime::never();
  core::SimTime first_token = core::SimTime::never();  ///< End of the step that sampled it.
  core::SimTime last_token = core::SimTime::never();
  core::SimTime failed = core::SimTime::never();  ///< When it did, or its server aborted it.
  std::int32_t attempts = 1;  ///< How often it was sent to an instance; the rest is of the last.
  core::Duration gateway_wait = {};  ///< From its arrival at a gateway to its leaving a queue.

  friend bool operator==(const RequestRecord&, const RequestRecord&) = default;
};

/// `steps` consecutive steps of one batch composition, or one step. Step i (from 0) takes
/// period + i * period_growth from the end of the step before (or from the idle engine's start) to
/// its own end.
struct StepRecord {
  std::int64_t first_step = 0;  ///< Number of the first step, from 0.
  std::int64_t steps = 1;
  core::SimTime start;  ///< When the first step starts on the GPU.
  core::Duration period;
  core::Duration period_growth;
  std::int64_t num_decodes = 0;
  core::Tokens decode_context;       ///< Before the first step; grows by num_decodes per step.
  core::Tokens shared_context = {};  ///< StepBatch::shared_context, of each step.
  std::int64_t num_prefills = 0;
  core::Tokens prefill_tokens;
  core::Tokens prefill_context = {};  ///< Tokens of the chunks' prompts before them.
  StepTime time;                      ///< Time of the first step.
  core::Duration gpu_growth;  ///< Growth of the GPU time per step, on the part `growth_kind`.
  Bottleneck growth_kind = Bottleneck::kMemory;
  core::Blocks used_blocks;  ///< KV blocks in use after the last step's scheduling.
  core::InstanceId instance = core::InstanceId(0);  ///< Whose steps they are; the first alone: 0.

  /// That of one step alone.
  static StepRecord of_one(std::int64_t number,
                           const StepBatch& batch,
                           core::SimTime start,
                           core::Duration period,
                           const StepTime& time,
                           core::Blocks used_blocks) {
    core::Tokens before;
    for (const PrefillChunk& chunk : batch.prefills) {
      before += chunk.past;
    }
    return {.first_step = number,
            .steps = 1,
            .start = start,
            .period = period,
            .period_growth = {},
            .num_decodes = batch.num_decodes,
            .decode_context = batch.decode_context,
            .shared_context = batch.shared_context,
            .num_prefills = static_cast<std::int64_t>(batch.prefills.size()),
            .prefill_tokens = batch.num_tokens() - core::Tokens(batch.num_decodes),
            .prefill_context = before,
            .time = time,
            .gpu_growth = {},
            .growth_kind = Bottleneck::kMemory,
            .used_blocks = used_blocks};
  }
};

/// `requests` requests, each receiving tokens at the gaps gap, gap + growth, ..., `count` gaps in
/// all.
struct TokenGaps {
  core::Duration gap;
  core::Duration growth;
  std::int64_t count = 1;
  std::int64_t requests = 1;
};

/// Where the engine reports to. Implemented by metrics; must not influence the run.
class RecordSink {
 public:
  virtual ~RecordSink() = default;
  virtual void on_request(const RequestRecord& record) = 0;
  virtual void on_steps(const StepRecord& record) = 0;
  virtual void on_token_gaps(const TokenGaps& gaps) = 0;
  /// A hint that on_request() may follow for that request: what it needs can be fetched
  /// (core/fetch.hpp).
  virtual void expect(core::RequestId id) { static_cast<void>(id); }
};

}  // namespace ridgeline::domain
