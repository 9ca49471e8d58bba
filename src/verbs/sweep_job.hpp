#pragma once

#include "core/result.hpp"
#include "sweep/measure.hpp"
#include "sweep/sweep.hpp"
#include "verbs/request.hpp"

namespace ridgeline::verbs {

/// A sweep with what is measured of its points.
struct SweepJob {
  sweep::Sweep sweep;
  sweep::Measure measure;
};
/// The scenario of a request with `axes` and `measure`.
[[nodiscard]] core::Result<SweepJob> take_sweep(Request& request);

}  // namespace ridgeline::verbs
