#include "engine/loop/queue_scheduler.hpp"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/units.hpp"
#include "engine/loop/step_scheduler.hpp"
#include "engine/options.hpp"
#include "support/probe_run.hpp"
#include "support/seats/scheduler.hpp"

namespace ridgeline::engine {
namespace {

/// Two seats, of which both are taken, and a request that waits.
class QueueSchedulerTest : public testing::Test {
 protected:
  QueueSchedulerTest() : scheduler_(two_seats()) {
    for (std::uint32_t id = 0; id < 3; ++id) {
      scheduler_.add(test::tiny_request(id, 4 + id, 1));
    }
    scheduler_.schedule(step_);
  }
  static EngineOptions two_seats() {
    EngineOptions options = test::tiny_options("0.15");
    options.max_num_seqs = 2;
    return options;
  }
  [[nodiscard]] std::vector<std::uint32_t> drained() {
    std::vector<std::uint32_t> ids;
    for (const SequencePtr& sequence : scheduler_.drain()) {
      ids.push_back(sequence->record.id.value());
    }
    return ids;
  }

  test::seats::Scheduler scheduler_;
  ScheduledStep step_;
};

TEST_F(QueueSchedulerTest, CountsThoseThatRunAndThoseThatWait) {
  EXPECT_EQ(scheduler_.counts().running, 2);
  EXPECT_EQ(scheduler_.counts().waiting, 1);
  EXPECT_EQ(scheduler_.queued_prompt_tokens(), core::Tokens(6));
}

TEST_F(QueueSchedulerTest, RequestsLeaveFromEitherList) {
  EXPECT_EQ(scheduler_.abort(core::RequestId(2))->record.id, core::RequestId(2));
  EXPECT_EQ(scheduler_.abort(core::RequestId(0))->record.id, core::RequestId(0));
  EXPECT_EQ(scheduler_.abort(core::RequestId(0)), nullptr) << "it is not inside any more";
  EXPECT_EQ(drained(), std::vector<std::uint32_t>{1});
  EXPECT_TRUE(drained().empty());
}

TEST_F(QueueSchedulerTest, RunningRequestsAreDrainedFirst) {
  EXPECT_EQ(drained(), (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(scheduler_.counts().waiting, 0);
}

TEST_F(QueueSchedulerTest, RequestsThatEndLeave) {
  const std::vector<SequencePtr> ended =
      scheduler_.update(step_, std::vector<std::int64_t>(step_.size(), 1));
  ASSERT_EQ(ended.size(), 2);
  EXPECT_EQ(ended.back()->record.id, core::RequestId(1));
  EXPECT_EQ(drained(), std::vector<std::uint32_t>{2});
}

}  // namespace
}  // namespace ridgeline::engine
