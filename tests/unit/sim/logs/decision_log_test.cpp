#include "sim/logs/decision_log.hpp"

#include <cmath>
#include <sstream>
#include <vector>

#include <gtest/gtest.h>

#include "cluster/decision.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "routing/router.hpp"

namespace ridgeline::sim {
namespace {

TEST(DecisionLog, WritesOneObjectALine) {
  std::ostringstream out;
  const auto log = make_decision_log(out);
  std::vector<routing::InstanceView> views(2);
  views[0].id = core::InstanceId(0);
  views[1].id = core::InstanceId(3);
  views[1].gauges_as_of = core::SimTime::at(core::Duration::milliseconds(250));
  const std::vector<double> scores = {std::nan(""), 4.5};
  log->on_decision({.request = core::RequestId(7),
                    .at = core::SimTime::at(core::Duration::milliseconds(500)),
                    .gateway = 1,
                    .pick = {.instance = core::InstanceId(3), .reason = routing::Reason::kPrefix},
                    .instances = views,
                    .scores = scores,
                    .needs = {.gauges = true},
                    .notice_latency = {}});
  EXPECT_EQ(out.str(),
            R"({"request":7,"at":0.5,"gateway":1,"pick":3,"equals":1,"reason":"prefix",)"
            R"("instances":[0,3],"scores":[null,4.5],"as_of":[0,0.25]})"
            "\n");
}

}  // namespace
}  // namespace ridgeline::sim
