#include "cli/mcp_session.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "api/call.hpp"
#include "cli/mcp_tools.hpp"
#include "cli/ui_server.hpp"
#include "core/version.hpp"
#include "document/document.hpp"
#include "document/node_builder.hpp"
#include "document/node_json.hpp"

namespace ridgeline::cli {
namespace {

using document::MapBuilder;
using document::Node;

/// Revisions of the protocol, the newest first.
constexpr std::array<std::string_view, 4> kRevisions = {
    "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};
constexpr std::string_view kNoId = "null";
constexpr std::size_t kMostCalls = 16;
constexpr int kColumns = 120;  ///< Tables that an agent reads are not cut to a terminal.

/// JSON-RPC 2.0, section 5.1.
enum Fault : int {
  kNoJson = -32700,
  kNoRequest = -32600,
  kNoMethod = -32601,
  kBadParameters = -32602,
  kTooManyCalls = -32000,
};

constexpr std::string_view kInstructions =
    "Predicts what an LLM inference server (vLLM, SGLang, TensorRT-LLM) does under a load, without "
    "a GPU. Name a network, a GPU and a workload: {\"model\": \"llama-3.1-8b\", \"gpu\": \"h100\", "
    "\"workload\": {\"input_len\": 512, \"output_len\": 256, \"request_rate\": 8}}. `list` has the "
    "names, `help` the settings, `plan` finds the cheapest deployment within latency targets.";

std::string text_at(const Node& map, std::string_view key) {
  const Node* const value = map.find(key);
  return value != nullptr && value->is_string() ? value->as_string() : std::string();
}

Node map_at(const Node& map, std::string_view key) {
  const Node* const value = map.find(key);
  return value != nullptr && value->is_map() ? *value : MapBuilder().build();
}

/// One line of JSON without its end.
std::string line_of(const Node& node) {
  std::string line = document::json_line(node);
  while (!line.empty() && line.back() == '\n') {
    line.pop_back();
  }
  return line;
}

Node tool_result(std::string_view text, Node structured, bool is_error) {
  return MapBuilder()
      .add("content", document::list_node({MapBuilder().add("type", "text").add("text", text)}))
      .add("structuredContent", std::move(structured))
      .add("isError", is_error);
}

/// Errors as the command line prints them: "engine.max_num_seqs: found ..., expected ...".
std::string lines_of(const Node& errors) {
  std::string lines;
  for (const Node& error : errors.items()) {
    const std::string field = text_at(error, "field");
    const std::string hint = text_at(error, "hint");
    lines +=
        fmt::format("error: {}{}{}\n", field, field.empty() ? "" : ": ", text_at(error, "message"));
    lines += hint.empty() ? "" : fmt::format("hint: {}\n", hint);
  }
  return lines;
}

/// A tool's answer: the text of the table, and what a program reads.
Node tool_result(const api::Answer& answer) {
  const auto found = document::parse_json(answer.json, "");
  Node structured = found ? *found : Node();
  if (!structured.is_map()) {
    structured = MapBuilder().add("items", std::move(structured));
  }
  if (!answer.reply.tree && answer.reply.views.empty()) {
    const Node* const errors = structured.find("errors");
    const std::string text = errors == nullptr ? answer.json : lines_of(*errors);
    return tool_result(text, std::move(structured), true);
  }
  const auto table = answer.reply.text("table", {.width = kColumns});
  return tool_result(table.value_or(answer.json), std::move(structured), false);
}

Node initialized(const Node& params) {
  const std::string wanted = text_at(params, "protocolVersion");
  const bool is_known = std::ranges::find(kRevisions, wanted) != kRevisions.end();
  return MapBuilder()
      .add("protocolVersion", is_known ? std::string_view(wanted) : kRevisions.front())
      .add("capabilities", MapBuilder().add("tools", MapBuilder().add("listChanged", false)))
      .add("serverInfo", MapBuilder().add("name", "ridgeline").add("version", core::version()))
      .add("instructions", kInstructions);
}

}  // namespace

McpSession::McpSession(std::filesystem::path root, Send send)
    : root_(std::move(root)), send_(std::move(send)) {}

McpSession::~McpSession() {
  for (Call& call : calls_) {
    call.is_cancelled = true;
  }
  finish();
}

void McpSession::finish() {
  for (Call& call : calls_) {
    call.thread.join();
  }
  calls_.clear();
}

void McpSession::join_ended() {
  std::erase_if(calls_, [](Call& call) {
    if (!call.has_ended) {
      return false;
    }
    call.thread.join();
    return true;
  });
}

void McpSession::send(const std::string& request, const Node& message, bool is_answer) {
  const std::lock_guard lock(sending_);
  send_({.request = request, .line = line_of(message), .is_answer = is_answer});
}

void McpSession::answer(const std::string& id, Node result) {
  send(id,
       MapBuilder()
           .add("jsonrpc", "2.0")
           .add("id", *document::parse_json(id, ""))
           .add("result", std::move(result)),
       true);
}

void McpSession::refuse(const std::string& id, int code, std::string_view reason) {
  send(id,
       MapBuilder()
           .add("jsonrpc", "2.0")
           .add("id", *document::parse_json(id, ""))
           .add("error", MapBuilder().add("code", code).add("message", reason)),
       true);
}

void McpSession::notice(std::string_view method, const Node& params) {
  if (method != "notifications/cancelled") {
    return;
  }
  const Node* const id = params.find("requestId");
  for (Call& call : calls_) {
    if (id != nullptr && call.id == line_of(*id)) {
      call.is_cancelled = true;
    }
  }
}

std::string McpSession::receive(std::string_view line) {
  join_ended();
  const auto message = document::parse_json(line, "");
  if (!message) {
    refuse(std::string(kNoId), kNoJson, message.error().front().message);
    return std::string(kNoId);
  }
  const Node* const id = message->find("id");
  const bool has_id = id != nullptr && (id->is_string() || id->kind() == Node::Kind::kInteger);
  const std::string id_text = has_id ? line_of(*id) : std::string(kNoId);
  const std::string method = text_at(*message, "method");
  if (!message->is_map() || text_at(*message, "jsonrpc") != "2.0" || (id != nullptr && !has_id)) {
    refuse(id_text,
           kNoRequest,
           fmt::format("found {}, expected a JSON-RPC 2.0 message whose id is a text or an "
                       "integer",
                       message->describe()));
    return id_text;
  }
  if (method.empty()) {
    if (message->find("result") == nullptr && message->find("error") == nullptr) {
      refuse(id_text, kNoRequest, "method: missing");
      return id_text;
    }
    return {};  // An answer: nothing was asked.
  }
  const Node params = map_at(*message, "params");
  if (!has_id) {
    notice(method, params);
    return {};
  }
  request(id_text, method, params);
  return id_text;
}

void McpSession::request(const std::string& id, std::string_view method, const Node& params) {
  if (method == "initialize") {
    answer(id, initialized(params));
  } else if (method == "ping") {
    answer(id, MapBuilder());
  } else if (method == "tools/list") {
    answer(id, MapBuilder().add("tools", mcp_tools()));
  } else if (method == "tools/call") {
    call_tool(id, params);
  } else {
    refuse(id,
           kNoMethod,
           fmt::format("method: found \"{}\", expected initialize, ping, "
                       "tools/list or tools/call",
                       method));
  }
}

void McpSession::call_tool(const std::string& id, const Node& params) {
  const std::string name = text_at(params, "name");
  const Node arguments = map_at(params, "arguments");
  if (!is_mcp_tool(name)) {
    return refuse(id, kBadParameters, fmt::format("name: there is no tool \"{}\"", name));
  }
  if (verbs::find_verb(name)->run == nullptr) {
    const Node found = mcp_help(arguments);
    return answer(id, tool_result(document::json_text(found), found, false));
  }
  if (!stays_below(arguments, root_)) {
    const std::string reason =
        fmt::format("a file that arguments name is not below {}", root_.string());
    return answer(id, tool_result(reason, MapBuilder().add("error", reason), true));
  }
  if (calls_.size() >= kMostCalls) {
    return refuse(
        id, kTooManyCalls, fmt::format("{} calls go on; this one was not begun", kMostCalls));
  }
  Call& call = calls_.emplace_back();
  call.id = id;
  const Node meta = map_at(params, "_meta");
  if (const Node* const token = meta.find("progressToken")) {
    call.progress_token = *token;
  }
  call.thread =
      std::thread([this, &call, name, json = line_of(arguments)] { work(call, name, json); });
}

void McpSession::work(Call& call, const std::string& verb, const std::string& document) {
  Hooks hooks;
  hooks.interrupted = [&call] { return call.is_cancelled.load(); };
  std::int64_t last = 0;
  if (!call.progress_token.is_null()) {
    hooks.progress = [&](const Progress& at) {
      if (at.done <= last) {
        return;  // The protocol wants it to grow.
      }
      last = at.done;
      MapBuilder params;
      params.add("progressToken", call.progress_token).add("progress", at.done);
      params.add_known("total", at.total);
      send(call.id,
           MapBuilder()
               .add("jsonrpc", "2.0")
               .add("method", "notifications/progress")
               .add("params", std::move(params)),
           false);
    };
  }
  const api::Answer found = api::call(verb, document, hooks);
  if (call.is_cancelled) {
    const std::lock_guard lock(sending_);
    send_({.request = call.id, .line = "", .is_answer = true});
  } else {
    answer(call.id, tool_result(found));
  }
  call.has_ended = true;
}

}  // namespace ridgeline::cli
