#include "observe/http_workers.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "core/time.hpp"
#include "observe/http_client.hpp"
#include "observe/run_clock.hpp"

namespace ridgeline::observe {

/// An exchange in another thread.
class HttpWorkers::Handed final : public HttpExchange {
 public:
  Handed(HttpWorkers& owner, HttpExchange& exchange) : owner_(owner), exchange_(exchange) {}

  void on_send(core::SimTime now) override { exchange_.on_send(now); }
  bool on_bytes(int status,
                std::string_view content_type,
                std::string_view bytes,
                core::SimTime read) override {
    return exchange_.on_bytes(status, content_type, bytes, read);
  }
  void on_end(const HttpEnd& end) override { owner_.on_ended(*this, end); }

  [[nodiscard]] HttpExchange& exchange() const { return exchange_; }

 private:
  HttpWorkers& owner_;
  HttpExchange& exchange_;
};

/// A client and its thread.
class HttpWorkers::Worker {
 public:
  Worker(std::unique_ptr<HttpClient> client, const RunClock& clock)
      : client_(std::move(client)), clock_(clock), thread_([this] { work(); }) {}
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  ~Worker() {
    {
      const std::scoped_lock lock(mutex_);
      stops_ = true;
    }
    client_->wake();
    thread_.join();
  }

  void start(HttpRequest request, Handed& handed) {
    {
      const std::scoped_lock lock(mutex_);
      wanted_.emplace_back(std::move(request), &handed);
    }
    client_->wake();
  }

 private:
  void work() {
    const core::Duration wait = core::Duration::seconds(1);
    while (true) {
      std::vector<std::pair<HttpRequest, Handed*>> wanted;
      {
        const std::scoped_lock lock(mutex_);
        if (stops_) {
          return;
        }
        wanted.swap(wanted_);
      }
      for (auto& [request, handed] : wanted) {
        client_->start(std::move(request), *handed);
      }
      client_->run(clock_.now() + wait);
    }
  }

  std::unique_ptr<HttpClient> client_;
  const RunClock& clock_;
  std::mutex mutex_;
  std::vector<std::pair<HttpRequest, Handed*>> wanted_;  ///< Under the mutex, as `stops_`.
  bool stops_ = false;
  std::thread thread_;  ///< Last: it uses the others.
};

core::Result<std::unique_ptr<HttpWorkers>> HttpWorkers::make(const HttpClient::Options& options,
                                                             const RunClock& clock,
                                                             std::int64_t count) {
  std::unique_ptr<HttpWorkers> workers(new HttpWorkers(clock));
  for (std::int64_t i = 0; i < count; ++i) {
    auto client = HttpClient::make(options, clock);
    if (!client) {
      return core::fail(client.error());
    }
    workers->workers_.push_back(std::make_unique<Worker>(std::move(*client), clock));
  }
  return workers;
}

HttpWorkers::HttpWorkers(const RunClock& clock) : clock_(clock) {}
HttpWorkers::~HttpWorkers() = default;

void HttpWorkers::start(HttpRequest request, HttpExchange& exchange) {
  auto handed = std::make_unique<Handed>(*this, exchange);
  Handed& one = *handed;
  in_flight_.emplace(&one, std::move(handed));
  workers_[next_]->start(std::move(request), one);
  next_ = (next_ + 1) % workers_.size();
}

void HttpWorkers::on_ended(Handed& handed, const HttpEnd& end) {
  {
    const std::scoped_lock lock(mutex_);
    ended_.emplace_back(&handed, end);
  }
  has_ended_.notify_one();
}

void HttpWorkers::run(core::SimTime until) {
  std::vector<std::pair<Handed*, HttpEnd>> ended;
  {
    std::unique_lock lock(mutex_);
    has_ended_.wait_until(lock, clock_.steady(until), [this] { return !ended_.empty(); });
    ended.swap(ended_);
  }
  for (auto& [handed, end] : ended) {
    HttpExchange& exchange = handed->exchange();
    in_flight_.erase(handed);
    exchange.on_end(end);
  }
}

}  // namespace ridgeline::observe
