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
  RIDGELINE_CHECK(next_.has_value(), "pop from a stream that has ended");
  maker_.make(*next_, request);
  advance();
}

void OpenLoopSource::advance() {
  const auto arrival = arrivals_.next();
  if (arrival && maker_.wants(*arrival)) {
    next_ = *arrival;  // (Not the optional: two short stores read as one long value.)
    return;
  }
  next_.reset();
  if (!arrival && maker_.wants(core::SimTime::at(kLatestArrival))) {
    maker_.note_overrun("the range of simulated time");
  }
}

}  // namespace ridgeline::workload
