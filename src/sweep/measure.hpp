#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "document/document.hpp"
#include "scenario/resolve.hpp"

namespace ridgeline::sweep {

/// What is found out about each point of a sweep. Another measure is another function of this kind:
/// the runner and the store know none.
struct Measure {
  std::string name;         ///< As the key `measure` has it.
  document::Node settings;  ///< What its numbers depend on beside the scenario; part of each id.
  /// The result of a point as a map, the same bytes on every machine; nothing when it was
  /// interrupted. Called from several threads at once.
  std::function<core::Result<std::optional<document::Node>>(const scenario::Resolved& resolved,
                                                            const std::atomic<bool>& interrupt)>
      find;
};

/// `measure: run`: one simulation of each point, and the numbers of its summary under the names
/// that `run` gives them.
[[nodiscard]] Measure run_measure();

}  // namespace ridgeline::sweep
