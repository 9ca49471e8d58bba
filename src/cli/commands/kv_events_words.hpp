#pragma once

#include <optional>
#include <string_view>

#include "core/result.hpp"
#include "serve/event_socket.hpp"

namespace ridgeline::cli {

/// vLLM's --kv-events-config: a JSON object. Nothing where it does not want events. Fails with all
/// that is wrong with it.
[[nodiscard]] core::Result<std::optional<serve::KvEventsConfig>> read_kv_events(
    std::string_view json);

}  // namespace ridgeline::cli
