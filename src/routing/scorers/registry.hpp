#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "routing/parameters.hpp"
#include "routing/router.hpp"
#include "routing/scorers/columns.hpp"
#include "routing/scorers/scorers.hpp"

namespace ridgeline::routing {

/// Scores of candidates, in the memory of the second argument.
using Scorer = std::function<Scores(const Columns&, Scores)>;

/// The rows of Columns that are read from gauges.
struct GaugeRows {
  bool waiting = true;
  bool running = true;
  bool kv_usage = true;
};

/// A scorer by the name that a profile gives it.
struct ScorerEntry {
  std::string_view name;
  Scorer (*make)(const RouterSetup&);
  Needs needs = {};
  bool reads_prefix = false;    ///< What is believed of the prompt.
  bool reads_session = false;   ///< Where the request's session was served last.
  bool reads_sites = false;     ///< Where the instance of the request's other leg stands.
  bool zero_unmatched = false;  ///< All scores are 0 where no instance has a block of the prompt.
  bool may_exceed_1 = false;    ///< What is below 0 or above 1 counts as 0 or 1 (add_weighted()).
  GaugeRows rows = {};          ///< Where Needs::gauges.
};

/// All scorers that a profile may name: llm-d's, then inference-sim's.
[[nodiscard]] std::span<const ScorerEntry> scorers();
/// Null where no such scorer exists.
[[nodiscard]] const ScorerEntry* find_scorer(std::string_view name);
/// The parameters of llm-d's scorers.
[[nodiscard]] std::span<const Parameter> scorer_parameters();

}  // namespace ridgeline::routing
