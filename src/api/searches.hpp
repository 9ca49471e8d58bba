#pragma once

#include "api/call.hpp"
#include "api/call_document.hpp"
#include "core/result.hpp"

namespace ridgeline::api {

/// `sweep` and `plan` of rl_call().
[[nodiscard]] core::Result<Reply> sweep_points(CallDocument& document, const CallHost& host);
[[nodiscard]] core::Result<Reply> plan_deployment(CallDocument& document, const CallHost& host);

}  // namespace ridgeline::api
