#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"

namespace ridgeline::conform {

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
  /// Keys of the recording that no scheduler here follows, so that nothing was compared.
  std::string not_expressible = {};
};

/// Replays a document at hand; `file` stands for its path.
[[nodiscard]] core::Result<std::vector<ConformResult>> conform_document(
    const document::Node& document, const std::string& file);

/// Replays a file of decisions recorded from an engine's own scheduler through ours, for every
/// version in it: schedules, queues, preemptions, free counts, of vLLM also block ids, prefix
/// statistics and per-request tables. Key `engine` names the engine; vLLM where it is absent. What
/// is not compared is refused: no result is equal because nothing of it was read.
[[nodiscard]] core::Result<std::vector<ConformResult>> conform_file(const std::string& path);

/// All results of several files. Fails with the problems of all of them, and where there is nothing
/// to compare in any.
[[nodiscard]] core::Result<std::vector<ConformResult>> conform_files(
    const std::vector<std::string>& paths);

}  // namespace ridgeline::conform
