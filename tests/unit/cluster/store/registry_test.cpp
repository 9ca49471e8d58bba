#include <gtest/gtest.h>

#include "cluster/store/eviction.hpp"

namespace ridgeline::store {
namespace {

TEST(Evictions, AreFoundByName) {
  for (const EvictionEntry& entry : evictions()) {
    EXPECT_EQ(find_eviction(entry.name), &entry);
    EXPECT_NE(entry.make(1), nullptr);
  }
  EXPECT_EQ(find_eviction("fifo"), nullptr);
}

}  // namespace
}  // namespace ridgeline::store
