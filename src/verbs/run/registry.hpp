#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "report/palette.hpp"
#include "verbs/run/run_result.hpp"

namespace ridgeline::verbs {

/// One line of the table of output formats: what `--format` and the name of an `-o` file can
/// choose.
struct Exporter {
  std::string name;
  std::string summary;
  std::vector<std::string> extensions;  ///< With the dot; the first is the usual one.
  std::string (*render)(const RunResult& result, const report::TextStyle& style);
  bool needs_series = false;  ///< It shows the run over simulated time.
};
[[nodiscard]] const std::vector<Exporter>& exporters();

/// The exporter of that name; unknown names list the nearest.
[[nodiscard]] core::Result<const Exporter*> find_exporter(std::string_view name);
/// The exporter that a file's extension asks for.
[[nodiscard]] core::Result<const Exporter*> exporter_for_path(std::string_view path);

}  // namespace ridgeline::verbs
