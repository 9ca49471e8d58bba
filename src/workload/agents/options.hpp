#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "workload/agents/replay.hpp"
#include "workload/agents/trace.hpp"

namespace ridgeline::workload::agents {

/// What agentx-harness sets under the name of a scenario, `agentx` or `inferencex-agentx-mvp`.
[[nodiscard]] core::Result<ReplayOptions> scenario_options(std::string_view name);

/// Which traces of a file are played, in their order.
struct Selection {
  std::optional<std::int64_t> max_context_length = {};  ///< The server's, in tokens.
  std::int64_t num_dataset_entries = 393;

  [[nodiscard]] bool takes(const Trace& trace) const {
    return !max_context_length || peak_context(trace) <= *max_context_length;
  }
};

/// Text that a server's errors contain where a prompt is too long for the model.
[[nodiscard]] bool is_context_overflow(std::string_view error);

/// Characters that are put before the first message of the user, another text for each play of a
/// trace, so that plays share no prefix.
inline constexpr std::int64_t kMarkerCharacters = 20;

}  // namespace ridgeline::workload::agents
