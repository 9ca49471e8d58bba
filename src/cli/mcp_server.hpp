#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "core/result.hpp"
#include "serve/net/connection.hpp"
#include "serve/net/event_loop.hpp"
#include "serve/net/http_parser.hpp"
#include "serve/net/listener.hpp"

namespace ridgeline::cli {

/// The Model Context Protocol over streamable HTTP, for this machine alone: a message is the body
/// of a POST to /mcp, and its answer that of the response, which is a stream of events where the
/// call reports progress. `Mcp-Session-Id` tells clients apart.
class McpServer final : private serve::net::Handler, private serve::net::EventLoop::Work {
 public:
  /// Port 0: any that is free. Files that calls name lie below `root`, the working directory.
  [[nodiscard]] static core::Result<std::unique_ptr<McpServer>> open(int port,
                                                                     std::filesystem::path root);
  ~McpServer() override;
  McpServer(const McpServer&) = delete;
  McpServer& operator=(const McpServer&) = delete;

  [[nodiscard]] std::string url() const { return listener_->name() + "/mcp"; }
  /// Until the flag is set.
  void run(const std::atomic<bool>& interrupt);

 private:
  struct Client;

  explicit McpServer(std::filesystem::path root);
  void on_request(serve::net::Connection& connection, serve::net::HttpRequest request) override;
  void on_gone(serve::net::Connection& connection) override;
  void on_writable(serve::net::Connection& /*connection*/) override {}
  serve::net::EventLoop::Wish run() override;
  bool tick() override { return !interrupt_->load(); }

  /// The client that a message is from: known by its header, or new where it begins; else the
  /// status that refuses the message is in `status`.
  Client* client_of(const serve::net::HttpRequest& request, int& status);
  Client* new_client();
  /// Sends what a client's session has said.
  void deliver(Client& client);

  std::filesystem::path root_;
  std::string port_;
  std::unique_ptr<serve::net::Listener> listener_;
  std::unique_ptr<serve::net::EventLoop> loop_;
  std::map<std::string, std::unique_ptr<Client>, std::less<>> clients_;  ///< By session.
  std::uint64_t messages_ = 0;
  const std::atomic<bool>* interrupt_ = nullptr;
};

}  // namespace ridgeline::cli
