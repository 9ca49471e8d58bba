#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "evidence/conform/conform.hpp"
#include "evidence/conform/engine_recording.hpp"

namespace ridgeline::evidence::conform {

/// TensorRT-LLM's loop, plain or overlapped, over a recording's requests: activated, fitting,
/// paused, context, generation, scheduled, active, waiting, tokens_out, dropped, finished; and the
/// numbers of free blocks where no prefix is reused. There is one version of its rules.
[[nodiscard]] std::vector<EngineRecord> replay_tensorrt_llm(const EngineRecording& recording,
                                                            const std::string& version,
                                                            core::Errors& errors);

/// SGLang's event loop, normal or overlapped, over a whole file: it reads its own settings,
/// requests (ignore_eos) and versions, compares ratios by value, and what has no order as sets.
[[nodiscard]] core::Result<std::vector<ConformResult>> conform_sglang(
    const document::Node& recording, const std::string& path);

}  // namespace ridgeline::evidence::conform
