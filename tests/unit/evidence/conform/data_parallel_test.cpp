#include <gtest/gtest.h>

#include "unit/evidence/conform/small_case.hpp"

namespace ridgeline::evidence::conform {
namespace {

TEST(DataParallelDecisions, ItsBalancerIsRepeated) {
  expect_equal_or_different(
      {"DataParallel",
       R"({"system": "vllm", "policy": "dp-lb/fixed-start", "kind": "sequence",
           "params": {"engines": 2},
           "steps": [{"snapshot": [[0, 1], [0, 0]], "routed_to": ["e1", "e0"]}], "expected": {}})",
       R"("e1", "e0")",
       R"("e0", "e1")"});
}

}  // namespace
}  // namespace ridgeline::evidence::conform
