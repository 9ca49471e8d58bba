#include "api/simulate.hpp"

#include <array>
#include <optional>
#include <string>
#include <unistd.h>
#include <utility>

#include "api/clock.hpp"
#include "core/result.hpp"
#include "engine/instance.hpp"
#include "report/results/run.hpp"
#include "report/run_result.hpp"
#include "scenario/resolve.hpp"
#include "sim/simulation.hpp"
#include "workload/source.hpp"

namespace ridgeline::api {
namespace {

std::optional<std::string> host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) {
    return std::nullopt;
  }
  return std::string(name.data());
}

}  // namespace

core::Result<report::RunResult> simulate(const scenario::Resolved& resolved,
                                         workload::Source& source,
                                         const sim::RunControls& controls) {
  const StopWatch clock;
  auto outcome = sim::simulate(resolved, source, controls);
  if (!outcome) {
    return core::fail(outcome.error());
  }
  const double wall_time_s = clock.seconds();
  return report::run_result(
      resolved,
      *std::move(outcome),
      {.wall_time_s = wall_time_s,
       .host = host_name(),
       .engine_core = controls.core == engine::EngineCore::kReference ? "reference" : "fast"});
}

}  // namespace ridgeline::api
