#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "faults/fault.hpp"

namespace ridgeline::faults {

/// So many instances with neighbouring ids.
struct Neighbours {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// A fault of one instance, of neighbours, of a share drawn by chance, or of the gateway.
struct ListedFault {
  Fault fault = {};                      ///< Its instance: of a listed one.
  std::optional<double> share = {};      ///< Of the instances, 0 to 1, in place of one.
  std::optional<Neighbours> among = {};  ///< All of these, or that share of them.
};

/// Crashes or hangs that come by chance, to each instance by itself: after an exponential time of
/// mean `mtbf` in service, for an exponential time of mean `mttr`.
struct RandomFaults {
  FaultKind kind = FaultKind::kCrash;
  core::Duration mtbf;
  core::Duration mttr;
};

/// Which faults a run has. What is drawn depends on the seed and the instance, and on nothing else.
class FaultPlan {
 public:
  FaultPlan() = default;
  /// A share of `num_instances` is rounded to whole instances, but at least one.
  FaultPlan(const std::vector<ListedFault>& listed,
            std::optional<RandomFaults> random,
            std::int64_t num_instances,
            std::uint64_t seed);

  /// Those at fixed instants, by instant, kind and instance.
  [[nodiscard]] const std::vector<Fault>& listed() const { return listed_; }
  /// The fault that ends an instance's nth time in service (from 0), which began at `start`;
  /// nothing where none comes by chance.
  [[nodiscard]] std::optional<Fault> of_service(core::InstanceId instance,
                                                std::int64_t nth,
                                                core::SimTime start) const;

  [[nodiscard]] bool has_any() const { return !listed_.empty() || random_.has_value(); }
  [[nodiscard]] bool has(FaultKind kind) const;

 private:
  std::vector<Fault> listed_;
  std::optional<RandomFaults> random_;
  std::uint64_t seed_ = 0;
};

}  // namespace ridgeline::faults
