#include "workload/open_loop.hpp"

#include "core/check.hpp"
#include "core/time.hpp"
#include "domain/request.hpp"
#include "workload/limits.hpp"
#include "workload/options.hpp"

namespace ridgeline::workload {

OpenLoopSource::OpenLoopSource(const SyntheticOptions& options)
    : arrivals_(options.arrivals, options.seed, options.replication), maker_(options) {
  advance();
}

void OpenLoopSource::pop_into(domain::Request& request) {
  RIDGELINE_CHECK(has_next_, "pop from a stream that has ended");
  maker_.make(arrivals_.time(), request);
  advance();
}

void OpenLoopSource::advance() {
  const bool in_time = arrivals_.step();
  has_next_ = in_time && maker_.wants(arrivals_.time());
  if (!in_time && maker_.wants(core::SimTime::at(kLatestArrival))) [[unlikely]] {
    maker_.note_overrun("the range of simulated time");
  }
}

}  // namespace ridgeline::workload
