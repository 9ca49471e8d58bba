#include "cli/mcp_server.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "cli/loopback.hpp"
#include "cli/mcp_session.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "serve/net/connection.hpp"
#include "serve/net/event_loop.hpp"
#include "serve/net/http_parser.hpp"
#include "serve/net/listener.hpp"
#include "sim/live/clock.hpp"

namespace ridgeline::cli {
namespace {

namespace net = serve::net;

constexpr std::size_t kMostClients = 64;
constexpr std::string_view kSession = "Mcp-Session-Id";

enum McpStatus : int {
  kAnswered = 200,
  kTaken = 202,
  kNoSession = 400,
  kElsewhere = 403,
  kUnknown = 404,
  kOnlyPost = 405,
  kFull = 503,
};

bool begins(std::string_view body) {
  const auto message = document::parse_json(body, "");
  const document::Node* const method = message ? message->find("method") : nullptr;
  return method != nullptr && method->is_string() && method->as_string() == "initialize";
}

}  // namespace

/// A session over HTTP, and the responses that wait for it.
struct McpServer::Client {
  std::string name = {};
  std::uint64_t last_message = 0;
  std::map<std::string, net::Connection*> waiting = {};  ///< By the id of the request.
  std::mutex mutex = {};
  std::deque<McpSession::Message> said = {};
  std::unique_ptr<McpSession> session = {};
};

McpServer::McpServer(std::filesystem::path root) : root_(std::move(root)) {}
McpServer::~McpServer() = default;

core::Result<std::unique_ptr<McpServer>> McpServer::open(int port, std::filesystem::path root) {
  std::unique_ptr<McpServer> server(new McpServer(std::move(root)));
  auto listener = net::Listener::open({.port = port});
  if (!listener) {
    return core::fail(listener.error());
  }
  server->listener_ = std::make_unique<net::Listener>(std::move(*listener));
  server->port_ = server->listener_->name().substr(server->listener_->name().rfind(':') + 1);
  net::LoopOptions options;
  options.limits.body_bytes = kLargestBody;
  auto loop = net::EventLoop::make(options);
  if (!loop) {
    return core::fail(loop.error());
  }
  server->loop_ = std::move(*loop);
  server->loop_->listen(*server->listener_, *server);
  return server;
}

void McpServer::run(const std::atomic<bool>& interrupt) {
  interrupt_ = &interrupt;
  loop_->run(*this);
}

McpServer::Client* McpServer::new_client() {
  if (clients_.size() >= kMostClients) {
    // The one that has been silent for longest, if nothing waits for it.
    const auto idle = std::ranges::min_element(clients_, {}, [](const auto& entry) {
      return std::pair(!entry.second->waiting.empty(), entry.second->last_message);
    });
    if (!idle->second->waiting.empty()) {
      return nullptr;
    }
    clients_.erase(idle);
  }
  std::string name = random_token();
  if (name.empty()) {
    return nullptr;
  }
  auto client = std::make_unique<Client>();
  client->name = name;
  client->session =
      std::make_unique<McpSession>(root_, [own = client.get()](McpSession::Message message) {
        const std::lock_guard lock(own->mutex);
        own->said.push_back(std::move(message));
      });
  return (clients_[std::move(name)] = std::move(client)).get();
}

McpServer::Client* McpServer::client_of(const net::HttpRequest& request, int& status) {
  const std::string_view name = request.header("mcp-session-id");
  if (name.empty()) {
    Client* const client = begins(request.body) ? new_client() : nullptr;
    status = begins(request.body) ? kFull : kNoSession;
    return client;
  }
  const auto found = clients_.find(name);
  status = kUnknown;
  return found == clients_.end() ? nullptr : found->second.get();
}

void McpServer::on_request(net::Connection& connection, net::HttpRequest request) {
  const auto refuse = [&](int status) { connection.respond(status, "text/plain", ""); };
  if (comes_from_elsewhere(request, port_)) {
    return refuse(kElsewhere);
  }
  if (request.path != "/mcp") {
    return refuse(kUnknown);
  }
  if (request.method == "DELETE") {
    const auto found = clients_.find(request.header("mcp-session-id"));
    if (found == clients_.end() || !found->second->waiting.empty()) {
      return refuse(kUnknown);
    }
    clients_.erase(found);
    return refuse(kAnswered);
  }
  if (request.method != "POST") {
    return refuse(kOnlyPost);
  }
  int status = 0;
  Client* const client = client_of(request, status);
  if (client == nullptr) {
    return refuse(status);
  }
  client->last_message = ++messages_;
  const std::string id = client->session->receive(request.body);
  if (id.empty()) {
    return refuse(kTaken);
  }
  client->waiting[id] = &connection;
  deliver(*client);
}

void McpServer::on_gone(net::Connection& connection) {
  for (const auto& [name, client] : clients_) {
    std::erase_if(client->waiting, [&](const auto& entry) { return entry.second == &connection; });
  }
}

void McpServer::deliver(Client& client) {
  const std::lock_guard lock(client.mutex);
  for (; !client.said.empty(); client.said.pop_front()) {
    const McpSession::Message& message = client.said.front();
    const auto found = client.waiting.find(message.request);
    if (found == client.waiting.end()) {
      continue;  // Its client has gone.
    }
    net::Connection& connection = *found->second;
    if (!connection.can_send()) {
      return;
    }
    const net::HeaderList headers = {{kSession, client.name}};
    const std::string event = fmt::format("event: message\ndata: {}\n\n", message.line);
    if (!message.is_answer) {
      if (!connection.is_streaming()) {
        connection.begin_stream("text/event-stream", headers);
      }
      connection.send(event);
    } else if (connection.is_streaming()) {
      if (!message.line.empty()) {
        connection.send_with_end(event);
      }
      connection.end_stream();
    } else if (message.line.empty()) {
      connection.respond(kTaken, "text/plain", "", headers);
    } else {
      connection.respond(kAnswered, net::kJsonType, message.line, headers);
    }
    if (message.is_answer) {
      client.waiting.erase(found);
    }
    loop_->touch(connection);
  }
}

net::EventLoop::Wish McpServer::run() {
  bool waits = false;
  for (const auto& [name, client] : clients_) {
    deliver(*client);
    waits = waits || !client->waiting.empty();
  }
  const auto next = live::wall_now() + (waits ? kLook : kRest);
  return {.exact = next + kRest, .rough = next};
}

}  // namespace ridgeline::cli
