#include "engine/schedulers.hpp"

#include <array>
#include <memory>

#include <gtest/gtest.h>

#include "engine/loop/step_scheduler.hpp"
#include "engine/options.hpp"
#include "support/probe_run.hpp"
#include "support/seats/scheduler.hpp"

namespace ridgeline::engine {
namespace {

TEST(Schedulers, AreFoundByName) {
  const SchedulerEntry* const vllm = find_scheduler(schedulers(), "vllm");
  ASSERT_NE(vllm, nullptr);
  EXPECT_EQ(EngineOptions().scheduler, vllm->name);
  EXPECT_EQ(find_scheduler(schedulers(), "seats"), nullptr);
}

TEST(Schedulers, AnotherIsOneLineOfATable) {
  constexpr std::array<SchedulerEntry, 1> kTable = {{
      {.name = "seats",
       .summary = "first come first served on seats alone",
       .make = [](const EngineOptions& options) -> std::unique_ptr<StepScheduler> {
         return std::make_unique<test::seats::Scheduler>(options);
       }},
  }};
  const SchedulerEntry* const seats = find_scheduler(kTable, "seats");
  ASSERT_NE(seats, nullptr);
  const auto scheduler = seats->make(test::tiny_options("0.15"));
  EXPECT_EQ(scheduler->counts().running, 0);
}

}  // namespace
}  // namespace ridgeline::engine
