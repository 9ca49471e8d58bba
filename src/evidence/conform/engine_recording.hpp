#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "domain/request.hpp"
#include "evidence/conform/conform.hpp"

namespace ridgeline::evidence::conform {

/// A request of a recording from an engine other than vLLM.
struct EngineRequest {
  std::string name;
  std::int64_t arrive_step = 0;  ///< Offered before that iteration.
  domain::Request request;       ///< Numbered in the order of the file.
};

/// A recording: requests, and the settings under the engine's own names.
struct EngineRecording {
  std::string scenario;
  std::vector<EngineRequest> requests;
  const document::Node* cfg = nullptr;
  const document::Node* results = nullptr;
};

/// Reads a document with `engine`; notes all problems. `results` is a list of maps with the lists
/// versions and trace, unless a problem was noted.
[[nodiscard]] EngineRecording read_engine_recording(const document::Node& document,
                                                    core::Errors& errors);

/// What we found in one iteration, by key: compact text (text_of).
using EngineRecord = std::map<std::string, std::string>;
/// The first difference of a trace from ours. A record's keys that ours lacks are left alone; one
/// that a record lacks is as an empty one.
[[nodiscard]] std::optional<Difference> compare_trace(const document::Node& trace,
                                                      const std::vector<EngineRecord>& ours);

/// Replays a file of an engine other than vLLM through ours. Fails where the engine is not known or
/// the file is not sound.
[[nodiscard]] core::Result<std::vector<ConformResult>> conform_engine(
    const document::Node& document, const std::string& file);

}  // namespace ridgeline::evidence::conform
