// Which request ends when, against a plain map.
#include "engine/vllm/fast/finish_ring.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace ridgeline::engine::vllm::fast {
namespace {

std::set<FinishRing::Index> members(const FinishRing& ring, std::int64_t batch) {
  std::set<FinishRing::Index> all;
  for (auto i = ring.first(batch); i != FinishRing::kNone; i = ring.next(i)) {
    all.insert(i);
  }
  return all;
}

TEST(FinishRing, EqualsAMapOverRandomOperations) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    std::mt19937_64 engine(seed);
    const auto draw = [&](std::uint64_t n) { return static_cast<std::int64_t>(engine() % n); };
    // Ends within a few batches, within the ring, or beyond it.
    const auto reach = std::vector<std::uint64_t>{10, 3000, 50'000}[seed % 3];
    FinishRing ring;
    std::map<FinishRing::Index, std::int64_t> ends;
    FinishRing::Index next_name = 0;
    std::int64_t now = 0;
    for (int operation = 0; operation < 500; ++operation) {
      ring.advance(now);
      if (draw(3) > 0) {
        ends[next_name] = now + draw(reach);
        ring.add(next_name, ends[next_name]);
        ++next_name;
      } else if (!ends.empty() && draw(4) == 0) {
        const auto gone = ends.begin();
        ring.remove(gone->first);
        ends.erase(gone);
      }
      // To the next end, or as far as the ring sees before it.
      const std::int64_t seen = ring.next_end(now);
      std::int64_t least = seen;
      for (const auto& [id, end] : ends) {
        least = std::min(least, end);
        EXPECT_EQ(end == seen, members(ring, seen).contains(id));
      }
      ASSERT_EQ(least, seen) << "an end was passed over";
      if (draw(2) == 0) {
        now = seen;
        for (const auto id : members(ring, now)) {
          ring.remove(id);
          ASSERT_EQ(ends.at(id), now);
          ends.erase(id);
        }
        ++now;
      }
    }
  }
}

TEST(FinishRing, SeesAtLeastHalfItsLength) {
  FinishRing ring;
  ring.advance(0);
  EXPECT_GE(ring.next_end(0), 2000);
  ring.add(3, 1'000'000);
  ring.advance(999'000);
  EXPECT_EQ(ring.next_end(999'000), 1'000'000);
}

}  // namespace
}  // namespace ridgeline::engine::vllm::fast
