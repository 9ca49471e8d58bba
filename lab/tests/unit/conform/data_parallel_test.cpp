#include <gtest/gtest.h>

#include "lab/tests/unit/conform/small_case.hpp"

namespace ridgeline::conform {
namespace {

TEST(DataParallelDecisions, ItsBalancerIsRepeated) {
  expect_equal_or_different(
      {"DataParallel",
       R"({"system": "vllm", "policy": "dp-lb/fixed-start", "kind": "sequence",
           "params": {"engines": 2, "snapshot_fields": ["waiting", "running"]},
           "steps": [{"snapshot": [[0, 1], [0, 0]], "requests": 2, "routed_to": ["e1", "e0"]}],
           "expected": {"see": "steps[].routed_to, in order"}})",
       R"("e1", "e0")",
       R"("e0", "e1")"});
}

}  // namespace
}  // namespace ridgeline::conform
