#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "core/time.hpp"
#include "domain/request.hpp"
#include "observe/earlier.hpp"
#include "observe/http_client.hpp"
#include "observe/prompts.hpp"
#include "observe/record.hpp"
#include "observe/run_clock.hpp"
#include "observe/stop_rules.hpp"
#include "observe/tally.hpp"
#include "workload/source.hpp"

namespace ridgeline::observe {

/// How far a measurement is.
struct ObserveProgress {
  core::Duration elapsed;
  std::int64_t sent = 0;
  std::optional<std::int64_t> total;
  std::int64_t in_flight = 0;
  std::int64_t done = 0;
  std::int64_t failed = 0;
  std::optional<double> ttft_p50_ms;  ///< Over the last ten seconds, like the next two.
  std::optional<double> ttft_p99_ms;
  std::optional<double> lag_p99_ms;
};

struct ObserveOptions {
  PromptMaker::Options prompts;
  std::int64_t max_in_flight = 0;
  std::int64_t max_rate = 0;          ///< Requests sent within any second.
  std::int64_t warm_up_requests = 0;  ///< The first so many are not counted ...
  core::Duration warm_up_time;        ///< ... nor those due before this.
  core::Duration timeout;             ///< For one request.
  std::int64_t workers = 1;           ///< Threads that send and read.
  core::Duration scrape_every;        ///< Between looks at /metrics; zero: none.
  std::vector<StopRule> stop_when;
  bool stop_when_gone = true;        ///< The server seems to be.
  const Earlier* earlier = nullptr;  ///< What an interrupted measurement has already.
  const std::atomic<bool>* interrupt = nullptr;
  std::function<void(const ObserveProgress&)> progress;  ///< Once a second.
  std::function<void(const Row&)> on_row = {};           ///< Each request, when it has ended.
};

/// Sends a workload to a server, each request when it is due whatever became of those before it
/// (but for closed loops and sessions, whose next request waits for an answer), and writes what
/// came back.
class Observation {
 public:
  /// All outlive this. `record` gets a line for each request, flushed every second; null: none.
  Observation(ObserveOptions options,
              workload::Source& source,
              HttpSender& client,
              const RunClock& clock,
              std::ostream* record);
  Observation(const Observation&) = delete;
  Observation& operator=(const Observation&) = delete;
  ~Observation();

  /// To the end of the workload, or until something ends it early. Once only.
  [[nodiscard]] RecordTail run();

  [[nodiscard]] const Tally& tally() const { return tally_; }
  /// Prompts that the server's own tokens leave no room for a word in: they have one.
  [[nodiscard]] std::int64_t too_short() const { return too_short_; }
  /// Requests that were left out because the earlier measurement has them.
  [[nodiscard]] std::int64_t taken_over() const { return taken_over_; }

 private:
  class Flight;
  class Scrape;
  /// The request that is sent next.
  struct Next {
    domain::Request request;
    core::SimTime due = {};
    std::string body = {};
  };

  [[nodiscard]] core::SimTime now() const;
  [[nodiscard]] bool is_taken_over(const domain::Request& request) const;
  void prepare();
  void send_due();
  void send(Next next);
  [[nodiscard]] bool may_send(core::SimTime now) const;
  [[nodiscard]] core::SimTime wake_up_at(core::SimTime now) const;
  [[nodiscard]] bool is_over() const;
  void every_second();
  void scrape();
  void finish(Flight& flight);
  [[nodiscard]] RecordTail tail(double cpu_s);

  ObserveOptions options_;
  workload::Source& source_;
  HttpSender& client_;
  const RunClock& clock_;
  std::ostream* record_;
  PromptMaker prompts_;
  bool quotes_answers_;
  Answers answers_;
  Tally tally_;

  core::SimTime start_;    ///< The record's time zero, on the clock.
  core::SimTime begin_;    ///< Begin of this measurement: behind an earlier one, if there is one.
  bool has_sent_ = false;  ///< Or it was found that something is to be sent.
  core::Duration shift_;   ///< From the record's times to the workload's.
  std::optional<Next> next_;
  std::map<std::uint64_t, std::unique_ptr<Flight>> flights_;
  std::unique_ptr<Scrape> scrape_;
  std::deque<core::SimTime> last_sends_;        ///< Within the last second, at most max_rate.
  std::optional<core::SimTime> blocked_since_;  ///< By a limit of the client's own.
  core::SimTime next_second_;
  core::SimTime next_scrape_;
  core::SimTime last_completion_;
  std::int32_t stage_ = 0;
  std::int64_t sent_ = 0;
  std::int64_t held_ = 0;
  std::int64_t too_short_ = 0;
  std::int64_t taken_over_ = 0;
  std::string ended_by_;
};

}  // namespace ridgeline::observe
