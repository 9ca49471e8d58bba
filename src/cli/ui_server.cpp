#include "cli/ui_server.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "api/call.hpp"
#include "cli/loopback.hpp"
#include "core/result.hpp"
#include "document/document.hpp"
#include "document/json_writer.hpp"
#include "report/chart/figure.hpp"
#include "serve/net/connection.hpp"
#include "serve/net/event_loop.hpp"
#include "serve/net/http_parser.hpp"
#include "serve/net/listener.hpp"
#include "sim/live/clock.hpp"

namespace ridgeline::cli {
namespace {

namespace net = serve::net;
using document::Node;

constexpr std::string_view kCalls = "/call/";
/// What the page may ask; verbs that write or read files by name alone are not among them.
constexpr std::array<std::string_view, 8> kVerbs = {
    "run", "replay", "explain", "step", "list", "schema", "sweep", "plan"};

enum Status : int {
  kOk = 200,
  kBadRequest = 400,
  kUnauthorised = 401,
  kForbidden = 403,
  kNotFound = 404,
  kNotAllowed = 405,
  kWrongType = 415,
  kBusy = 503,
};

/// Takes as long wherever the texts differ.
bool is_same(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) {
    return false;
  }
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference |=
        static_cast<unsigned>(static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]));
  }
  return difference == 0;
}

/// Whether a text that may be a path, or hold one, leads nowhere but below `root`.
bool is_below(const std::string& text, const std::filesystem::path& root) {
  if (text == "-" || text.find("..") != std::string::npos || text.find('\0') != std::string::npos) {
    return false;
  }
  for (std::size_t at = text.find('/'); at != std::string::npos; at = text.find('/', at + 1)) {
    const auto before = at == 0 ? '\0' : text[at - 1];
    if (std::isalnum(static_cast<unsigned char>(before)) == 0 && before != '.' && before != '_' &&
        before != '-') {
      return false;  // Absolute, alone or behind another word.
    }
  }
  std::error_code error;
  const std::filesystem::path found = std::filesystem::canonical(root / text, error);
  if (error) {
    return true;  // There is no such file.
  }
  const auto [own, rest] = std::ranges::mismatch(root, found);
  return own == root.end();
}

/// The answer to `run`: the result, its report, its figures.
std::string with_pictures(const api::Answer& answer) {
  document::JsonWriter text(document::JsonWriter::Layout::kOneLine);
  text.value(answer.reply.text("table", {}).value_or(""));
  document::JsonWriter drawn(document::JsonWriter::Layout::kOneLine);
  drawn.begin_array();
  for (const auto& figure : answer.reply.figures()) {
    drawn.begin_object()
        .member("name", std::string_view(figure.id))
        .member("title", std::string_view(figure.title))
        .member("description", std::string_view(figure.description))
        .member("svg", std::string_view(report::figures::standalone_svg(figure)))
        .end_object();
  }
  drawn.end_array();
  return fmt::format(R"({{"code":{},"tree":{},"text":{},"figures":{}}})",
                     answer.code,
                     answer.json,
                     text.text(),
                     drawn.text());
}

}  // namespace

bool stays_below(const Node& document, const std::filesystem::path& root) {
  if (document.is_string()) {
    return is_below(document.as_string(), root);
  }
  if (document.is_list()) {
    return std::ranges::all_of(document.items(),
                               [&](const Node& item) { return stays_below(item, root); });
  }
  return !document.is_map() || std::ranges::all_of(document.members(), [&](const auto& member) {
    return stays_below(member.value, root);
  });
}

/// A call that goes on.
struct UiServer::Job {
  std::uint64_t number = 0;
  net::Connection* connection = nullptr;  ///< Null: its client has gone.
  std::atomic<bool> stop = false;
  std::atomic<bool> done = false;
  std::string answer;
  std::thread thread;
};

UiServer::UiServer(UiServerOptions options)
    : options_(std::move(options)), token_(random_token()) {}

UiServer::~UiServer() {
  for (const auto& job : jobs_) {
    job->stop = true;
    job->thread.join();
  }
}

