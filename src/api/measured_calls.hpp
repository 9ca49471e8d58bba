#pragma once

#include "api/call.hpp"
#include "api/call_document.hpp"
#include "core/result.hpp"

/// Verbs of rl_call about measured runs: the keys `files`, `histories` and `threads`; the others
/// are a scenario's, and win over what the records say.
namespace ridgeline::api {

/// What `ridgeline validate --format json` prints.
/// Interrupted, of the records that were predicted until then.
[[nodiscard]] core::Result<Reply> validate(CallDocument& document, const CallHost& host);

/// What `ridgeline calibrate --format json` prints, of the constants that the key `fit` names or of
/// all, with `scenario`: the calibrated server, which `run` takes. Where the kernels do not match
/// the measurements the code is 99, `scenario` is null, and `mismatch` says why.
/// Interrupted, an error with the code 130.
[[nodiscard]] core::Result<Reply> calibrate(CallDocument& document, const CallHost& host);

}  // namespace ridgeline::api
