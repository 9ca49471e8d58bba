#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "cluster/faults/fault.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"

namespace ridgeline::faults {

/// So many instances with neighbouring ids.
struct Neighbours {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// A fault of one instance, of neighbours, of a share drawn by chance, or of the gateway.
struct ListedFault {
  Fault fault = {};                      ///< Its instance: of a listed one.
  std::optional<double> share = {};      ///< Share of the instances, 0 to 1, in place of one.
  std::optional<Neighbours> among = {};  ///< All of these, or that share of them.
};

/// Faults that come by chance: after an exponential time of mean `mtbf`, for an exponential time of
/// mean `mttr`, again and again. Crashes and hangs come to each instance by itself, after a time in
/// service. Nodes are lost, and links fail, host by host.
struct RandomFaults {
  FaultKind kind = FaultKind::kCrash;  ///< A crash, a hang, or a link's.
  bool of_node = false;                ///< A crash of all instances of a host.
  core::Duration mtbf;
  core::Duration mttr;
  std::int64_t factor_thousandths = 1000;  ///< Rate of a degraded link.

  [[nodiscard]] bool of_host() const { return of_node || is_of_link(kind); }
};

/// Which faults a run has. What is drawn depends on the seed and the instance, and on nothing else.
class FaultPlan {
 public:
  FaultPlan() = default;
  /// A share of `num_instances` is rounded to whole instances, but at least one.
  FaultPlan(const std::vector<ListedFault>& listed,
            const std::vector<RandomFaults>& random,
            std::int64_t num_instances,
            std::uint64_t seed);

  /// Those at fixed instants, by instant, kind and instance.
  [[nodiscard]] const std::vector<Fault>& listed() const { return listed_; }
  /// The fault that ends an instance's nth time in service (from 0), which began at `start`;
  /// nothing where none comes by chance.
  [[nodiscard]] std::optional<Fault> of_service(core::InstanceId instance,
                                                std::int64_t nth,
                                                core::SimTime start) const;

  /// What comes by chance to hosts, in the order in which it was stated.
  [[nodiscard]] const std::vector<RandomFaults>& of_hosts() const { return of_hosts_; }
  /// The nth fault (from 0) of one of of_hosts() at a host that has been well since `start`. Of a
  /// node: its kind is a crash, and its instance none.
  [[nodiscard]] Fault of_host(std::size_t which,
                              std::int64_t host,
                              std::int64_t nth,
                              core::SimTime start) const;

  [[nodiscard]] bool has(FaultKind kind) const;

 private:
  std::vector<Fault> listed_;
  std::vector<RandomFaults> of_instances_;
  std::vector<RandomFaults> of_hosts_;
  std::uint64_t seed_ = 0;
};

}  // namespace ridgeline::faults
