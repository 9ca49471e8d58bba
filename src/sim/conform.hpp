#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"
#include "engine/options.hpp"
#include "engine/probe.hpp"

namespace ridgeline::sim {

/// How one engine version's recorded decisions compare with ours.
struct ConformResult {
  std::string file;
  std::string scenario;
  std::string version;  ///< As the file names it.
  std::string profile;  ///< Ours.
  std::string twin;     ///< "reference" or "fast".
  bool equal = false;
  /// The first difference: where ("record 12 (step 14): blocks"), what was recorded, what we
  /// decided.
  std::string where;
  std::string recorded;
  std::string ours;
};

/// Replays a file of decisions recorded from vLLM's own scheduler through both twins, for every
/// version in it: schedules, queues, preemptions, free counts, block ids, prefix statistics and
/// per-request tables. The format is described in docs/formats/conform.md.
[[nodiscard]] core::Result<std::vector<ConformResult>> conform(const std::string& path);

}  // namespace ridgeline::sim
