#pragma once

#include <memory>

#include "cluster/cluster.hpp"
#include "core/result.hpp"
#include "engine/server.hpp"
#include "scenario/resolve.hpp"
#include "sim/driver.hpp"
#include "sim/simulation.hpp"
#include "workload/source.hpp"

namespace ridgeline::sim {

/// A run with all its parts connected, for the code that drives it: simulate() from a workload, or
/// a server whose requests come from outside (live/session.hpp). Not to be driven from several
/// threads.
class WiredRun {
 public:
  /// As simulate(), before the first request. `resolved`, `source` and what the controls point to
  /// outlive it.
  [[nodiscard]] static core::Result<WiredRun> make(const scenario::Resolved& resolved,
                                                   workload::Source& source,
                                                   const RunControls& controls);
  WiredRun(WiredRun&& other) noexcept;
  WiredRun& operator=(WiredRun&&) = delete;
  WiredRun(const WiredRun&) = delete;
  WiredRun& operator=(const WiredRun&) = delete;
  ~WiredRun();

  [[nodiscard]] engine::Server& server();
  [[nodiscard]] Driver& driver();
  /// Null where one instance serves alone.
  [[nodiscard]] const cluster::Cluster* cluster() const;
  /// What the run gave. Once, when the driver has ended.
  [[nodiscard]] core::Result<RunOutcome> finish(Driver::End end);

 private:
  struct Parts;
  explicit WiredRun(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace ridgeline::sim
