#pragma once

#include <cstdint>

#include "core/ids.hpp"

namespace ridgeline::routing {

/// Milliseconds of a request: its time to first token, and from one token to the next.
struct Latency {
  double ttft_ms = 0.0;
  double tpot_ms = 0.0;
};

/// What a router knows of an instance and a request that may go there: what a predictor is asked
/// with. The output length is not part of it.
struct Prospect {
  core::RequestId request = {};
  core::InstanceId instance = {};
  std::int64_t running = 0;          ///< Requests that hold a seat, as last read, like the next.
  double kv_usage = 0.0;             ///< Used share of the KV blocks, 0 to 1.
  std::int64_t queued_tokens = 0;    ///< Prompt tokens sent there and believed not yet computed.
  std::int64_t prompt_tokens = 0;    ///< Tokens of the request's prompt.
  std::int64_t uncached_tokens = 0;  ///< Prompt tokens believed not to be in the instance's cache.
};

/// Predicts the latency of a request at an instance.
class LatencyPredictor {
 public:
  LatencyPredictor() = default;
  LatencyPredictor(const LatencyPredictor&) = delete;
  LatencyPredictor& operator=(const LatencyPredictor&) = delete;
  virtual ~LatencyPredictor() = default;

  /// Equal prospects get equal answers.
  [[nodiscard]] virtual Latency predict(const Prospect& prospect) const = 0;
};

}  // namespace ridgeline::routing
