#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <malloc.h>

#include "core/check.hpp"
#include "ridgeline.h"
#include "unit/api/scenarios.hpp"

namespace ridgeline::api {
namespace {

/// Resident memory of this process in KiB, without the free pages that the allocator keeps: how
/// many it keeps depends on what ran before in this process.
std::int64_t resident_kib() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
  std::ifstream file("/proc/self/status");
  std::string word;
  std::int64_t kib = 0;
  while (file >> word) {
    if (word == "VmRSS:") {
      file >> kib;
    }
  }
  return kib;
}

/// A check that fails in every thirtieth run, an interrupt in every fiftieth.
struct Misfortune {
  int interrupt = 0;
  bool check_fails = false;
};

void befall(void* user, const rl_progress* /*progress*/) {
  auto* misfortune = static_cast<Misfortune*>(user);
  RIDGELINE_CHECK(!misfortune->check_fails, "meant to fail");
  misfortune->interrupt = 1;
}

int one_run(int number) {
  const bool fails = number % 30 == 7;
  const bool is_interrupted = number % 50 == 11;
  Misfortune misfortune{.check_fails = fails};
  rl_hooks hooks = {};
  hooks.size = sizeof(rl_hooks);
  hooks.user = &misfortune;
  hooks.interrupt = &misfortune.interrupt;
  hooks.progress = fails || is_interrupted ? befall : nullptr;
  // A run that something befalls is long enough to report its progress.
  const std::string json = small_scenario(fails || is_interrupted ? 2000 : 20);
  rl_result* result = nullptr;
  const int code = rl_call("run", json.data(), json.size(), &hooks, &result);
  EXPECT_NE(result, nullptr);
  rl_free(result);
  EXPECT_EQ(code, fails ? 70 : is_interrupted ? 130 : 0) << "run " << number;
  return code;
}

/// RIDGELINE_HOST_RUNS=10000 runs that many (./dev properties does).
int number_of_runs() {
  int runs = 300;
  if (const char* given = std::getenv("RIDGELINE_HOST_RUNS")) {
    const std::string_view text(given);
    std::from_chars(text.data(), text.data() + text.size(), runs);
  }
  return runs;
}

TEST(HostProcess, ManyRunsWithFailedChecksAndInterruptsDoNotGrow) {
  constexpr int kWarmUp = 100;
  // An allocator that keeps freed blocks apart (AddressSanitizer's) has pages to fill first.
  constexpr std::int64_t kMostGrowthKib = 1024;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr bool kOwnAllocator = false;
#else
  constexpr bool kOwnAllocator = true;
#endif
  const int runs = number_of_runs();
  std::int64_t before = 0;
  for (int i = 0; i < kWarmUp + runs; ++i) {
    if (i == kWarmUp) {
      before = resident_kib();
    }
    one_run(i);
  }
  const std::int64_t after = resident_kib();
  RecordProperty("resident_kib_before", std::to_string(before));
  RecordProperty("resident_kib_after", std::to_string(after));
  if (kOwnAllocator) {
    EXPECT_LE(after - before, kMostGrowthKib) << runs << " runs, from " << before << " KiB";
  }
}

}  // namespace
}  // namespace ridgeline::api
