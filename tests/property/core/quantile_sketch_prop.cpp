#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/moments.hpp"
#include "core/quantile_sketch.hpp"
#include "core/quantiles.hpp"
#include "core/run_multiset.hpp"

namespace ridgeline::core {
namespace {

RC_GTEST_PROP(QuantileSketch, StaysWithinItsErrorOfTheExactQuantiles, ()) {
  QuantileSketch sketch;
  RunMultiset exact;
  const auto runs = *rc::gen::nonEmpty(
      rc::gen::container<std::vector<ArithmeticRun>>(rc::gen::build<ArithmeticRun>(
          rc::gen::set(&ArithmeticRun::first,
                       rc::gen::oneOf(rc::gen::inRange<std::int64_t>(0, 5000),
                                      rc::gen::inRange<std::int64_t>(0, 1'000'000'000'000))),
          rc::gen::set(&ArithmeticRun::growth,
                       rc::gen::oneOf(rc::gen::inRange<std::int64_t>(0, 5),
                                      rc::gen::inRange<std::int64_t>(0, 1'000'000'000))),
          rc::gen::set(&ArithmeticRun::count, rc::gen::inRange<std::int64_t>(1, 1000)),
          rc::gen::set(&ArithmeticRun::repeat, rc::gen::inRange<std::int64_t>(1, 50)))));
  for (const ArithmeticRun& run : runs) {
    sketch.add(run);
    exact.add(run.first, run.growth, run.count, run.repeat);
  }
  RC_ASSERT(sketch.fingerprint() == exact.fingerprint());
  for (const double p : {0.0, 0.01, 0.37, 0.5, 0.9, 0.95, 0.99, 1.0}) {
    const double truth = exact.quantile(p);
    // The last factor is the rounding of the interpolation itself.
    RC_ASSERT(std::abs(sketch.quantile(p) - truth) <=
              truth * QuantileSketch::kRelativeError * (1.0 + 1e-9));
  }
}

}  // namespace
}  // namespace ridgeline::core
