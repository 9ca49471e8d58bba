#include "workload/traces/formats/blis_client.hpp"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "workload/generate/rate_curve.hpp"

namespace ridgeline::workload {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::string kBothLengths =
    "input_distribution: {type: constant, params: {value: 100}}\n"
    "output_distribution: {type: constant, params: {value: 10}}\n";

std::vector<BlisClient> clients_of(const std::string& text, bool is_client) {
  core::Errors errors;
  BlisClientReader reader(errors);
  std::vector<BlisClient> clients;
  const auto tree = document::parse_yaml(text + kBothLengths, "t");
  if (tree) {
    reader.read(*tree, "it", is_client, clients);
  }
  EXPECT_THAT(errors, IsEmpty());
  return clients;
}

// A cohort shares its rate, and its prefix unless each member is to have one of its own.
TEST(BlisClients, MembersOfACohortShareItsRate) {
  const std::string cohort =
      "id: c\npopulation: 4\nrate_fraction: 2\nprefix_group: p\nprefix_length: 30\n"
      "spike: {start_time_us: 1000000, duration_us: 1000000, trace_rate: 8}\n";
  const auto shared = clients_of(cohort, false);
  ASSERT_THAT(shared, SizeIs(4));
  EXPECT_EQ(shared[3].fraction, 0.5);
  ASSERT_THAT(shared[3].windows, SizeIs(1));
  EXPECT_EQ(shared[3].windows[0].rate, 2.0);
  EXPECT_EQ(shared[0].spec.prefix->group, shared[3].spec.prefix->group);
  const auto own = clients_of(cohort + "prefix_sharing: per_member\n", false);
  ASSERT_THAT(own, SizeIs(4));
  EXPECT_NE(own[0].spec.prefix->group, own[3].spec.prefix->group);
}

// Silence up to a window, the window's own rate or the client's share in it, nothing behind it.
TEST(BlisRates, FollowTheWindowsInOrder) {
  BlisClient client;
  client.windows = {{.start = 30.0, .end = 40.0, .rate = {}},
                    {.start = 10.0, .end = 20.0, .rate = 5.0}};
  const RateCurve curve = blis_rate_curve(client, 3.0);
  ASSERT_THAT(curve.pieces, SizeIs(4));
  const std::vector<double> rates = {0.0, 5.0, 0.0, 3.0};
  for (std::size_t i = 0; i < rates.size(); ++i) {
    EXPECT_EQ(curve.pieces[i].seconds, 10.0);
    EXPECT_EQ(curve.pieces[i].from, rates[i]);
    EXPECT_EQ(curve.pieces[i].to, rates[i]);
  }
}

}  // namespace
}  // namespace ridgeline::workload
