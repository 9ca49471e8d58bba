#include "sim/simulation.hpp"

#include "core/result.hpp"
#include "scenario/resolve.hpp"
#include "sim/driver.hpp"
#include "sim/wired_run.hpp"
#include "workload/source.hpp"

namespace ridgeline::sim {

core::Result<RunOutcome> simulate(const scenario::Resolved& resolved,
                                  workload::Source& source,
                                  const RunControls& controls) {
  auto run = WiredRun::make(resolved, source, controls);
  if (!run) {
    return core::fail(run.error());
  }
  return run->finish(run->driver().run(run->server()));
}

}  // namespace ridgeline::sim
