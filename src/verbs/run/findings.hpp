#pragma once

#include "document/document.hpp"
#include "metrics/series.hpp"
#include "scenario/resolve.hpp"

namespace ridgeline::verbs {

/// What a reader asks first of a run with `series`: {whole, worst}, each a stretch of simulated
/// time with its requests, its load and what held the instances up. The worst stretch is the hour
/// (ten minutes, minute, ...: the longest of which the run has four) with the most requests that
/// missed a target; where none did, that with the greatest load. It has the steps of its own means
/// too, as mean_steps_tree(), where there are no pools; `worst` is null of a shorter run.
[[nodiscard]] document::Node findings_tree(const scenario::Resolved& resolved,
                                           const metrics::Series& series);

}  // namespace ridgeline::verbs