core::Result<std::unique_ptr<UiServer>> UiServer::open(UiServerOptions options) {
  std::unique_ptr<UiServer> server(new UiServer(std::move(options)));
  if (server->token_.empty()) {
    return core::fail(
        core::Error{.field = "--listen", .message = "the system gives no random numbers"});
  }
  auto listener = net::Listener::open({.port = server->options_.port});
  if (!listener) {
    return core::fail(listener.error());
  }
  server->listener_ = std::make_unique<net::Listener>(std::move(*listener));
  server->port_ = server->listener_->name().substr(server->listener_->name().rfind(':') + 1);
  net::LoopOptions loop_options;
  loop_options.limits.body_bytes = kLargestBody;
  auto loop = net::EventLoop::make(loop_options);
  if (!loop) {
    return core::fail(loop.error());
  }
  server->loop_ = std::move(*loop);
  server->loop_->listen(*server->listener_, *server);
  return server;
}

std::string UiServer::url(std::string_view link) const {
  return fmt::format("{}/#token={}{}{}", listener_->name(), token_, link.empty() ? "" : "&", link);
}

void UiServer::run(const std::atomic<bool>& interrupt) {
  interrupt_ = &interrupt;
  loop_->run(*this);
}

/// What keeps other pages away: they come from elsewhere, do not know the token, and may not send
/// its header or this type without our leave, which nothing gets.
int UiServer::refusal(const net::HttpRequest& request) const {
  if (comes_from_elsewhere(request, port_)) {
    return kForbidden;
  }
  if (request.path == "/") {
    return request.method == "GET" ? 0 : kNotAllowed;
  }
  if (!request.path.starts_with(kCalls) ||
      std::ranges::find(kVerbs, std::string_view(request.path).substr(kCalls.size())) ==
          kVerbs.end()) {
    return kNotFound;
  }
  if (request.method != "POST") {
    return kNotAllowed;
  }
  if (!is_same(request.header("x-ridgeline-token"), token_)) {
    return kUnauthorised;
  }
  const std::string_view type = request.header("content-type");
  return type.substr(0, type.find(';')) == net::kJsonType ? 0 : kWrongType;
}

void UiServer::on_request(net::Connection& connection, net::HttpRequest request) {
  connection.add_headers(
      "X-Content-Type-Options: nosniff\r\n"
      "Cache-Control: no-store\r\n"
      "Referrer-Policy: no-referrer\r\n"
      "Content-Security-Policy: frame-ancestors 'none'\r\n"
      "Cross-Origin-Resource-Policy: same-origin\r\n"
      "Cross-Origin-Opener-Policy: same-origin-allow-popups\r\n");
  if (const int status = refusal(request); status != 0) {
    connection.respond(status, "text/plain", "");
    return;
  }
  if (request.path == "/") {
    // The page says how it is encoded.
    connection.respond(kOk, "text/html", options_.page);
    return;
  }
  start(connection, request);
}

void UiServer::start(net::Connection& connection, const net::HttpRequest& request) {
  const auto document = document::parse_json(request.body, "");
  if (!document || !document->is_map()) {
    connection.respond(kBadRequest, "text/plain", "");
    return;
  }
  if (!stays_below(*document, options_.root)) {
    connection.respond(kForbidden, "text/plain", "");
    return;
  }
  if (jobs_.size() >= std::max(1U, std::thread::hardware_concurrency())) {
    connection.respond(kBusy, "text/plain", "");
    return;
  }
  auto job = std::make_unique<Job>();
  job->number = ++calls_;
  job->connection = &connection;
  connection.context = job->number;
  job->thread =
      std::thread([&own = *job, verb = request.path.substr(kCalls.size()), body = request.body] {
        Hooks hooks;
        hooks.interrupted = [&own] { return own.stop.load(); };
        const api::Answer answer = api::call(verb, body, hooks);
        own.answer = answer.reply.figures ? with_pictures(answer) : answer.json;
        own.done = true;
      });
  jobs_.push_back(std::move(job));
}

void UiServer::on_gone(net::Connection& connection) {
  for (const auto& job : jobs_) {
    if (job->number == connection.context) {
      job->stop = true;
      job->connection = nullptr;
    }
  }
}

net::EventLoop::Wish UiServer::run() {
  for (const auto& job : jobs_) {
    if (job->done) {
      job->thread.join();
      if (job->connection != nullptr) {
        job->connection->context = 0;
        job->connection->respond(kOk, net::kJsonType, job->answer);
        loop_->touch(*job->connection);
      }
    }
  }
  std::erase_if(jobs_, [](const auto& job) { return job->done && !job->thread.joinable(); });
  const auto next = live::wall_now() + (jobs_.empty() ? kRest : kLook);
  return {.exact = next + kRest, .rough = next};
}

bool UiServer::tick() {
  return !interrupt_->load();
}

}  // namespace ridgeline::cli
