#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "engine/engine.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/options.hpp"

namespace ridgeline::engine {

/// One line of the registry (engine/schedulers.cpp): a scheduling policy.
struct SchedulerEntry {
  std::string_view name;
  std::string_view summary;
  /// The policy for the step loop: every engine can run it.
  std::unique_ptr<StepScheduler> (*make)(const EngineOptions& options);
  /// An engine of its own with the same results, where the policy has one and it covers the
  /// options; nullptr otherwise.
  std::unique_ptr<Engine> (*make_fast)(const EngineInputs& inputs, bool jump) = nullptr;
};

[[nodiscard]] std::span<const SchedulerEntry> schedulers();
/// The entry of that name; nullptr if a table has none.
[[nodiscard]] const SchedulerEntry* find_scheduler(std::span<const SchedulerEntry> table,
                                                   std::string_view name);

/// A policy in the step loop; with `jump`, through its quiet steps at once.
[[nodiscard]] std::unique_ptr<Engine> make_step_engine(const SchedulerEntry& entry,
                                                       const EngineInputs& inputs,
                                                       bool jump);

}  // namespace ridgeline::engine
