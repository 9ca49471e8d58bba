#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "document/document.hpp"

namespace ridgeline::cli {

/// One client of the Model Context Protocol (modelcontextprotocol.io, revision 2025-11-25 and
/// older): JSON-RPC 2.0 messages, in which verbs are tools. A tool works on a thread of its own, so
/// that the client can cancel it and hears of its progress; every other request is answered at
/// once.
class McpSession {
 public:
  /// What the server says.
  struct Message {
    std::string request;     ///< The id of the client's request, as JSON.
    std::string line;        ///< JSON, without a line break; empty: a cancelled call has ended.
    bool is_answer = false;  ///< Else it is progress.
  };
  /// Sends a message. Called from any thread, from one at a time.
  using Send = std::function<void(Message message)>;

  /// Files that a call names lie below `root`, which is the working directory.
  explicit McpSession(std::filesystem::path root, Send send);
  McpSession(const McpSession&) = delete;
  McpSession& operator=(const McpSession&) = delete;
  /// Cancels what goes on.
  ~McpSession();

  /// Takes a message. The id of the request that is answered, now or later; empty where nothing is.
  std::string receive(std::string_view line);
  /// Waits for the calls that go on.
  void finish();

 private:
  /// A call of a tool that goes on.
  struct Call {
    std::string id;  ///< As JSON.
    document::Node progress_token = {};
    std::atomic<bool> is_cancelled = false;
    std::atomic<bool> has_ended = false;
    std::thread thread = {};
  };

  void send(const std::string& request, const document::Node& message, bool is_answer);
  void answer(const std::string& id, document::Node result);
  void refuse(const std::string& id, int code, std::string_view reason);
  void notice(std::string_view method, const document::Node& params);
  void request(const std::string& id, std::string_view method, const document::Node& params);
  void call_tool(const std::string& id, const document::Node& params);
  void work(Call& call, const std::string& verb, const std::string& document);
  void join_ended();

  std::filesystem::path root_;
  Send send_;
  std::mutex sending_;
  std::list<Call> calls_;
};

}  // namespace ridgeline::cli
