#include "api/host.hpp"

#include <cstdint>

#include <gtest/gtest.h>

#include "ridgeline/ridgeline.hpp"
#include "sweep/runner.hpp"

namespace ridgeline::api {
namespace {

TEST(CallHost, TellsHowFarASearchIsAndAsksWhileThreadsWork) {
  std::int64_t done = 0;
  Hooks hooks;
  hooks.progress = [&](const Progress& progress) { done = progress.done; };
  hooks.interrupted = [] { return true; };
  CallHost host(hooks);
  host.progress(verbs::Stage{.done = 3, .all = 4});
  EXPECT_EQ(done, 3);
  EXPECT_FALSE(host.stop());
  EXPECT_EQ(host.watch(verbs::Host::Work::kHere), nullptr);
  const auto watch = host.watch(verbs::Host::Work::kOnThreads);
  while (!host.stop()) {
  }
  EXPECT_EQ(host.tables(), nullptr);
}

}  // namespace
}  // namespace ridgeline::api
