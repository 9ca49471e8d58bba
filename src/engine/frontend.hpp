#pragma once

#include <algorithm>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "engine/options.hpp"

namespace ridgeline::engine {

/// The API server's serial frontend: requests pass one after the other, which spreads bursts. Turns
/// a client's send time into the instant the request reaches the engine's waiting queue.
class Frontend {
 public:
  explicit Frontend(const RequestPath& path) : path_(path) {}

  /// To be called in order of arrival. SimTime::never() past the range of simulated time.
  core::SimTime admit(core::SimTime sent, core::Tokens prompt_tokens);

 private:
  RequestPath path_;
  core::SimTime free_at_;
};

/// Latencies of one finished request on the client's and on the server's clock.
struct PathTimes {
  core::Duration client_ttft;
  core::Duration client_e2e;
  core::Duration server_ttft;
  core::Duration server_e2e;
  core::SimTime client_end;  ///< When the client has the whole answer.
};
[[nodiscard]] inline PathTimes path_times(const RequestPath& path,
                                          const domain::RequestRecord& record) {
  // The server stamps a request when its own work on it is nearly done: prompts arrive tokenised.
  const core::SimTime at_server =
      record.queued - std::min(path.handoff, record.queued - record.arrival);
  const core::SimTime first = record.first_token + path.emit;
  const core::SimTime last = record.last_token + path.emit;
  const core::SimTime client_end = last + path.deliver + path.close;
  return {.client_ttft = first + path.deliver - record.arrival,
          .client_e2e = client_end - record.arrival,
          .server_ttft = first - at_server,
          .server_e2e = last - at_server,
          .client_end = client_end};
}

}  // namespace ridgeline::engine
