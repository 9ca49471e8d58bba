#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result.hpp"
#include "document/document.hpp"
#include "scenario/imports/imports.hpp"
#include "scenario/scenario.hpp"

namespace ridgeline::scenario {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> bundled(const std::string& text) {
  std::vector<std::string> lines;
  const auto imported = overrides_of_policy_bundle(*document::parse_yaml(text, "bundle.yaml"));
  if (imported) {
    for (const Override& change : imported->overrides) {
      lines.push_back(change.path + " " + change.text);
    }
  } else {
    for (const core::Error& error : imported.error()) {
      lines.push_back(core::to_string(error));
    }
  }
  return lines;
}

TEST(PolicyBundle, IsARouterAndAScheduler) {
  EXPECT_THAT(bundled("admission: {policy: always-admit}\n"
                      "routing:\n  policy: weighted\n  scorers:\n"
                      "  - {name: queue-depth, weight: 2}\n  - {name: kv-utilization, weight: 1}\n"
                      "priority: {policy: constant}\nscheduler: priority-fcfs\n"),
              ElementsAre("cluster.router.name blis",
                          "cluster.router.scorers queue-depth=2",
                          "cluster.router.scorers kv-utilization=1",
                          "engine.scheduling_policy priority"));
}

TEST(PolicyBundle, WhatHasNoCounterpartIsNamed) {
  EXPECT_THAT(
      bundled("routing: {policy: always-busiest}\nscheduler: sjf\n"
              "admission: {policy: token-bucket}\nautoscaler: {interval_us: 1}\nrouter: {}\n"),
      ElementsAre(HasSubstr("routing.policy: 'always-busiest' has no counterpart here"),
                  HasSubstr("scheduler: 'sjf' has no counterpart here"),
                  HasSubstr("admission: only always-admit is imported"),
                  HasSubstr("autoscaler: is not imported"),
                  HasSubstr("router: unknown")));
}

}  // namespace
}  // namespace ridgeline::scenario
