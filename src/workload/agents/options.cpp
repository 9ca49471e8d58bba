#include "workload/agents/options.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/time.hpp"
#include "workload/agents/replay.hpp"

namespace ridgeline::workload::agents {

core::Result<ReplayOptions> scenario_options(std::string_view name) {
  ReplayOptions options;
  if (name == "agentx") {
    return options;
  }
  if (name == "inferencex-agentx-mvp") {
    options.duration = core::Duration::seconds(1800);
    options.start_min_ratio = 0.0;
    options.start_max_ratio = 1.0;
    options.warmup_requests_per_lane = std::nullopt;
    options.tree_idle_cap = std::nullopt;
    return options;
  }
  return core::fail(core::Error{
      .field = "scenario",
      .message = fmt::format("found '{}', expected 'agentx' or 'inferencex-agentx-mvp'", name)});
}

bool is_context_overflow(std::string_view error) {
  constexpr auto kTexts = std::to_array<std::string_view>(
      {"context length", "maximum context", "context_length_exceeded", "prompt is too long"});
  std::string lower(error);
  std::ranges::transform(lower, lower.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  return std::ranges::any_of(
      kTexts, [&](std::string_view text) { return lower.find(text) != std::string::npos; });
}

}  // namespace ridgeline::workload::agents
