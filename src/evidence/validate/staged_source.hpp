#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "workload/source.hpp"

namespace ridgeline::evidence::validate {

/// Between two stages of which the second waits for the answers of the first: inference-perf starts
/// one a second after it has been set up, other load generators rest about so long.
inline constexpr core::Duration kRest = core::Duration::seconds(1);

/// Requests that come in stages, one after the other.
class StagedSource : public workload::Source {
 public:
  /// The place of a request's stage.
  [[nodiscard]] virtual std::size_t stage_of(core::RequestId id) const = 0;
};

/// The load of a whole fleet, brought by the reader of a record: stages that the fleet went through
/// one after the other. A record tells of one stage or of all. Records of one fleet join one run.
class FleetLoad {
 public:
  /// The stages [first, last) of a run.
  struct Range {
    std::size_t first = 0;
    std::size_t last = 0;
  };
  virtual ~FleetLoad() = default;

  /// Stages; 0: the load is Evidence::stages, as of one instance.
  [[nodiscard]] virtual std::size_t num_stages() const = 0;
  /// Whether both loads have the same prompts, and arrivals of one kind.
  [[nodiscard]] virtual bool has_prompts_of(const FleetLoad& other) const = 0;
  /// Whether the stages that `record` tells of are among these.
  [[nodiscard]] virtual bool holds(const FleetLoad& record) const = 0;
  /// Takes in the rates that `record` measured. Returns the stages that it tells of.
  [[nodiscard]] virtual Range join(const FleetLoad& record) = 0;
  /// What this record's load takes for granted where the run has no more stages than it; or empty.
  [[nodiscard]] virtual std::string assumed_in(const FleetLoad& run) const = 0;
  [[nodiscard]] virtual std::unique_ptr<FleetLoad> copy() const = 0;
  [[nodiscard]] virtual std::unique_ptr<StagedSource> source(std::uint64_t seed) const = 0;
};

}  // namespace ridgeline::evidence::validate
