#pragma once

#include "api/call.hpp"
#include "api/call_document.hpp"
#include "core/result.hpp"

namespace ridgeline::api {

/// `trace` and `report` of rl_call(): verbs that read files and run nothing.
[[nodiscard]] core::Result<Reply> describe_trace(CallDocument& document);
[[nodiscard]] core::Result<Reply> load_result(CallDocument& document);

}  // namespace ridgeline::api
