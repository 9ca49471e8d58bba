#include <gtest/gtest.h>

#include "lab/tests/unit/conform/small_case.hpp"

namespace ridgeline::conform {
namespace {

TEST(InferenceSimDecisions, LeastLoadedIsRepeated) {
  expect_equal_or_different(
      {"InferenceSim",
       R"({"system": "inference-sim", "policy": "least-loaded", "kind": "pick",
           "endpoints": [{"id": "a", "waiting": 4}, {"id": "b", "running": 2}],
           "expected": {"picks": ["b"]}})",
       R"(["b"])",
       R"(["a", "b"])"});
}

}  // namespace
}  // namespace ridgeline::conform
