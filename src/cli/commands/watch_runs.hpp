#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cli/common.hpp"
#include "cli/exit_code.hpp"
#include "document/document.hpp"

namespace ridgeline::cli {

/// A run that is watched.
struct WatchedRun {
  ExitCode code = ExitCode::kOk;
  bool interrupted = false;
  std::optional<document::Node> result = {};  ///< Nothing where the scenario cannot be run.
};

/// run --watch: runs, and again whenever `file` is saved, until Ctrl-C. `run` shows the first
/// result and all errors; of a later result the changes to the one before are shown here.
[[nodiscard]] ExitCode watch_runs(const std::string& file,
                                  const Manners& manners,
                                  const std::function<WatchedRun(bool first)>& run);

}  // namespace ridgeline::cli
