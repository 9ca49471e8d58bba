#include "cluster/tickets.hpp"

#include <cstdint>
#include <iterator>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/rng.hpp"
#include "core/time.hpp"

namespace ridgeline::cluster {
namespace {

TEST(Tickets, AreFoundByIdWhereverTheyWere) {
  core::RngStream draws(5, 0, "tickets", 0);
  Tickets tickets;
  std::map<std::uint32_t, const Ticket*> plain;
  for (std::uint32_t round = 1; round < 3000; ++round) {
    // Mostly in the order of ids; now and then an id is late or left out.
    const auto late = static_cast<std::uint32_t>(draws.next_u64() % 8);
    const std::uint32_t id = 2 * round + 10 - late;
    if (!plain.contains(id)) {
      plain[id] = &tickets.add(core::RequestId(id), core::SimTime());
    }
    if (draws.next_u64() % 3 != 0) {
      auto gone = plain.begin();
      std::advance(gone, static_cast<std::int64_t>(draws.next_u64() % plain.size()));
      tickets.erase(core::RequestId(gone->first));
      EXPECT_EQ(tickets.find(core::RequestId(gone->first)), nullptr);
      plain.erase(gone);
    }
    ASSERT_EQ(tickets.size(), plain.size());
  }
  std::vector<core::RequestId> ids;
  for (const auto& [id, ticket] : plain) {
    ids.emplace_back(id);
    EXPECT_EQ(tickets.find(core::RequestId(id)), ticket);
  }
  EXPECT_EQ(tickets.ids(), ids);
  EXPECT_FALSE(tickets.empty());
}

}  // namespace
}  // namespace ridgeline::cluster
