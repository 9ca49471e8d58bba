#include "engine/frontend.hpp"

#include <algorithm>

#include "core/time.hpp"
#include "core/units.hpp"

namespace ridgeline::engine {

core::SimTime Frontend::admit(core::SimTime sent, core::Tokens prompt_tokens) {
  using core::Duration;
  using core::SimTime;
  const SimTime ready = SimTime::saturating_sum(sent, path_.network);
  const Duration of_tokens =
      Duration::saturating_product(path_.frontend_per_token, prompt_tokens.value());
  free_at_ = SimTime::saturating_sum(std::max(free_at_, ready),
                                     Duration::saturating_sum(path_.frontend, of_tokens));
  return free_at_;
}

}  // namespace ridgeline::engine
