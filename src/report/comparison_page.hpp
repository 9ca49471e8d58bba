#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "document/document.hpp"

namespace ridgeline::report {

/// One of several runs that a page holds against each other: a result of `run`, or a measured one
/// in its shape, of which `summary` has what the file says.
struct PageRun {
  std::string name;  ///< Name of the run's file.
  document::Node result;
  bool measured = false;
};

/// The most runs of a page: as many lines as readers can tell from each other.
inline constexpr std::size_t kMostPageRuns = 6;

/// Two to kMostPageRuns runs side by side (checked): what differs in their settings, whether they
/// are paired, every number with its ratio to the first one's, and their curves over each other. A
/// number's `data-key` is the run's place from 0, a colon, and its key.
[[nodiscard]] std::string comparison_page(const std::vector<PageRun>& runs);

/// The page's data as a document: {schema_version, runs: [{name, measured, result}, ...]}.
[[nodiscard]] document::Node page_runs_tree(const std::vector<PageRun>& runs);

}  // namespace ridgeline::report
