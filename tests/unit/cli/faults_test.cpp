#include "cli/faults.hpp"

#include <csignal>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/interrupt.hpp"
#include "cli/output_file.hpp"
#include "core/check.hpp"
#include "core/fault.hpp"

namespace ridgeline::cli {
namespace {

namespace fs = std::filesystem;

/// Each test ends a process of its own that has half a file.
class FaultsTest : public testing::Test {
 protected:
  void SetUp() override {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    folder_ =
        fs::path(testing::TempDir()) /
        (std::string("faults_") + testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directory(folder_);
  }
  void TearDown() override {
    EXPECT_TRUE(fs::is_empty(folder_)) << "half a file was left behind";
    fs::remove_all(folder_);
  }

  template <class End>
  void with_half_a_file(const End& end) const {
    handle_faults();
    handle_signals();
    const auto half = OutputFile::open("--output", (folder_ / "half.json").string());
    end();
  }

 private:
  fs::path folder_;
};

TEST_F(FaultsTest, AFailedCheckEndsWith70) {
  EXPECT_EXIT(with_half_a_file([] { RIDGELINE_CHECK(false, "a block was lost"); }),
              testing::ExitedWithCode(70),
              "^error: a fault of this program: false at .*faults_test.cpp.*: a block was lost");
}

TEST_F(FaultsTest, AnIndexPastTheEndOfAContainerEndsWith70) {
  EXPECT_EXIT(with_half_a_file([] {
                const std::vector<int> none;
                static_cast<void>(none.front());
              }),
              testing::ExitedWithCode(70),
              "^error: a fault of this program: .*empty.* at .*: ");
}

TEST_F(FaultsTest, OutOfMemoryEndsWith70AndTheHint) {
  EXPECT_EXIT(with_half_a_file([] {
                set_memory_hint("--percentiles sketch");
                core::out_of_memory("a queue");
              }),
              testing::ExitedWithCode(70),
              "^error: out of memory for a queue\nhint: --percentiles sketch");
}

TEST_F(FaultsTest, AnExceptionOfAThreadEndsWith70) {
  EXPECT_EXIT(
      with_half_a_file([] { std::thread([] { throw std::runtime_error("no luck"); }).join(); }),
      testing::ExitedWithCode(70),
      "a fault of this program: no luck");
}

TEST_F(FaultsTest, SignalsEndWith128AndTheirNumber) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGXFSZ}) {
    EXPECT_EXIT(with_half_a_file([number] { std::raise(number); }),
                testing::ExitedWithCode(128 + number),
                "^error: .*no result was written");
  }
}

TEST_F(FaultsTest, AGuardedRunGoesOnAfterTheFirstInterrupt) {
  EXPECT_EXIT(with_half_a_file([] {
                const InterruptGuard guard;
                std::raise(SIGTERM);
                const bool goes_on =
                    InterruptGuard::flag() && static_cast<int>(InterruptGuard::exit_code()) == 143;
                std::raise(goes_on ? SIGINT : SIGHUP);
              }),
              testing::ExitedWithCode(130),
              "SIGINT");
}

TEST(FaultHandler, MayThrowWhereTheProcessLivesOn) {
  const auto before = core::set_fault_handler(
      [](const core::Fault& fault) { throw std::runtime_error(std::string(fault.text)); });
  EXPECT_THROW(RIDGELINE_CHECK(false, "survived"), std::runtime_error);
  core::set_fault_handler(before);
}

}  // namespace
}  // namespace ridgeline::cli
