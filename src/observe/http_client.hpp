#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "core/time.hpp"
#include "observe/run_clock.hpp"
#include "observe/target.hpp"

namespace ridgeline::observe {

struct HttpRequest {
  std::string path;             ///< Behind the target's prefix: "/v1/completions".
  std::string body = {};        ///< JSON; empty: a GET.
  core::Duration timeout = {};  ///< For the whole exchange; zero: none.
};

/// How an exchange ended.
struct HttpEnd {
  core::SimTime at;
  int status = 0;               ///< Zero: there was no answer.
  std::string problem = {};     ///< Empty where the answer came to its end.
  bool never_sent = false;      ///< No connection was made.
  core::Duration connect = {};  ///< To open its connection; zero: an open one was used.
};

/// What becomes of a request. The calls come from HttpClient::run(), in this order.
class HttpExchange {
 public:
  virtual ~HttpExchange() = default;
  /// The request's first byte goes to the kernel. Again where an open connection turned out to be
  /// dead and the request is sent once more.
  virtual void on_send(core::SimTime now) = 0;
  /// Bytes of the body. `read` is the time of the read from the socket that they came with. False
  /// hangs up.
  virtual bool on_bytes(int status,
                        std::string_view content_type,
                        std::string_view bytes,
                        core::SimTime read) = 0;
  virtual void on_end(const HttpEnd& end) = 0;
};

/// What sends requests to a server.
class HttpSender {
 public:
  HttpSender() = default;
  HttpSender(const HttpSender&) = delete;
  HttpSender& operator=(const HttpSender&) = delete;
  virtual ~HttpSender() = default;

  /// Sends a request. `exchange` must live until its on_end(), or as long as this.
  virtual void start(HttpRequest request, HttpExchange& exchange) = 0;
  /// Does what there is to do, waiting for it until `until` at the latest. An exchange may start
  /// others from on_end().
  virtual void run(core::SimTime until) = 0;
};

/// HTTP/1.1 exchanges with one server, any number at a time, in one thread. Redirects and the
/// environment's proxies are not followed; certificates are verified.
class HttpClient final : public HttpSender {
 public:
  struct Options {
    Target target;
    std::string address = {};  ///< That the host stands for (choose_address); empty: a UNIX socket.
    std::string api_key = {};  ///< Sent as a bearer token; empty: none.
    bool fresh_connections = false;  ///< A connection of its own for each request.
  };
  [[nodiscard]] static core::Result<std::unique_ptr<HttpClient>> make(Options options,
                                                                      const RunClock& clock);
  ~HttpClient() override;

  void start(HttpRequest request, HttpExchange& exchange) override;
  void run(core::SimTime until) override;
  /// From another thread: run() returns soon.
  void wake();

 private:
  class Engine;
  explicit HttpClient(std::unique_ptr<Engine> engine);

  std::unique_ptr<Engine> engine_;
};

/// A whole answer to one request that is not measured: of models, metrics, probes.
struct HttpAnswer {
  int status = 0;
  std::string body;
  std::string problem;
};
/// Sends a request and waits for its answer, of which at most `most_bytes` are kept.
[[nodiscard]] HttpAnswer ask(HttpClient& client,
                             const RunClock& clock,
                             HttpRequest request,
                             std::size_t most_bytes = std::size_t{16} << 20);

}  // namespace ridgeline::observe
