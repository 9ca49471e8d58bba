#include "observe/observation.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <utility>

#include <fmt/format.h>

#include "core/time.hpp"
#include "domain/request.hpp"
#include "observe/answer_reader.hpp"
#include "observe/http_client.hpp"
#include "observe/metrics_page.hpp"
#include "observe/prompts.hpp"
#include "observe/record.hpp"
#include "observe/run_clock.hpp"
#include "workload/source.hpp"

namespace ridgeline::observe {
namespace {

constexpr core::Duration kSecond = core::Duration::seconds(1);
/// Until an interrupt is seen, should it come between two looks.
constexpr core::Duration kLook = core::Duration::milliseconds(100);
constexpr core::Duration kScrapeTimeout = core::Duration::seconds(5);

/// A client that is later than this, or busier, measures itself.
constexpr double kMostLagMs = 2.0;
constexpr double kMostLagOfTtft = 0.02;
constexpr double kMostCpu = 0.8;

double cpu_seconds() {
  constexpr double kMicro = 1e-6;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [&](const timeval& time) {
    return static_cast<double>(time.tv_sec) + kMicro * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

/// A request between its sending and its end.
class Observation::Flight final : public HttpExchange {
 public:
  Flight(Observation& owner, Row first, bool keep_text)
      : row(std::move(first)), owner_(owner), reader_(keep_text) {}

  void on_send(core::SimTime now) override {
    row.attempt = row.sent ? row.attempt + 1 : row.attempt;
    row.sent = core::SimTime::at(now - owner_.start_);
  }
  bool on_bytes(int status,
                std::string_view content_type,
                std::string_view bytes,
                core::SimTime read) override {
    return reader_.take(status, content_type, bytes, core::SimTime::at(read - owner_.start_));
  }
  void on_end(const HttpEnd& end) override {
    reader_.end(end.status, end.problem, core::SimTime::at(end.at - owner_.start_));
    row.answer = reader_.take_answer();
    row.status = end.status;
    row.connect = end.connect;
    row.connection_failed = end.never_sent;
    owner_.finish(*this);  // This is gone then.
  }

  Row row;

 private:
  Observation& owner_;
  AnswerReader reader_;
};

/// A look at the server's metrics.
class Observation::Scrape final : public HttpExchange {
 public:
  explicit Scrape(Observation& owner) : owner_(owner) {}

  void on_send(core::SimTime now) override { static_cast<void>(now); }
  bool on_bytes(int status,
                std::string_view content_type,
                std::string_view bytes,
                core::SimTime read) override {
    static_cast<void>(content_type);
    static_cast<void>(read);
    constexpr std::size_t kMostBytes = std::size_t{8} << 20;
    page_ += bytes;
    return status == 200 && page_.size() <= kMostBytes;
  }
  void on_end(const HttpEnd& end) override {
    if (end.problem.empty() && end.status == 200 && owner_.record_ != nullptr) {
      const ServerMetrics metrics = read_metrics(page_);
      *owner_.record_ << scrape_line(core::SimTime::at(end.at - owner_.start_), metrics);
    }
    page_.clear();
    is_running = false;
  }

  bool is_running = false;

 private:
  Observation& owner_;
  std::string page_;
};

Observation::Observation(ObserveOptions options,
                         workload::Source& source,
                         HttpSender& client,
                         const RunClock& clock,
                         std::ostream* record)
    : options_(std::move(options)),
      source_(source),
      client_(client),
      clock_(clock),
      record_(record),
      prompts_(options_.prompts),
      quotes_answers_(source.prompts_hold_answers()),
      scrape_(std::make_unique<Scrape>(*this)),
      stage_(options_.earlier == nullptr ? 0 : options_.earlier->last_stage + 1) {}

Observation::~Observation() = default;

core::SimTime Observation::now() const {
  return core::SimTime::at(clock_.now() - start_);
}

RecordTail Observation::run() {
  const double cpu_before = cpu_seconds();
  start_ = clock_.now();
  if (options_.earlier != nullptr) {
    begin_ = options_.earlier->end;
    start_ = core::SimTime::at(clock_.now() - begin_);
  }
  next_second_ = now() + kSecond;
  next_scrape_ = now();
  while (true) {
    send_due();
    if (is_over()) {
      break;
    }
    if (now() >= next_second_) {
      every_second();
    }
    if (options_.scrape_every > core::Duration() && now() >= next_scrape_) {
      scrape();
    }
    client_.run(start_ + wake_up_at(now()).since_start());
  }
  return tail(cpu_seconds() - cpu_before);
}

bool Observation::is_over() const {
  const bool interrupted =
      options_.interrupt != nullptr && options_.interrupt->load(std::memory_order_relaxed);
  return interrupted || !ended_by_.empty() ||
         (flights_.empty() && !next_ && !source_.next_arrival());
}

bool Observation::is_taken_over(const domain::Request& request) const {
  return options_.earlier != nullptr && (request.session.valid() || !quotes_answers_) &&
         options_.earlier->has(request);
}

/// Takes the next request from the workload. That of an open loop is made ready before it is due;
/// a closed loop's may change until then, and quote an answer that comes in the meantime.
void Observation::prepare() {
  while (!next_) {
    const auto arrival = source_.next_arrival();
    const core::SimTime workload_now = core::SimTime::at(now().since_start() + shift_);
    if (!arrival || (has_sent_ && source_.is_closed_loop() && *arrival > workload_now)) {
      return;
    }
    Next next{.request = source_.pop()};
    if (is_taken_over(next.request)) {
      ++taken_over_;
      last_completion_ = std::max(last_completion_, next.request.arrival);
      source_.on_completion(next.request.id, last_completion_);
      continue;
    }
    if (!has_sent_) {
      has_sent_ = true;
      if (options_.earlier != nullptr) {
        shift_ = next.request.arrival - now();  // What was sent then is not waited for.
      }
    }
    next.due =
        core::SimTime::at(std::max(core::Duration(), next.request.arrival.since_start() - shift_));
    too_short_ += prompts_.is_shorter_than_overhead(next.request) ? 1 : 0;
    next.body = prompts_.body(next.request, answers_);
    next_ = std::move(next);
  }
}

bool Observation::may_send(core::SimTime now) const {
  return std::ssize(flights_) < options_.max_in_flight &&
         (std::ssize(last_sends_) < options_.max_rate || last_sends_.front() + kSecond <= now);
}

void Observation::send_due() {
  while (ended_by_.empty()) {
    prepare();
    const core::SimTime time = now();
    if (!next_ || next_->due > time) {
      blocked_since_.reset();
      return;
    }
    if (!may_send(time)) {
      blocked_since_ = blocked_since_.value_or(time);
      return;
    }
    send(*std::exchange(next_, std::nullopt));
    client_.run(clock_.now());  // A long prompt to make next would keep this one waiting.
  }
}

void Observation::send(Next next) {
  const core::SimTime time = now();
  Row row{.request = std::move(next.request), .stage = stage_, .due = next.due};
  if (blocked_since_) {
    row.held = time - std::max(next.due, *blocked_since_);
    held_ += row.held > core::Duration() ? 1 : 0;
  }
  row.is_warm_up =
      sent_ < options_.warm_up_requests || next.due.since_start() < options_.warm_up_time;
  row.tells_prompt = source_.names_prompts();
  ++sent_;
  last_sends_.push_back(time);
  if (std::ssize(last_sends_) > options_.max_rate) {
    last_sends_.pop_front();
  }
  const std::uint64_t id = row.request.id.value();
  const auto [place, is_new] =
      flights_.emplace(id, std::make_unique<Flight>(*this, std::move(row), quotes_answers_));
  static_cast<void>(is_new);
  client_.start({.path = std::string(path_of(options_.prompts.endpoint)),
                 .body = std::move(next.body),
                 .timeout = options_.timeout},
                *place->second);
}

core::SimTime Observation::wake_up_at(core::SimTime now) const {
  core::SimTime until = std::min(now + kLook, next_second_);
  if (options_.scrape_every > core::Duration() && !scrape_->is_running) {
    until = std::min(until, next_scrape_);
  }
  if (next_ && !blocked_since_) {
    until = std::min(until, next_->due);
  } else if (blocked_since_ && std::ssize(last_sends_) >= options_.max_rate) {
    until = std::min(until, last_sends_.front() + kSecond);
  }
  if (const auto arrival = source_.next_arrival(); !next_ && arrival) {
    const core::Duration due = arrival->since_start() - shift_;
    until = std::min(until, core::SimTime::at(std::max(due, core::Duration())));
  }
  return std::max(until, now);
}

void Observation::finish(Flight& flight) {
  const Row& row = flight.row;
  tally_.on_row(row);
  if (record_ != nullptr) {
    *record_ << row_line(row);
  }
  if (options_.on_row) {
    options_.on_row(row);
  }
  const core::RequestId id = row.request.id;
  if (quotes_answers_ && !row.failed()) {
    answers_[id.value()] = row.answer.text;
  }
  last_completion_ = std::max(last_completion_, core::SimTime::at(now().since_start() + shift_));
  source_.on_completion(id, last_completion_);
  if (options_.stop_when_gone && ended_by_.empty()) {
    ended_by_ = tally_.why_gone();
  }
  flights_.erase(id.value());
}

void Observation::every_second() {
  next_second_ = now() + kSecond;
  if (record_ != nullptr) {
    record_->flush();
  }
  if (ended_by_.empty()) {
    ended_by_ = tally_.why_stop(options_.stop_when, std::ssize(flights_), now());
  }
  if (options_.progress) {
    using Figure = Tally::Figure;
    options_.progress({.elapsed = now() - begin_,
                       .sent = sent_,
                       .total = source_.size(),
                       .in_flight = std::ssize(flights_),
                       .done = tally_.done(),
                       .failed = tally_.failed(),
                       .ttft_p50_ms = tally_.recent(Figure::kTtft, 0.5, now()),
                       .ttft_p99_ms = tally_.recent(Figure::kTtft, 0.99, now()),
                       .lag_p99_ms = tally_.recent(Figure::kLag, 0.99, now())});
  }
}

void Observation::scrape() {
  if (scrape_->is_running) {
    return;
  }
  next_scrape_ = now() + options_.scrape_every;
  scrape_->is_running = true;
  client_.start({.path = "/metrics", .timeout = kScrapeTimeout}, *scrape_);
}

RecordTail Observation::tail(double cpu_s) {
  RecordTail tail;
  tail.duration_s = (now() - begin_).to_seconds();
  const bool interrupted =
      options_.interrupt != nullptr && options_.interrupt->load(std::memory_order_relaxed);
  tail.ended_by = interrupted ? std::string(kInterrupted) : ended_by_;
  tail.partial = !tail.ended_by.empty();
  tail.sent = sent_;
  tail.unfinished = std::ssize(flights_);
  tail.held = held_;
  tail.cpu_share =
      tail.duration_s > 0.0 ? cpu_s / tail.duration_s / static_cast<double>(options_.workers) : 0.0;
  const auto lag = tally_.spread(Tally::Figure::kLag);
  const auto ttft = tally_.spread(Tally::Figure::kTtft);
  if (lag && ttft) {
    tail.lag_p50_ms = lag->p50;
    tail.lag_p99_ms = lag->p99;
    tail.lag_max_ms = lag->max;
    const double most = std::max(kMostLagMs, kMostLagOfTtft * ttft->p50);
    if (lag->p99 > most) {
      tail.unsound.push_back(fmt::format(
          "requests were sent {:.3g} ms late (p99), expected at most {:.3g} ms", lag->p99, most));
    }
  }
  if (tail.cpu_share > kMostCpu) {
    tail.unsound.push_back(
        fmt::format("the client used {:.0f} % of a core for each worker, expected at most {:.0f} %",
                    100.0 * tail.cpu_share,
                    100.0 * kMostCpu));
  }
  return tail;
}

}  // namespace ridgeline::observe
