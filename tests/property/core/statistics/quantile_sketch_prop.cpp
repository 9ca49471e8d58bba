#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/statistics/moments.hpp"
#include "core/statistics/quantile_sketch.hpp"
#include "core/statistics/quantiles.hpp"

namespace ridgeline::statistics {
namespace {

RC_GTEST_PROP(QuantileSketch, StaysWithinItsErrorOfTheExactQuantiles, ()) {
  QuantileSketch sketch;
  std::vector<std::int64_t> values;
  const auto runs = *rc::gen::nonEmpty(
      rc::gen::container<std::vector<ArithmeticRun>>(rc::gen::build<ArithmeticRun>(
          rc::gen::set(&ArithmeticRun::first,
                       rc::gen::oneOf(rc::gen::inRange<std::int64_t>(0, 5000),
                                      rc::gen::inRange<std::int64_t>(0, 1'000'000'000'000))),
          rc::gen::set(&ArithmeticRun::growth,
                       rc::gen::oneOf(rc::gen::inRange<std::int64_t>(0, 5),
                                      rc::gen::inRange<std::int64_t>(0, 1'000'000'000))),
          rc::gen::set(&ArithmeticRun::count, rc::gen::inRange<std::int64_t>(1, 200)),
          rc::gen::set(&ArithmeticRun::repeat, rc::gen::inRange<std::int64_t>(1, 10)))));
  for (const ArithmeticRun& run : runs) {
    sketch.add(run);
    for (std::int64_t i = 0; i < run.count; ++i) {
      values.insert(values.end(), static_cast<std::size_t>(run.repeat), run.first + run.growth * i);
    }
  }
  Moments moments;
  moments.add(values);
  RC_ASSERT(sketch.fingerprint() == moments.fingerprint());
  for (const double p : {0.0, 0.01, 0.37, 0.5, 0.9, 0.95, 0.99, 1.0}) {
    const double truth = quantile(values, p);
    // The last factor is the rounding of the interpolation itself.
    RC_ASSERT(std::abs(sketch.quantile(p) - truth) <=
              truth * QuantileSketch::kRelativeError * (1.0 + 1e-9));
  }
}

}  // namespace
}  // namespace ridgeline::statistics
