#include "engine/frontend.hpp"

#include <algorithm>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "engine/options.hpp"

namespace ridgeline::engine {

core::SimTime Frontend::admit(core::SimTime sent, core::Tokens prompt_tokens) {
  const core::SimTime ready = sent + path_.network;
  free_at_ =
      std::max(free_at_, ready) + path_.frontend + path_.frontend_per_token * prompt_tokens.value();
  return free_at_;
}

PathTimes path_times(const RequestPath& path, const domain::RequestRecord& record) {
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
