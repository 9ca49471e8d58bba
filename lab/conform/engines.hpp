#pragma once

#include <string>

#include "core/result.hpp"
#include "lab/conform/engine_recording.hpp"

namespace ridgeline::conform {

/// TensorRT-LLM's loop, plain or overlapped, over a recording's requests. There is one version of
/// its rules. Notes all problems with the settings.
[[nodiscard]] EngineReplay replay_tensorrt_llm(const EngineRecording& recording,
                                               const std::string& version,
                                               core::Errors& errors);

/// SGLang's event loop, normal or overlapped, over a recording's requests.
[[nodiscard]] EngineReplay replay_sglang(const EngineRecording& recording,
                                         const std::string& version,
                                         core::Errors& errors);

}  // namespace ridgeline::conform
