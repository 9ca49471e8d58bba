#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/result.hpp"
#include "core/rng.hpp"
#include "core/time.hpp"
#include "document/json_writer.hpp"
#include "engine/server.hpp"
#include "openai/api_error.hpp"
#include "openai/api_version.hpp"
#include "serve/emulator.hpp"
#include "serve/fault.hpp"
#include "serve/memory_reserve.hpp"
#include "serve/net/connection.hpp"
#include "serve/net/http_parser.hpp"
#include "serve/routes/routes.hpp"
#include "serve/server_metrics.hpp"
#include "serve/settings.hpp"

namespace ridgeline::serve {
namespace {

constexpr int kOk = 200;

}  // namespace

void Emulator::pause(net::Connection& connection,
                     PauseMode mode,
                     bool loses_cache,
                     std::string_view body) {
  is_paused_ = true;
  if (mode == PauseMode::kAbort) {
    pump();
    generations_->abort_all(*session_);
  } else if (mode == PauseMode::kKeep) {
    clock_.pause();
  }
  pending_ = {.connection = &connection, .loses_cache = loses_cache, .body = std::string(body)};
  settle_pause();
}

/// Answers the pause that waits, where nothing runs any more.
void Emulator::settle_pause() {
  if (!pending_ || (generations_->num_open() > 0 && !clock_.is_paused())) {
    return;
  }
  const Pending pending = std::move(*pending_);
  pending_.reset();
  if (pending.loses_cache) {
    lose_cache();
  }
  if (pending.connection != nullptr) {
    loop_.touch(*pending.connection);
    answer(*pending.connection,
           kOk,
           pending.body.empty() ? std::string_view() : net::kJsonType,
           pending.body);
  }
}

void Emulator::resume() {
  is_paused_ = false;
  clock_.resume();
  take_held();
}

void Emulator::sleep(net::Connection& connection, PauseMode mode, int level) {
  sleeps_ = {.level = level, .weights = level > 0, .kv_cache = level > 0};
  const bool was_paused = is_paused_;
  // The cache goes with the memory that it lies in.
  pause(connection, mode, level > 0, "");
  is_paused_ = was_paused;
}

void Emulator::wake_up(bool weights, bool kv_cache) {
  sleeps_.weights = sleeps_.weights && !weights;
  sleeps_.kv_cache = sleeps_.kv_cache && !kv_cache;
  if (!is_sleeping()) {
    sleeps_.level = 0;
    if (!is_paused_) {
      clock_.resume();
    }
    take_held();
  }
}

void Emulator::take_held() {
  if (holds_requests()) {
    return;
  }
  for (Held& held : std::exchange(held_, {})) {
    loop_.touch(*held.connection);
    request_began_ = live::wall_now();
    request_came_ = clock_.now();
    within_memory(*held.connection,
                  [&] { generate(*held.connection, held.request, std::move(held.wanted)); });
  }
}

void Emulator::lose_cache() {
  ++cache_epoch_;
  if (kv_events_) {
    kv_events_->clear();
  }
  generations_->forget_answers();
}

/// `die` faults: what runs ends with an error, and the cache is lost.
void Emulator::die_if_due() {
  std::size_t number = 0;
  for (const Fault& fault : settings_.faults) {
    if (fault.kind != Fault::Kind::kDie || number++ < num_deaths_ ||
        clock_.now() < core::SimTime::at(fault.at)) {
      continue;
    }
    ++num_deaths_;
    dead_until_ = clock_.now() + fault.lasts;
    metrics_.on_fault(name(fault.kind));
    pump();
    generations_->cut_all(*session_, openai::dead_engine());
    lose_cache();
  }
}

void Emulator::answer_preflight(net::Connection& connection, const net::HttpRequest& request) {
  // As starlette's CORSMiddleware does where every origin is allowed.
  constexpr std::string_view kMethods = "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT";
  constexpr std::string_view kText = "text/plain; charset=utf-8";
  constexpr int kBadRequest = 400;
  net::HeaderList headers = {{"access-control-allow-origin", "*"},
                             {"access-control-allow-methods", std::string(kMethods)},
                             {"access-control-max-age", "600"}};
  if (const auto asked = request.header("access-control-request-headers"); !asked.empty()) {
    headers.emplace_back("access-control-allow-headers", asked);
  }
  const std::string method = fmt::format(" {},", request.header("access-control-request-method"));
  const bool is_method = fmt::format(" {},", kMethods).find(method) != std::string::npos;
  answer(connection,
         is_method ? kOk : kBadRequest,
         kText,
         is_method ? "OK" : "Disallowed CORS method",
         headers);
}

/// As FastAPI: a path with a slash too many is sent on, `allowed` are the methods of one that is
/// there.
void Emulator::answer_no_route(net::Connection& connection,
                               const net::HttpRequest& request,
                               const std::string& allowed) {
  const std::string_view whole = request.path;
  const std::string_view path = whole.substr(0, whole.find_last_not_of('/') + 1);
  if (allowed.empty() && path.size() < whole.size() &&
      std::ranges::any_of(routes(), [&](const Route& route) { return has(route, path); })) {
    constexpr int kTemporaryRedirect = 307;
    answer(connection,
           kTemporaryRedirect,
           {},
           {},
           {{"location",
             fmt::format("http://{}{}{}{}",
                         request.header("host"),
                         path,
                         request.query.empty() ? "" : "?",
                         request.query)}});
    return;
  }
  const int status = allowed.empty() ? 404 : 405;
  const std::string phrase(net::phrase_of(status));
  const net::HeaderList headers =
      allowed.empty() ? net::HeaderList() : net::HeaderList{{"allow", allowed}};
  if (settings_.version < openai::kNestedErrors) {
    answer(
        connection, status, net::kJsonType, fmt::format(R"({{"detail":"{}"}})", phrase), headers);
    return;
  }
  answer_error(connection,
               {.status = status, .type = phrase, .message = phrase, .param = std::nullopt},
               headers);
}

std::string Emulator::metrics_page() {
  pump();
  ServerMetrics::Now now;
  if (metrics_.num_engines() == 1) {
    now.engines.push_back({.state = session_->state(), .totals = session_->totals()});
  } else {
    for (std::uint32_t i = 0; i < metrics_.num_engines(); ++i) {
      const core::InstanceId instance(i);
      now.engines.push_back(
          {.state = session_->state_of(instance), .totals = session_->totals_of(instance)});
    }
  }
  now.simulated_seconds = clock_.now().to_seconds();
  now.sleep_level = sleeps_.level;
  if (settings_.arrival_log) {
    watch_log();
    now.is_log_whole = !is_log_broken_;
  }
  now.open_connections = loop_.num_connections(*this);
  now.open_streams = generations_->num_open();
  now.unix_seconds = live::unix_seconds();
  now.adapters.max_loras = settings_.max_loras;
  for (const std::string& adapter : settings_.adapters) {
    if (generations_->num_running_of(adapter) > 0) {
      now.adapters.running += (now.adapters.running.empty() ? "" : ",") + adapter;
    }
  }
  return metrics_.page(std::move(now));
}

std::string Emulator::state_json() {
  pump();
  const engine::InstanceState state = session_->state();
  document::JsonWriter json(document::JsonWriter::Layout::kOneLine);
  json.begin_object();
  json.member("ready", is_ready());
  json.member("draining", drain_until_.has_value());
  json.member("dead", is_dead());
  json.member("paused", is_paused_);
  json.member("sleep_level", sleeps_.level);
  json.member("simulated_s", clock_.now().to_seconds());
  json.member("speed", settings_.speed);
  json.member("connections", loop_.num_connections(*this));
  json.member("answers", generations_->num_open());
  json.member("held", held_.size());
  json.member("running", state.running);
  json.member("waiting", state.waiting);
  json.member("used_blocks", state.used_blocks.value());
  json.member("free_blocks", state.free_blocks.value());
  json.member("requests", session_->num_requests());
  json.key("responses").begin_object();
  for (const auto& [status, count] : metrics_.responses()) {
    json.member(fmt::format("{}", status), count);
  }
  json.end_object();
  json.key("faults").begin_array();
  for (const Fault& fault : settings_.faults) {
    json.begin_object().member("kind", name(fault.kind)).member("share", fault.share).end_object();
  }
  json.end_array();
  json.end_object();
  return json.text();
}

/// Says at once that the log has ended, where it has.
void Emulator::watch_log() {
  if (session_->flush_log() || is_log_broken_) {
    return;
  }
  is_log_broken_ = true;
  if (settings_.warn) {
    settings_.warn({.code = "W-arrival-log",
                    .message = fmt::format("{}: {}: no request is logged any more, and a replay of "
                                           "the log is another run",
                                           *settings_.arrival_log,
                                           session_->log_problem()),
                    .hint = "room for it, and a new server with a log of another name"});
  }
}

/// A request that takes more memory than there is ends alone.
void Emulator::within_memory(net::Connection& connection, const std::function<void()>& take) {
  try {
    take();
  } catch (const std::bad_alloc&) {
    const bool may_answer = connection.is_busy() && !connection.is_streaming();
    on_gone(connection);
    if (may_answer) {
      answer_error(connection, openai::out_of_memory());
    } else {
      connection.kill();
    }
  }
}

std::optional<Fault> Emulator::draw_fault() {
  if (settings_.faults.empty()) {
    return std::nullopt;
  }
  core::RngStream draws(
      settings_.seed, 0, "serve-faults", static_cast<std::uint64_t>(num_http_requests_));
  for (const Fault& fault : settings_.faults) {
    if (fault.kind != Fault::Kind::kDie && draws.uniform() < fault.share) {
      return fault;
    }
  }
  return std::nullopt;
}

std::optional<openai::ApiError> Emulator::refusal(const net::HttpRequest& request,
                                                  net::HeaderList& headers,
                                                  std::optional<Fault>& fault) {
  if (is_dead()) {
    return openai::dead_engine();
  }
  if (!MemoryReserve::is_whole()) {
    return openai::out_of_memory();
  }
  fault = draw_fault();
  if (settings_.heeds_fault_headers) {
    int status = 0;
    const std::string_view stated = request.header("x-return-error");
    if (std::from_chars(stated.data(), stated.data() + stated.size(), status).ec == std::errc() &&
        status >= 400 && status < 600) {
      fault.emplace();
      fault->status = status;
    }
  }
  if (fault) {
    metrics_.on_fault(name(fault->kind));
  }
  if (fault && fault->kind == Fault::Kind::kError) {
    if (fault->retry_after) {
      headers.emplace_back("retry-after", fmt::format("{}", *fault->retry_after));
    }
    return openai::ApiError{.status = fault->status,
                            .type = std::string(net::phrase_of(fault->status)),
                            .message = "an injected fault",
                            .param = std::nullopt};
  }
  if (settings_.max_waiting > 0) {
    session_->advance();
    if (session_->state().waiting + std::ssize(held_) >= settings_.max_waiting) {
      headers.emplace_back("retry-after", "1");
      return openai::ApiError{
          .status = 429,
          .type = "Too Many Requests",
          .message = fmt::format("{} requests wait already", settings_.max_waiting),
          .param = std::nullopt};
    }
  }
  return std::nullopt;
}

}  // namespace ridgeline::serve
