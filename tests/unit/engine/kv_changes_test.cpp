#include "engine/vllm/plain/kv_changes.hpp"

#include <cstdint>
#include <optional>

#include <gtest/gtest.h>

#include "core/time.hpp"

namespace ridgeline::engine::vllm::plain {
namespace {

core::SimTime at(std::int64_t microseconds) {
  return core::SimTime::at(core::Duration::microseconds(microseconds));
}

TEST(KvChanges, TellWhatWasThere) {
  KvChanges changes(core::Duration::microseconds(100));
  changes.set_now(at(10));
  changes.note(1, 0, true);
  changes.set_now(at(20));
  changes.note(1, 0, false);
  EXPECT_EQ(changes.found_at(1, 0, at(10)),
            false);  // What happens at an instant is not known then.
  EXPECT_EQ(changes.found_at(1, 0, at(11)), true);
  EXPECT_EQ(changes.found_at(1, 0, at(21)), std::nullopt);
  EXPECT_EQ(changes.found_at(2, 0, at(11)), std::nullopt);
  EXPECT_EQ(changes.found_at(1, 1, at(11)), std::nullopt);
}

TEST(KvChanges, AreForgottenWhenTheyAreOld) {
  KvChanges changes(core::Duration::microseconds(100));
  changes.set_now(at(10));
  changes.note(1, 0, true);
  changes.set_now(at(110));
  EXPECT_EQ(changes.found_at(1, 0, at(10)), false);
  changes.set_now(at(111));
  EXPECT_EQ(changes.found_at(1, 0, at(50)), std::nullopt);
}

}  // namespace
}  // namespace ridgeline::engine::vllm::plain
