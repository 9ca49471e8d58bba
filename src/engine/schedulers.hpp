#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "engine/engine.hpp"
#include "engine/engine_plan.hpp"
#include "engine/options.hpp"

namespace ridgeline::engine {

class RankAgreement;
class StepScheduler;

/// One line of the registry (engine/schedulers.cpp): a scheduling policy.
struct SchedulerEntry {
  std::string_view name;
  std::string_view summary;
  /// The policy for the step loop: every engine can run it.
  std::unique_ptr<StepScheduler> (*make)(const EngineOptions& options);
  /// An engine of its own with the same results, where the policy has one and it covers the
  /// options; nullptr otherwise.
  std::unique_ptr<Engine> (*make_fast)(const EngineInputs& inputs, bool jump) = nullptr;
  /// After how many steps data-parallel ranks in lock-step agree whether any has requests left.
  std::int64_t ranks_agree_every = 1;
  /// How ranks in lock-step settle each step, where they decide more together than that.
  std::unique_ptr<RankAgreement> (*make_agreement)(const EngineOptions& options) = nullptr;
  /// How it is configured; nullptr for vLLM, whose settings are options of the scenario.
  const OwnSettings* own = nullptr;
};

[[nodiscard]] std::span<const SchedulerEntry> schedulers();
/// The entry of that name; nullptr if a table has none.
[[nodiscard]] const SchedulerEntry* find_scheduler(std::span<const SchedulerEntry> table,
                                                   std::string_view name);

/// An engine and one of its versions, as `engine.version` names them.
struct EngineChoice {
  /// How the profile taken stands to the version named.
  enum class Match : std::uint8_t {
    kOwn,     ///< It is that version's.
    kOlder,   ///< The version has none of its own: the nearest whose rules began before it.
    kBeyond,  ///< The version is newer than any whose rules are known.
  };
  const SchedulerEntry* engine;
  std::string_view version;  ///< A name of OwnSettings::versions; empty for vLLM.
  std::string profile;       ///< With the engine: "sglang@0.5.5".
  Match match = Match::kOwn;
};
/// "sglang", "sglang@main", "sglang@0.5.9": the newest version of that engine, the one named, or
/// the greatest not above it; refused where there is none. Anything else is vLLM's (find_profile).
[[nodiscard]] core::Result<EngineChoice> find_engine(std::string_view version);
/// All that `engine.version` may name, oldest first, and what each does differently.
struct EngineName {
  std::string name;
  std::string summary;
};
[[nodiscard]] std::vector<EngineName> engine_names();

/// A policy in the step loop; with `jump`, through its quiet steps at once.
[[nodiscard]] std::unique_ptr<Engine> make_step_engine(const SchedulerEntry& entry,
                                                       const EngineInputs& inputs,
                                                       bool jump);

/// How ranks of these options settle each step; nullptr where they do not.
[[nodiscard]] std::unique_ptr<RankAgreement> make_rank_agreement(const EngineOptions& options);

/// The policy that the options name.
[[nodiscard]] const SchedulerEntry& scheduler_of(const EngineOptions& options);

}  // namespace ridgeline::engine
