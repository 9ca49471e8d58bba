#include "engine/frontend.hpp"

#include <algorithm>

#include "core/time.hpp"
#include "core/units.hpp"

namespace ridgeline::engine {

core::SimTime Frontend::admit(core::SimTime sent, core::Tokens prompt_tokens) {
  const core::SimTime ready = sent + path_.network;
  free_at_ =
      std::max(free_at_, ready) + path_.frontend + path_.frontend_per_token * prompt_tokens.value();
  return free_at_;
}

}  // namespace ridgeline::engine
