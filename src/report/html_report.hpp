#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"

namespace ridgeline::report {

/// What a page says of a run beside its result's tree.
struct PageWords {
  std::string headline;  ///< What was run.
  std::string command;   ///< That repeats it.
  /// Settings that are not defaults, by path: the value, and where it came from.
  std::vector<std::pair<std::string, std::string>> stated;
};

/// The result of a run as one HTML file: the verdict, the key numbers with the error to expect,
/// pictures where the result has `series`, the settings, and the result itself as JSON. It asks
/// nothing of any network, needs no script, and grows with no number of requests. Each number
/// names the key it came from (`data-key`) and is number_text() of it. Only the element `run-info`
/// may differ between two runs of one scenario.
[[nodiscard]] std::string html_report(const document::Node& result, const PageWords& words);
/// The words of a result whose run is not at hand.
[[nodiscard]] PageWords words_of(const document::Node& result, std::string_view file);

/// A number of a result as a page shows it: integers in groups of three digits, others to three or
/// four digits, a share as a percentage and an instant of the run as a duration where the key says
/// so; "–" where there is none.
[[nodiscard]] std::string number_text(const document::Node* value, std::string_view key);

/// An element with that number of the result.
[[nodiscard]] std::string number_html(const document::Node& result, std::string_view key);

}  // namespace ridgeline::report
