#include "serve/emulator.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/ids.hpp"
#include "core/result.hpp"
#include "core/rng.hpp"
#include "core/time.hpp"
#include "live/arrival_log.hpp"
#include "live/clock.hpp"
#include "live/session.hpp"
#include "openai/api_error.hpp"
#include "openai/prompt_builder.hpp"
#include "openai/request.hpp"
#include "scenario/deployment.hpp"
#include "scenario/resolve.hpp"
#include "serve/generation.hpp"
#include "serve/generations.hpp"
#include "serve/net/connection.hpp"
#include "serve/net/event_loop.hpp"
#include "serve/net/http_parser.hpp"
#include "serve/net/listener.hpp"
#include "serve/planner.hpp"
#include "serve/routes/routes.hpp"
#include "serve/server_metrics.hpp"
#include "serve/settings.hpp"
#include "sim/operations.hpp"

namespace ridgeline::serve {
namespace {

/// Pieces of text that /detokenize knows again.
constexpr std::size_t kMostPieces = 1'000'000;
/// Names of sessions that are kept apart.
constexpr std::size_t kMostSessions = 1'000'000;
constexpr int kUnavailable = 503;

/// Paths that ask for a key, where the server has one.
constexpr std::array<std::string_view, 4> kGuarded = {"/v1", "/v2", "/inference", "/cohere"};

/// Takes as long wherever the texts differ.
bool same_secret(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0U : 1U;
  for (std::size_t i = 0; i < b.size(); ++i) {
    const char other = i < a.size() ? a[i] : '\0';
    difference |= static_cast<unsigned>(static_cast<unsigned char>(other)) ^
                  static_cast<unsigned>(static_cast<unsigned char>(b[i]));
  }
  return difference == 0;
}

MetricsFacts metrics_facts(const scenario::Resolved& resolved,
                           const Settings& settings,
                           double created) {
  const scenario::Deployment& deployment = *resolved.deployment;
  constexpr std::int64_t kNull = 1;  // Holds no tokens.
  const std::int64_t blocks = deployment.engine.num_gpu_blocks.value();
  const std::int64_t instances = std::max<std::int64_t>(sim::num_places(resolved), 1);
  const auto truth = [](bool flag) { return std::string(flag ? "True" : "False"); };
  const auto& engine = deployment.section.engine;
  return {
      .model_name = settings.model_names.front(),
      .version = settings.version,
      .created = created,
      .max_model_len = deployment.engine.max_model_len.value(),
      .kv_blocks = (blocks - kNull) * instances,
      .cache_config = {{"block_size", fmt::format("{}", deployment.engine.block_size.value())},
                       {"cache_dtype", engine.kv_cache_dtype},
                       {"enable_prefix_caching", truth(deployment.engine.enable_prefix_caching)},
                       {"engine", "0"},
                       {"gpu_memory_utilization",
                        fmt::format("{}", engine.gpu_memory_utilization.value_or(0.9))},
                       {"num_gpu_blocks", fmt::format("{}", blocks)},
                       {"sliding_window", "None"}},
      .speed = settings.speed};
}

}  // namespace

Emulator::Emulator(const scenario::Resolved& resolved, Settings settings)
    : resolved_(resolved),
      settings_(std::move(settings)),
      created_(live::unix_seconds()),
      clock_(settings_.speed),
      metrics_(metrics_facts(resolved, settings_, created_)) {}

Emulator::~Emulator() = default;

core::Result<std::unique_ptr<Emulator>> Emulator::make(const scenario::Resolved& resolved,
                                                       Settings settings) {
  std::unique_ptr<Emulator> emulator(new Emulator(resolved, std::move(settings)));
  Emulator& own = *emulator;
  auto listener = net::Listener::open(own.settings_.address);
  if (!listener) {
    return core::fail(listener.error());
  }
  own.listener_ = std::make_unique<net::Listener>(std::move(*listener));
  auto loop = net::EventLoop::make(own.settings_.loop);
  if (!loop) {
    return core::fail(loop.error());
  }
  own.loop_ = std::move(*loop);
  std::unique_ptr<live::ArrivalLog> log;
  if (own.settings_.arrival_log) {
    auto file = live::open_log_file(*own.settings_.arrival_log);
    if (!file) {
      return core::fail(file.error());
    }
    log = std::make_unique<live::ArrivalLog>(std::move(*file));
  }
  own.generations_ = std::make_unique<Generations>(
      own.settings_,
      resolved.deployment->path,
      own.clock_,
      own.metrics_,
      [loop = own.loop_.get()](const net::Connection& connection) { loop->touch(connection); });
  auto session = live::Session::open(resolved, own.clock_, *own.generations_, std::move(log));
  if (!session) {
    return core::fail(session.error());
  }
  own.session_ = std::move(*session);
  own.session_->flush_log();
  own.ready_at_ =
      own.clock_.due(core::SimTime::at(own.settings_.startup_time.value_or(core::Duration())));
  own.loop_->listen(*own.listener_, own);
  return emulator;
}

void Emulator::run(const std::atomic<bool>& interrupt) {
  interrupt_ = &interrupt;
  loop_->run(*this);
}

void Emulator::pump() {
  session_->advance();
  next_write_ = generations_->write_due();
}

live::WallClock::Wall Emulator::run() {
  pump();
  return clock_.due(std::min(session_->next_instant(), next_write_));
}

bool Emulator::tick() {
  if (!session_->flush_log()) {
    is_log_broken_ = true;
  }
  if (!drain_until_) {
    if (!interrupt_->load(std::memory_order_relaxed) && !session_->is_over()) {
      return true;
    }
    begin_drain();
  }
  if (generations_->num_open() == 0) {
    return loop_->num_connections() > 0 && live::wall_now() < *drain_until_;
  }
  if (live::wall_now() < *drain_until_ && !session_->is_over()) {
    return true;
  }
  was_cut_ = true;
  generations_->cut_all(*session_,
                        {.status = kUnavailable,
                         .type = "Service Unavailable",
                         .message = "The server is shutting down.",
                         .param = std::nullopt});
  loop_->drain();
  // Once more round the loop, so that what was written leaves.
  drain_until_ = live::wall_now();
  return true;
}

/// No new connection, and no new request on an old one.
void Emulator::begin_drain() {
  const std::chrono::duration<double> wait(settings_.shutdown_timeout.to_seconds());
  drain_until_ =
      live::wall_now() + std::chrono::duration_cast<live::WallClock::Wall::duration>(wait);
  loop_->stop_listening();
  loop_->drain();
}

core::Result<ServeOutcome> Emulator::finish() {
  ServeOutcome outcome;
  outcome.num_requests = session_->num_requests();
  outcome.merged_events = metrics_.merged_events();
  outcome.estimated_prompts = metrics_.estimated_prompts();
  outcome.turned_away = loop_->turned_away();
  outcome.responses.assign(metrics_.responses().begin(), metrics_.responses().end());
  constexpr double kHalf = 0.5;
  constexpr double kNearlyAll = 0.99;
  outcome.lateness_p50 = metrics_.lateness().quantile_bound(kHalf);
  outcome.lateness_p99 = metrics_.lateness().quantile_bound(kNearlyAll);
  outcome.clock_jumps = clock_.jumps();
  outcome.was_cut = was_cut_;
  auto run = session_->finish();
  if (!run) {
    return core::fail(run.error());
  }
  outcome.is_log_whole = !is_log_broken_ && session_->flush_log();
  outcome.run = std::move(*run);
  if (outcome.run.totals.steps > 0) {
    outcome.mean_step = outcome.run.totals.busy.to_seconds() /
                        static_cast<double>(outcome.run.totals.steps) / settings_.speed;
  }
  return outcome;
}

std::int64_t Emulator::max_model_len() const {
  return resolved_.deployment->engine.max_model_len.value();
}

bool Emulator::is_ready() const {
  return !drain_until_ && live::wall_now() >= ready_at_;
}

std::string Emulator::metrics_page() {
  pump();
  ServerMetrics::Now now;
  now.state = session_->state();
  now.totals = session_->totals();
  now.simulated_seconds = clock_.now().to_seconds();
  now.open_connections = loop_->num_connections();
  now.open_streams = generations_->num_open();
  now.unix_seconds = live::unix_seconds();
  now.adapters.max_loras = settings_.max_loras;
  for (const std::string& adapter : settings_.adapters) {
    if (generations_->num_running_of(adapter) > 0) {
      now.adapters.running += (now.adapters.running.empty() ? "" : ",") + adapter;
    }
  }
  return metrics_.page(now);
}

bool Emulator::may(const net::HttpRequest& request) const {
  if (settings_.api_keys.empty() || request.method == "OPTIONS" ||
      std::ranges::none_of(kGuarded,
                           [&](std::string_view path) { return request.path.starts_with(path); })) {
    return true;
  }
  constexpr std::string_view kBearer = "Bearer ";
  const std::string_view given = request.header("authorization");
  if (!given.starts_with(kBearer)) {
    return false;
  }
  bool known = false;
  for (const std::string& key : settings_.api_keys) {
    known = same_secret(given.substr(kBearer.size()), key) || known;
  }
  return known;
}

void Emulator::on_request(net::Connection& connection, net::HttpRequest request) {
  request_began_ = live::wall_now();
  if (drain_until_) {
    connection.close_after_answer();
    if (request.path != "/metrics") {
      answer_error(connection,
                   {.status = kUnavailable,
                    .type = "Service Unavailable",
                    .message = "The server is shutting down.",
                    .param = std::nullopt});
      return;
    }
  }
  if (!may(request)) {
    answer(connection, 401, net::kJsonType, R"({"error":"Unauthorized"})");
    return;
  }
  const std::string_view method =
      request.method == "HEAD" ? std::string_view("GET") : std::string_view(request.method);
  bool is_path = false;
  std::string allowed;
  for (const Route& route : routes()) {
    const bool has_it = route.where == RouteOf::kAll ||
                        (route.where == RouteOf::kDevMode && settings_.has_dev_mode) ||
                        (route.where == RouteOf::kAdapterUpdates && settings_.updates_adapters);
    if (!has_it || route.path != request.path) {
      continue;
    }
    if (route.method == method) {
      route.answer(*this, connection, request);
      return;
    }
    is_path = true;
    allowed += (allowed.empty() ? "" : ", ") + std::string(route.method);
  }
  const int status = is_path ? 405 : 404;
  const std::string phrase(net::phrase_of(status));
  const net::HeaderList headers = is_path ? net::HeaderList{{"allow", allowed}} : net::HeaderList();
  if (settings_.version < openai::kNestedErrors) {
    answer(
        connection, status, net::kJsonType, fmt::format(R"({{"detail":"{}"}})", phrase), headers);
    return;
  }
  answer_error(connection,
               {.status = status, .type = phrase, .message = phrase, .param = std::nullopt},
               headers);
}

void Emulator::on_gone(net::Connection& connection) {
  generations_->cancel(*session_, connection);
}

void Emulator::on_writable(net::Connection& connection) {
  generations_->resume(connection);
}

void Emulator::answer(net::Connection& connection,
                      int status,
                      std::string_view content_type,
                      std::string_view body,
                      const net::HeaderList& headers) {
  metrics_.on_response(status);
  connection.respond(status, content_type, body, headers);
}

void Emulator::answer_error(net::Connection& connection,
                            const openai::ApiError& error,
                            const net::HeaderList& headers) {
  answer(connection,
         error.status,
         net::kJsonType,
         openai::error_body(error, settings_.version),
         headers);
}

openai::ApiResult<void> Emulator::check_model(const std::optional<std::string>& model) const {
  const auto& names = settings_.model_names;
  const auto& adapters = settings_.adapters;
  if (!model || std::ranges::find(names, *model) != names.end() ||
      std::ranges::find(adapters, *model) != adapters.end()) {
    return {};
  }
  return tl::unexpected(
      openai::not_found(fmt::format("The model `{}` does not exist.", *model), "model"));
}

std::optional<Fault> Emulator::draw_fault() {
  if (settings_.faults.empty()) {
    return std::nullopt;
  }
  core::RngStream draws(
      settings_.seed, 0, "serve-faults", static_cast<std::uint64_t>(num_http_requests_));
  for (const Fault& fault : settings_.faults) {
    if (draws.uniform() < fault.share) {
      return fault;
    }
  }
  return std::nullopt;
}

void Emulator::mark(const net::HttpRequest& request, std::vector<EngineRequest>& requests) {
  core::SessionId session;
  if (const std::string_view name = request.header("x-session-id"); !name.empty()) {
    if (sessions_.size() >= kMostSessions) {
      sessions_.clear();  // Numbers go on: a name seen again is another session.
    }
    static_assert(sizeof(core::SessionId::Rep) == sizeof(std::uint32_t));
    const auto [found, is_new] = sessions_.try_emplace(std::string(name), num_sessions_);
    num_sessions_ += is_new ? 1 : 0;
    session = core::SessionId(found->second);
  }
  std::int32_t priority = 0;
  const std::string_view stated = request.header("x-vllm-priority");
  const bool has_priority =
      !stated.empty() &&
      std::from_chars(stated.data(), stated.data() + stated.size(), priority).ec == std::errc();
  for (EngineRequest& one : requests) {
    one.request.session = session;
    if (has_priority) {
      one.request.priority = priority;
    }
    if (!one.adapter.empty()) {
      // Numbered as the replay of the log numbers them: in the order of their first use.
      const auto [found, is_new] = adapter_numbers_.try_emplace(
          one.adapter, static_cast<std::uint32_t>(adapter_numbers_.size()));
      one.request.lora = core::LoraId(found->second);
    }
  }
}

void Emulator::generate(net::Connection& connection,
                        const net::HttpRequest& request,
                        openai::GenerationRequest wanted) {
  ++num_http_requests_;
  if (const auto known = check_model(wanted.model); !known) {
    answer_error(connection, known.error());
    return;
  }
  std::optional<Fault> fault = draw_fault();
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
    constexpr std::array<std::string_view, 3> kKinds = {"error", "stall", "disconnect"};
    metrics_.on_fault(kKinds[static_cast<std::size_t>(fault->kind)]);
  }
  if (fault && fault->kind == Fault::Kind::kError) {
    net::HeaderList headers;
    if (fault->retry_after) {
      headers.emplace_back("retry-after", fmt::format("{}", *fault->retry_after));
    }
    answer_error(connection,
                 {.status = fault->status,
                  .type = std::string(net::phrase_of(fault->status)),
                  .message = "an injected fault",
                  .param = std::nullopt},
                 headers);
    return;
  }
  if (settings_.max_waiting > 0) {
    session_->advance();
    if (session_->state().waiting >= settings_.max_waiting) {
      answer_error(connection,
                   {.status = 429,
                    .type = "Too Many Requests",
                    .message = fmt::format("{} requests wait already", settings_.max_waiting),
                    .param = std::nullopt},
                   {{"retry-after", "1"}});
      return;
    }
  }
  PlanFacts facts;
  facts.max_model_len = max_model_len();
  facts.block_size = resolved_.deployment->engine.block_size;
  facts.first_id = session_->num_requests();
  facts.unix_seconds = live::unix_seconds();
  facts.request_id = std::string(request.header("x-request-id"));
  facts.random = openai::hash_text(fmt::format("{}/{}", created_, num_http_requests_));
  if (wanted.model &&
      std::ranges::find(settings_.adapters, *wanted.model) != settings_.adapters.end()) {
    facts.adapter = *wanted.model;
  }
  auto plan = make_plan(wanted, settings_, facts, [this](std::string_view text) {
    return generations_->answers().find(text);
  });
  if (!plan) {
    answer_error(connection, plan.error());
    return;
  }
  if (plan->is_estimate) {
    metrics_.on_estimate();
  }
  mark(request, plan->requests);
  plan->generation.fault = fault;
  generations_->begin(
      *session_, connection, std::move(plan->generation), std::move(plan->requests));
  metrics_.on_injection(std::chrono::duration<double>(live::wall_now() - request_began_).count());
}

std::string Emulator::piece_of(std::int64_t id) const {
  const auto found = pieces_.find(id);
  return found == pieces_.end() ? openai::word_of(id) : found->second;
}

void Emulator::remember_piece(std::int64_t id, std::string_view piece) {
  if (pieces_.size() < kMostPieces) {
    pieces_.try_emplace(id, piece);
  }
}

}  // namespace ridgeline::serve
