#include <gtest/gtest.h>

#include "lab/tests/unit/conform/small_case.hpp"

namespace ridgeline::conform {
namespace {

TEST(AutoscalerDecisions, APlannerIsRepeated) {
  expect_equal_or_different({"Autoscaler",
                             R"({"system": "dynamo", "policy": "planner/prefill", "kind": "scale",
           "params": {"optimization_target": "throughput", "context_length": 100},
           "request": {"workers": [{"queued_prefill_tokens": 100}], "replicas": 1},
           "expected": {"desired": 2}})",
                             R"("desired": 2)",
                             R"("desired": null)"});
}

}  // namespace
}  // namespace ridgeline::conform
