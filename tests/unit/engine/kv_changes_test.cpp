#include "engine/vllm/plain/kv_changes.hpp"

#include <cstdint>

#include <gtest/gtest.h>

#include "core/time.hpp"

namespace ridgeline::engine::vllm::plain {
namespace {

core::SimTime at(std::int64_t microseconds) {
  return core::SimTime::at(core::Duration::microseconds(microseconds));
}

KvHistory of_100_microseconds(bool keeps_ages = false) {
  return {.kept = core::Duration::microseconds(100), .keeps_ages = keeps_ages};
}

TEST(KvChanges, TellWhatWasThere) {
  KvChanges changes(of_100_microseconds());
  changes.set_now(at(10));
  changes.note(1, 0, true);
  changes.set_now(at(20));
  changes.note(1, 0, false);
  // What happens at an instant is not known then.
  EXPECT_FALSE(changes.found(1, 0, {.as_of = at(10)}, false));
  EXPECT_TRUE(changes.found(1, 0, {.as_of = at(11)}, false));
  for (const bool is_there : {true, false}) {  // Unchanged since.
    EXPECT_EQ(changes.found(1, 0, {.as_of = at(21)}, is_there), is_there);
    EXPECT_EQ(changes.found(2, 0, {.as_of = at(11)}, is_there), is_there);
    EXPECT_EQ(changes.found(1, 1, {.as_of = at(11)}, is_there), is_there);
  }
}

TEST(KvChanges, AreForgottenWhenTheyAreOld) {
  KvChanges changes(of_100_microseconds());
  changes.set_now(at(10));
  changes.note(1, 0, true);
  changes.set_now(at(110));
  EXPECT_FALSE(changes.found(1, 0, {.as_of = at(10)}, true));
  changes.set_now(at(111));
  EXPECT_TRUE(changes.found(1, 0, {.as_of = at(50)}, true));
}

TEST(KvChanges, TellWhetherItCameSince) {
  KvChanges changes(of_100_microseconds(true));
  changes.set_now(at(10));
  changes.note(1, 0, true);
  changes.set_now(at(500));  // The change itself is forgotten.
  EXPECT_TRUE(changes.found(1, 0, {.as_of = at(450), .since = at(10)}, true));
  EXPECT_FALSE(changes.found(1, 0, {.as_of = at(450), .since = at(11)}, true));
  changes.note(1, 0, false);
  changes.set_now(at(520));
  changes.note(1, 0, true);
  EXPECT_FALSE(changes.found(1, 0, {.as_of = at(500), .since = at(11)}, true));
  EXPECT_TRUE(changes.found(1, 0, {.as_of = at(500), .since = at(10)}, true));
  EXPECT_TRUE(changes.found(1, 0, {.as_of = at(521), .since = at(520)}, true));
}

}  // namespace
}  // namespace ridgeline::engine::vllm::plain
