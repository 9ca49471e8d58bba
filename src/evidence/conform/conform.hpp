#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"

namespace ridgeline::evidence::conform {

/// Where a replay parts from a recording.
struct Difference {
  std::string where;     ///< "record 12 (step 14): blocks"
  std::string recorded;  ///< What the engine did.
  std::string ours;      ///< What we did.
};

/// How one engine version's recorded decisions compare with ours.
struct ConformResult {
  std::string file;
  std::string scenario;
  std::string version;                   ///< As the file names it.
  std::string profile;                   ///< Ours.
  std::optional<Difference> difference;  ///< The first; none when all is equal.
};

/// Replays a file of decisions recorded from an engine's own scheduler through ours, for every
/// version in it: schedules, queues, preemptions, free counts, of vLLM also block ids, prefix
/// statistics and per-request tables. Key `engine` names the engine; vLLM where it is absent.
[[nodiscard]] core::Result<std::vector<ConformResult>> conform_file(const std::string& path);

}  // namespace ridgeline::evidence::conform
