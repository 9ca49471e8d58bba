#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "document/document.hpp"
#include "serve/net/connection.hpp"
#include "serve/net/event_loop.hpp"
#include "serve/net/http_parser.hpp"
#include "serve/net/listener.hpp"

namespace ridgeline::cli {

/// What `ridgeline ui --listen` is to do.
struct UiServerOptions {
  int port = 0;                     ///< Port on 127.0.0.1; 0: any free one.
  std::filesystem::path root = {};  ///< Files of calls lie below it; empty: there are none.
  std::string page;                 ///< The page, as it is sent.
};

/// Whether every text of a document that may be a path lies below `root`, which is the working
/// directory: relative, without "..", and no link that leads out of it.
[[nodiscard]] bool stays_below(const document::Node& document, const std::filesystem::path& root);

/// Sends the page of `ui`, and does its calls: for this machine, this page and this token alone.
/// One call for each core at a time, each on a thread; one whose client has gone is stopped.
class UiServer final : private serve::net::Handler, private serve::net::EventLoop::Work {
 public:
  [[nodiscard]] static core::Result<std::unique_ptr<UiServer>> open(UiServerOptions options);
  ~UiServer() override;
  UiServer(const UiServer&) = delete;
  UiServer& operator=(const UiServer&) = delete;

  /// With the token, to be opened in a browser.
  [[nodiscard]] std::string url(std::string_view link) const;
  /// Until the flag is set.
  void run(const std::atomic<bool>& interrupt);

 private:
  struct Job;

  explicit UiServer(UiServerOptions options);
  void on_request(serve::net::Connection& connection, serve::net::HttpRequest request) override;
  void on_gone(serve::net::Connection& connection) override;
  void on_writable(serve::net::Connection& /*connection*/) override {}
  serve::net::EventLoop::Wish run() override;
  bool tick() override;

  /// The status of a request that is refused, 0 for none.
  [[nodiscard]] int refusal(const serve::net::HttpRequest& request) const;
  void start(serve::net::Connection& connection, const serve::net::HttpRequest& request);

  UiServerOptions options_;
  std::string token_;
  std::string port_;
  std::unique_ptr<serve::net::Listener> listener_;
  std::unique_ptr<serve::net::EventLoop> loop_;
  std::vector<std::unique_ptr<Job>> jobs_;
  std::uint64_t calls_ = 0;
  const std::atomic<bool>* interrupt_ = nullptr;
};

}  // namespace ridgeline::cli
