#include "cluster/link/presets.hpp"

#include <cstdint>
#include <string_view>

#include <gtest/gtest.h>

#include "core/time.hpp"

namespace ridgeline::link {
namespace {

const LinkPreset& preset(std::string_view name) {
  for (const LinkPreset& one : kLinkPresets) {
    if (one.name == name) {
      return one;
    }
  }
  ADD_FAILURE() << name;
  return kLinkPresets.front();
}

/// Mooncake, Qwen3-8B from 8 to 8 GPUs (link/presets.hpp).
TEST(LinkPresets, RdmaMeetsThePublishedTransfers) {
  struct Point {
    std::int64_t bytes;
    double ms;
  };
  for (const Point point :
       {Point{74'000'000, 0.92}, Point{578'000'000, 4.75}, Point{4'500'000'000, 31.65}}) {
    EXPECT_NEAR(
        preset("rdma").time(point.bytes, 0, 8).to_milliseconds(), point.ms, 0.09 * point.ms);
  }
}

/// llm-d: times to the first token with a prefix that another instance holds.
TEST(LinkPresets, PullsMeetThePublishedTimes) {
  EXPECT_NEAR(preset("rdma-pull").time(0, 2'048, 1).to_milliseconds(), 35.0, 0.5);
  EXPECT_NEAR(preset("rdma-pull").time(0, 16'384, 1).to_milliseconds(), 86.0, 1.0);
}

}  // namespace
}  // namespace ridgeline::link
