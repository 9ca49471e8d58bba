#include "sim/driver.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/options.hpp"
#include "engine/server.hpp"
#include "metrics/recorder.hpp"
#include "metrics/summary.hpp"
#include "workload/source.hpp"

namespace ridgeline::sim {
namespace {

using engine::Pause;

core::SimTime millisecond(std::int64_t count) {
  return core::SimTime::at(core::Duration::milliseconds(count));
}

/// Answers each request 10 ms after it was sent, and ends every run at a horizon.
class TenMilliseconds final : public engine::Server {
 public:
  explicit TenMilliseconds(core::SimTime horizon = core::SimTime::last()) : horizon_(horizon) {}

  void submit(const domain::Request& request) override {
    submitted.push_back(request.arrival);
    inside_.push_back(request);
  }
  void abort(core::RequestId id, core::SimTime at) override {
    aborted.emplace_back(id, at);
    const auto found = std::ranges::find(inside_, id, &domain::Request::id);
    if (found != inside_.end()) {
      std::iter_swap(found, inside_.begin());
      report(domain::Outcome::kAborted);
    }
  }
  Pause advance(core::SimTime limit, bool pause_at_completion, std::int64_t /*most*/) override {
    limits.push_back(limit);
    while (!inside_.empty() && end_of(inside_.front()) < limit) {
      if (end_of(inside_.front()) > horizon_) {
        return Pause::kHorizon;
      }
      now_ = end_of(inside_.front());
      report(domain::Outcome::kFinished);
      if (pause_at_completion) {
        return Pause::kCompletion;
      }
    }
    return inside_.empty() ? Pause::kIdle : Pause::kLimit;
  }
  [[nodiscard]] engine::InstanceState state(core::SimTime at) const override {
    engine::InstanceState state;
    state.at = at;
    return state;
  }
  [[nodiscard]] core::SimTime next_instant() const override {
    return inside_.empty() ? core::SimTime::never() : end_of(inside_.front());
  }
  [[nodiscard]] core::SimTime now() const override { return now_; }
  [[nodiscard]] engine::EngineTotals totals() const override { return {}; }
  void drop_all() override {
    while (!inside_.empty()) {
      report(domain::Outcome::kUnfinished);
    }
  }

  domain::RecordSink* sink = nullptr;
  std::vector<core::SimTime> submitted;
  std::vector<core::SimTime> limits;
  std::vector<std::pair<core::RequestId, core::SimTime>> aborted;

 private:
  static core::SimTime end_of(const domain::Request& request) {
    return request.arrival + core::Duration::milliseconds(10);
  }
  void report(domain::Outcome outcome) {
    const domain::Request request = inside_.front();
    inside_.pop_front();
    domain::RequestRecord record;
    record.id = request.id;
    record.outcome = outcome;
    record.prompt_tokens = request.prompt_tokens;
    record.output_tokens = core::Tokens(1);
    record.arrival = request.arrival;
    record.queued = request.arrival;
    record.first_scheduled = request.arrival;
    record.first_token = now_;
    record.last_token = now_;
    sink->on_request(record);
  }

  core::SimTime horizon_;
  core::SimTime now_;
  std::deque<domain::Request> inside_;
};

/// Requests every 3 ms; in a closed loop each at the end of the one before.
class Clients final : public workload::Source {
 public:
  Clients(std::int64_t count, bool closed, core::Duration patience = core::Duration::max())
      : left_(count), closed_(closed), patience_(patience) {}

  std::optional<core::SimTime> next_arrival() override {
    return left_ == 0 || (closed_ && busy_) ? std::nullopt : std::optional(next_);
  }
  domain::Request pop() override {
    domain::Request request;
    request.id = core::RequestId(next_id_++);
    request.arrival = next_;
    request.prompt_tokens = core::Tokens(1);
    request.output_tokens = core::Tokens(1);
    request.max_tokens = core::Tokens(1);
    request.gives_up = core::SimTime::saturating_sum(request.arrival, patience_);
    next_ += core::Duration::milliseconds(3);
    --left_;
    busy_ = true;
    return request;
  }
  [[nodiscard]] bool is_closed_loop() const override { return closed_; }
  void on_completion(core::RequestId /*id*/, core::SimTime time) override {
    busy_ = false;
    next_ = time;
  }

 private:
  std::int64_t left_;
  bool closed_;
  core::Duration patience_;
  bool busy_ = false;
  core::SimTime next_;
  std::uint32_t next_id_ = 0;
};

struct Driven {
  Driver::End end;
  metrics::Summary summary;
};

Driven drive(TenMilliseconds& server,
             Clients clients,
             const std::atomic<bool>* interrupt = nullptr) {
  metrics::Recorder recorder({});
  const engine::RequestPath path;
  Driver driver({.source = clients, .path = path, .recorder = recorder, .interrupt = interrupt});
  server.sink = &driver;
  const Driver::End end = driver.run(server);
  return {.end = end, .summary = recorder.summarise({})};
}

TEST(Driver, SendsAnOpenLoopAheadOfTime) {
  TenMilliseconds server;
  const Driven run = drive(server, Clients(200, false));
  EXPECT_EQ(run.end, Driver::End::kComplete);
  EXPECT_EQ(run.summary.completed, 200);
  ASSERT_EQ(server.submitted.size(), 200);
  // 64 requests are sent; the server runs to the arrival of the 65th.
  EXPECT_EQ(server.limits.front(), millisecond(64 * 3));
}

TEST(Driver, SendsTheNextRequestOfAClosedLoopAtTheEndOfTheOneBefore) {
  TenMilliseconds server;
  const Driven run = drive(server, Clients(4, true));
  EXPECT_EQ(run.end, Driver::End::kComplete);
  EXPECT_EQ(server.submitted,
            (std::vector{millisecond(0), millisecond(10), millisecond(20), millisecond(30)}));
}

TEST(Driver, StopsWhereTheServerPassesTheHorizon) {
  TenMilliseconds server(millisecond(25));
  const Driven run = drive(server, Clients(10, false));
  EXPECT_EQ(run.end, Driver::End::kPastHorizon);
  EXPECT_EQ(run.summary.completed, 6);  // Sent at 0, 3, ..., 15 ms.
}

TEST(Driver, CancelsRequestsWhenTheirClientsGiveUp) {
  TenMilliseconds server;
  const Driven run = drive(server, Clients(20, false, core::Duration::milliseconds(4)));
  EXPECT_EQ(run.end, Driver::End::kComplete);
  ASSERT_EQ(server.aborted.size(), 20);
  for (std::uint32_t i = 0; i < 20; ++i) {
    EXPECT_EQ(server.aborted[i].first, core::RequestId(i));
    EXPECT_EQ(server.aborted[i].second, millisecond(3 * i + 4));
  }
  TenMilliseconds closed;
  drive(closed, Clients(3, true, core::Duration::milliseconds(4)));
  EXPECT_EQ(closed.aborted.size(), 3);
  // A client that gives up sends its next request then.
  EXPECT_EQ(closed.submitted, (std::vector{millisecond(0), millisecond(4), millisecond(8)}));
}

TEST(Driver, AnInterruptEndsBeforeAnythingIsSent) {
  TenMilliseconds server;
  const std::atomic<bool> interrupt{true};
  const Driven run = drive(server, Clients(10, false), &interrupt);
  EXPECT_EQ(run.end, Driver::End::kInterrupted);
  EXPECT_TRUE(server.submitted.empty());
}

}  // namespace
}  // namespace ridgeline::sim
