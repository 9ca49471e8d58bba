#include "cluster/scaling/rolling_update.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/parse.hpp"

namespace ridgeline::scaling {
namespace {

constexpr std::int64_t kPercent = 100;

}  // namespace

std::optional<CountOrPercent> count_or_percent(std::string_view text) {
  CountOrPercent read{.value = 0, .is_percent = text.ends_with('%')};
  if (read.is_percent) {
    text.remove_suffix(1);
  }
  read.value = core::parse_whole<std::int64_t>(text).value_or(-1);
  if (read.value < 0 || (read.is_percent && read.value > kPercent)) {
    return std::nullopt;
  }
  return read;
}

UpdateLimits update_limits(std::int64_t replicas, const UpdateRule& rule) {
  const auto& [surge, unavailable] = rule;
  UpdateLimits limits{.replicas = replicas, .surge = surge.value, .unavailable = unavailable.value};
  if (surge.is_percent) {
    limits.surge = (replicas * surge.value + kPercent - 1) / kPercent;
  }
  if (unavailable.is_percent) {
    limits.unavailable = replicas * unavailable.value / kPercent;
  }
  limits.unavailable = std::min(limits.unavailable, replicas);
  if (limits.surge == 0 && limits.unavailable == 0) {
    limits.unavailable = 1;
  }
  return limits;
}

UpdateStep update_step(const UpdateLimits& limits, const UpdateState& state) {
  UpdateStep step;
  step.retire_new =
      std::max<std::int64_t>(state.new_ready + state.new_unready - limits.replicas, 0);
  if (step.retire_new > 0) {
    return step;
  }
  const std::int64_t all =
      state.old_ready + state.old_unready + state.new_ready + state.new_unready;
  step.start =
      std::max<std::int64_t>(0,
                             std::min({limits.replicas + limits.surge - all,
                                       limits.replicas - state.new_ready - state.new_unready,
                                       state.free_places}));
  const std::int64_t fewest_ready = limits.replicas - limits.unavailable;
  const std::int64_t may_go = all - state.new_unready - fewest_ready;
  step.retire_unready = std::clamp<std::int64_t>(may_go, 0, state.old_unready);
  if (may_go > 0) {
    step.retire_ready = std::clamp<std::int64_t>(
        state.old_ready + state.new_ready - fewest_ready, 0, state.old_ready);
  }
  return step;
}

}  // namespace ridgeline::scaling
