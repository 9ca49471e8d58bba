#pragma once

#include <cstdint>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "metrics/request_metrics.hpp"

namespace ridgeline::metrics::testing {

constexpr core::SimTime at_ms(std::int64_t ms) {
  return core::SimTime::at(core::Duration::milliseconds(ms));
}

/// A completed request: sent at `arrival`, queued 2 ms and scheduled 3 ms later.
inline domain::RequestRecord finished(std::uint32_t id,
                                      std::int64_t arrival_ms,
                                      std::int64_t first_token_ms,
                                      std::int64_t last_token_ms,
                                      std::int64_t output_tokens) {
  domain::RequestRecord record;
  record.id = core::RequestId(id);
  record.prompt_tokens = core::Tokens(100);
  record.output_tokens = core::Tokens(output_tokens);
  record.arrival = at_ms(arrival_ms);
  record.queued = at_ms(arrival_ms + 2);
  record.first_scheduled = at_ms(arrival_ms + 5);
  record.first_token = at_ms(first_token_ms);
  record.last_token = at_ms(last_token_ms);
  return record;
}

inline domain::RequestRecord rejected(std::uint32_t id, std::int64_t arrival_ms) {
  domain::RequestRecord record;
  record.id = core::RequestId(id);
  record.outcome = domain::Outcome::kRejected;
  record.prompt_tokens = core::Tokens(100);
  record.arrival = at_ms(arrival_ms);
  record.queued = at_ms(arrival_ms + 2);
  return record;
}

/// The way from the engine to the client as a test states it: the server answers 1 ms after the
/// engine, the client sees a token 2 ms after that, and the end of the answer 1 ms after the last
/// token.
inline RequestLatency latency_of(const domain::RequestRecord& record) {
  if (!completed(record.outcome)) {
    return {};
  }
  const auto ms = [](std::int64_t count) { return core::Duration::milliseconds(count); };
  RequestLatency latency;
  latency.server_ttft = record.first_token - record.arrival + ms(1);
  latency.server_e2e = record.last_token - record.arrival + ms(1);
  latency.client_ttft = latency.server_ttft + ms(2);
  latency.client_e2e = latency.server_e2e + ms(3);
  latency.client_end = record.arrival + latency.client_e2e;
  return latency;
}

}  // namespace ridgeline::metrics::testing
