#pragma once

#include <cstdint>

#include "core/time.hpp"
#include "core/units.hpp"
#include "engine/profiles.hpp"

namespace ridgeline::engine {

/// The resolved limits of one engine, in vLLM's words. Nothing here is optional any more: the scenario's
/// resolution (sim/) has filled every default.
struct EngineOptions {
  std::int64_t max_num_seqs = 256;
  core::Tokens max_num_batched_tokens{2048};
  core::Tokens max_model_len{4096};
  core::Tokens long_prefill_token_threshold{0};  ///< 0: off.
  core::Tokens block_size{16};
  core::Blocks num_gpu_blocks{0};  ///< Includes vLLM's null block, which is never handed out.
  bool enable_chunked_prefill = true;
  bool enable_prefix_caching = true;
  bool async_scheduling = true;
  bool log_steps = false;  ///< Report StepRecords (needed by --steps-out; totals are kept anyway).
  Profile profile;         ///< What the engine's version does differently from others.
};

/// Client and server time around the engine. Source and meaning of the defaults: kernel-model, section 7
/// (docs/models/kernel.md).
struct RequestPath {
  core::Duration network = core::Duration::microseconds(1500);         ///< Client to API server.
  core::Duration parse = core::Duration::microseconds(1000);           ///< HTTP parsing, before the frontend.
  core::Duration frontend = core::Duration::microseconds(1000);        ///< Serial part per request ...
  core::Duration frontend_per_token = core::Duration::microseconds(1); ///< ... and per prompt token.
  core::Duration emit = core::Duration::microseconds(1000);            ///< Engine to server's answer.
  core::Duration deliver = core::Duration::microseconds(2500);         ///< Server's answer to client.
  core::Duration close = core::Duration::microseconds(1500);           ///< Last token to end of request.

  static RequestPath off();
};

/// Host work of one step (scheduling, input preparation, output handling). A synchronous engine adds it to the
/// GPU's time, an asynchronous one hides it behind. Fitted on measured synchronous runs (docs/models/kernel.md).
struct HostTime {
  core::Duration per_step = core::Duration::microseconds(400);
  core::Duration per_sequence = core::Duration::microseconds(15);
};

}  // namespace ridgeline::engine
