#include "sim/horizon.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/text.hpp"
#include "core/time.hpp"
#include "engine/options.hpp"
#include "scenario/resolve.hpp"

namespace ridgeline::sim {
namespace {

/// Longer than any time of a server around its GPU: such a one is a slip of unit.
constexpr core::Duration kImplausible = core::Duration::seconds(3600);

std::string setting_to_change(const scenario::Resolved& resolved, std::int64_t completed) {
  // Where a whole run has no room for one answer, a fact that the user changed is the likely cause.
  for (const scenario::Patch& patch : resolved.deployment->section.patches) {
    if (completed == 0 && patch.target == "hardware") {
      return fmt::format("set.{}.{}", patch.target, patch.key);
    }
  }
  const engine::RequestPath& path = resolved.deployment->path;
  const engine::GrammarTimes grammars =
      resolved.deployment->engine.grammars.value_or(engine::GrammarTimes());
  const std::pair<const char*, core::Duration> times[] = {
      {"network_in", path.network},
      {"frontend_time", path.frontend},
      {"frontend_token_time", path.frontend_per_token},
      {"emit_time", path.emit},
      {"delivery_time", path.deliver},
      {"close_time", path.close},
      {"host_step_time", resolved.deployment->host.per_step},
      {"host_sequence_time", resolved.deployment->host.per_sequence},
      {"grammar_compile_time", grammars.compile},
      {"grammar_mask_time", grammars.mask}};
  for (const auto& [name, time] : times) {
    if (time >= kImplausible) {
      return fmt::format("serving.{}", name);
    }
  }
  const auto& workload = resolved.workload.section;
  return workload.trace         ? "workload.trace"
         : workload.num_prompts ? "workload.num_prompts"
                                : "workload";
}

}  // namespace

core::SimTime last_step_end(const engine::RequestPath& path) {
  const core::Duration range = core::SimTime::last().since_start();
  const core::Duration too_long = range + core::Duration::ticks(1);
  return core::SimTime::at(range - std::min(path.after_last_token(), too_long));
}

core::Error past_horizon(const scenario::Resolved& resolved,
                         std::int64_t completed,
                         std::optional<std::int64_t> total) {
  const std::string of_all = total ? fmt::format(" of {}", *total) : "";
  return {.code = core::ErrorCode::kInfeasible,
          .field = setting_to_change(resolved, completed),
          .message = fmt::format("the run passes {} s, the range of simulated time, with {}{} "
                                 "requests answered; expected it to end before",
                                 core::shortest(core::SimTime::last().to_seconds()),
                                 completed,
                                 of_all),
          .where = {},
          .hint =
              "fewer requests, shorter answers, or faster steps: is a unit of the hardware or "
              "of a serving time wrong?"};
}

}  // namespace ridgeline::sim
