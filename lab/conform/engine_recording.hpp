#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "domain/request.hpp"
#include "lab/conform/conform.hpp"

namespace ridgeline::conform {

/// A request of a recording from an engine other than vLLM.
struct EngineRequest {
  std::string name;
  std::int64_t arrive_step = 0;  ///< Offered before that iteration.
  bool ignore_eos = false;
  domain::Request request;  ///< Numbered in the order of the file.
};

/// A recording: requests, and the settings under the engine's own names.
struct EngineRecording {
  std::string scenario;
  std::vector<EngineRequest> requests;
  std::int64_t most_iterations = 0;  ///< One more than the longest trace has.
  const document::Node* cfg = nullptr;
  const document::Node* results = nullptr;
};

/// What we found in one iteration, by key: compact text (text_of).
using EngineRecord = std::map<std::string, std::string>;

/// What we found in a whole run.
struct EngineReplay {
  std::string profile;  ///< Our name of the version.
  std::vector<EngineRecord> trace;
};

/// Replays a file of an engine other than vLLM through ours. Fails where the engine is not known or
/// the file is not sound, or holds what is not compared.
[[nodiscard]] core::Result<std::vector<ConformResult>> conform_engine(
    const document::Node& document, const std::string& file);

}  // namespace ridgeline::conform
