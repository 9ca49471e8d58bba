// Instances that hang, slow down and die: the twins agree, with jumps and without, whatever happens
// to them and when.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/instance.hpp"
#include "engine/slowed_model.hpp"
#include "equal_runs.hpp"
#include "random_scenario.hpp"
#include "support/drive.hpp"
#include "support/linear_model.hpp"

namespace ridgeline {
namespace {

enum class What : std::uint8_t { kHang, kGoOn, kSlowDown, kDie };

struct Event {
  core::SimTime at;
  What what = What::kHang;
  engine::Slowdown slowdown = {};
};

/// Slow-downs and times without any step, in order, and perhaps an end.
std::vector<Event> random_events() {
  std::vector<Event> events;
  core::SimTime at;
  const auto later = [&] {
    at += core::Duration::microseconds(*rc::gen::inRange<std::int64_t>(0, 60'000));
    return at;
  };
  for (auto left = *rc::gen::inRange(0, 6); left > 0; --left) {
    if (*rc::gen::element(false, true)) {
      events.push_back({.at = later(), .what = What::kHang});
      events.push_back({.at = later(), .what = What::kGoOn});
    } else {
      events.push_back(
          {.at = later(),
           .what = What::kSlowDown,
           .slowdown = {.thousandths = *rc::gen::element<std::int64_t>(1000, 1003, 1500, 7777)}});
    }
  }
  if (*rc::gen::element(false, true)) {
    events.push_back({.at = later(), .what = What::kDie});
  }
  return events;
}

test::EngineRun run(const test::Scenario& scenario,
                    const std::vector<Event>& events,
                    engine::EngineCore core,
                    bool jump) {
  test::EngineRun run;
  const test::LinearModel model(scenario.costs);
  engine::RequestPath path;
  path.frontend = core::Duration::microseconds(70);
  engine::Instance instance({.engine = {.options = scenario.options,
                                        .model = model,
                                        .host = scenario.host,
                                        .sink = run.sink},
                             .path = path,
                             .id = core::InstanceId(0),
                             .core = core,
                             .jump = jump,
                             .may_slow_down = true});
  auto request = scenario.requests.begin();
  const auto send_until = [&](core::SimTime limit) {
    for (; request != scenario.requests.end() && request->arrival < limit; ++request) {
      instance.advance(request->arrival, false, test::kNoBudget);
      instance.submit(*request);
    }
    instance.advance(limit, false, test::kNoBudget);
  };
  bool alive = true;
  for (const Event& event : events) {
    send_until(event.at);
    switch (event.what) {
      case What::kHang:
        instance.hang(event.at);
        break;
      case What::kGoOn:
        instance.go_on(event.at);
        break;
      case What::kSlowDown:
        instance.set_slowdown(event.slowdown);
        break;
      case What::kDie:
        instance.fail(event.at);
        alive = false;
        break;
    }
  }
  if (alive) {
    send_until(core::SimTime::never());
  }
  run.totals = instance.totals();
  run.end = instance.now();
  RC_ASSERT(std::ranges::distance(scenario.requests.begin(), request) ==
            static_cast<std::ptrdiff_t>(run.sink.requests.size()));
  return run;
}

RC_GTEST_PROP(FaultyInstances, TheTwinsAgree, ()) {
  const test::Scenario scenario =
      test::random_scenario({.handed_over = *rc::gen::element(false, false, true)});
  const std::vector<Event> events = random_events();
  const auto reference = run(scenario, events, engine::EngineCore::kReference, false);
  test::expect_equal(reference, run(scenario, events, engine::EngineCore::kFast, false));
  const auto jumping = run(scenario, events, engine::EngineCore::kFast, true);
  test::expect_equal(reference, jumping);
  RC_CLASSIFY(jumping.totals.jumped_steps > 0, "jumped");
  RC_CLASSIFY(
      std::ranges::count(
          reference.sink.requests, domain::Outcome::kFailed, &domain::RequestRecord::outcome) > 0,
      "some failed");
}

/// A slow-down that changes nothing, and a hang of no length.
RC_GTEST_PROP(FaultyInstances, WhatLastsNoTimeChangesNothing, ()) {
  const test::Scenario scenario = test::random_scenario();
  std::vector<Event> events;
  core::SimTime at;
  for (auto left = *rc::gen::inRange(1, 5); left > 0; --left) {
    at += core::Duration::microseconds(*rc::gen::inRange<std::int64_t>(0, 60'000));
    events.push_back({.at = at, .what = What::kSlowDown});
    events.push_back({.at = at, .what = What::kHang});
    events.push_back({.at = at, .what = What::kGoOn});
  }
  const auto without = run(scenario, {}, engine::EngineCore::kReference, false);
  auto with = run(scenario, events, engine::EngineCore::kFast, true);
  with.end = without.end;  // An idle engine's clock may have gone on.
  test::expect_equal(without, with);
}

}  // namespace
}  // namespace ridgeline
