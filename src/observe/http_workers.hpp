#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "core/time.hpp"
#include "observe/http_client.hpp"
#include "observe/run_clock.hpp"

namespace ridgeline::observe {

/// Several clients of one server, each with connections and a thread of its own: for more answers
/// than one thread reads. Requests go to them in turn. on_send() and on_bytes() of an exchange come
/// from its client's thread, on_end() from run().
class HttpWorkers final : public HttpSender {
 public:
  /// Fails as HttpClient::make(). Requires at least one.
  [[nodiscard]] static core::Result<std::unique_ptr<HttpWorkers>> make(
      const HttpClient::Options& options, const RunClock& clock, std::int64_t count);
  HttpWorkers(const HttpWorkers&) = delete;
  HttpWorkers& operator=(const HttpWorkers&) = delete;
  /// Gives up what is in flight: no exchange hears of it.
  ~HttpWorkers() override;

  void start(HttpRequest request, HttpExchange& exchange) override;
  void run(core::SimTime until) override;

 private:
  class Worker;
  class Handed;

  explicit HttpWorkers(const RunClock& clock);
  void on_ended(Handed& handed, const HttpEnd& end);

  const RunClock& clock_;
  std::unordered_map<const Handed*, std::unique_ptr<Handed>> in_flight_;
  std::size_t next_ = 0;
  std::mutex mutex_;
  std::condition_variable has_ended_;
  std::vector<std::pair<Handed*, HttpEnd>> ended_;  ///< Under the mutex.
  std::vector<std::unique_ptr<Worker>> workers_;    ///< Last: their threads use the others.
};

}  // namespace ridgeline::observe
