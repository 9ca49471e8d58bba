#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "evidence/validate/evidence.hpp"
#include "evidence/validate/staged_source.hpp"

namespace ridgeline::evidence::validate {

/// What one simulation reproduces: a server, and the stages of load that it went through one after
/// the other, warm. Several records can describe parts of it.
struct MeasuredRun {
  /// A record about the stages [first, last).
  struct Part {
    std::size_t evidence = 0;  ///< Its index in the list that group_runs got.
    std::size_t first = 0;
    std::size_t last = 0;
  };
  std::vector<StageLoad> stages;
  std::vector<Part> parts;
  /// In place of `stages`, where a fleet's load has its own.
  std::unique_ptr<FleetLoad> fleet_load = {};

  [[nodiscard]] std::size_t num_stages() const {
    return fleet_load ? fleet_load->num_stages() : stages.size();
  }
};

/// Puts records of one run on one server together, in the order of their first record. A stage that
/// is not the first and whose predecessors have no record gets a warm-up before it where prompts
/// repeat, and says so in its record's `assumed`. A fleet's stages are the most that a record of
/// it has. Records with a problem, and those of a start, are in no run.
[[nodiscard]] std::vector<MeasuredRun> group_runs(std::vector<Evidence>& evidence);

}  // namespace ridgeline::evidence::validate
