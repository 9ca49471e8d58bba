#include "plan/refusals.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"

namespace ridgeline::plan {
namespace {

using testing::Field;
using testing::UnorderedElementsAre;

TEST(Refusals, AKeyStandsOnce) {
  const auto map =
      document::parse_yaml("{gpu: h100, limits: {}, gpu: h200, limits: {}, slo: {}}", "p");
  core::Errors errors;
  refuse_duplicates(*map, "", errors);
  refuse_duplicates(*document::parse_yaml("{p99: 1s, p99: 2s, p50: 1s}", "p"), "slo.ttft", errors);
  EXPECT_THAT(errors,
              UnorderedElementsAre(Field(&core::Error::field, "gpu"),
                                   Field(&core::Error::field, "limits"),
                                   Field(&core::Error::field, "slo.ttft.p99")));
}

TEST(Refusals, ListsBelongIntoTheSpace) {
  core::Errors errors;
  refuse_lists(*document::parse_yaml("{gpu: [h100, h200], engine: {tensor_parallel_size: [1, 2]}, "
                                     "workload: {request_rate: 5}}",
                                     "p"),
               "",
               errors);
  EXPECT_THAT(errors,
              UnorderedElementsAre(Field(&core::Error::field, "gpu"),
                                   Field(&core::Error::field, "engine.tensor_parallel_size")));
}

}  // namespace
}  // namespace ridgeline::plan
