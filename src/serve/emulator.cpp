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
#include "core/parse.hpp"
#include "core/result.hpp"
#include "core/rng.hpp"
#include "core/sha256.hpp"
#include "core/time.hpp"
#include "engine/instance.hpp"
#include "openai/api.hpp"
#include "openai/api_error.hpp"
#include "openai/message_form.hpp"
#include "openai/prompt_builder.hpp"
#include "openai/request.hpp"
#include "openai/response_form.hpp"
#include "scenario/deployment.hpp"
#include "scenario/resolve.hpp"
#include "serve/admin.hpp"
#include "serve/fault.hpp"
#include "serve/generation.hpp"
#include "serve/generations.hpp"
#include "serve/kv_events.hpp"
#include "serve/net/connection.hpp"
#include "serve/net/event_loop.hpp"
#include "serve/net/http_parser.hpp"
#include "serve/net/listener.hpp"
#include "serve/planner.hpp"
#include "serve/routes/routes.hpp"
#include "serve/server_metrics.hpp"
#include "serve/settings.hpp"
#include "sim/live/arrival_log.hpp"
#include "sim/live/clock.hpp"
#include "sim/live/session.hpp"
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

/// Takes as long wherever the hashes differ.
bool is_same(const core::Sha256& a, const core::Sha256& b) {
  std::uint32_t difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference |= a[i] ^ b[i];
  }
  return difference == 0;
}

openai::ApiError shutting_down() {
  return {.status = kUnavailable,
          .type = "Service Unavailable",
          .message = "The server is shutting down.",
          .param = std::nullopt};
}

MetricsFacts metrics_facts(const scenario::Resolved& resolved,
                           const Settings& settings,
                           double created) {
  const scenario::Deployment& deployment = *resolved.deployment;
  constexpr std::int64_t kNull = 1;  // Holds no tokens.
  const std::int64_t blocks = deployment.engine.num_gpu_blocks.value();
  const std::int64_t instances = std::max<std::int64_t>(sim::num_places(resolved), 1);
  // A fleet that is no engine of data-parallel ranks is shown as one.
  const std::int64_t ranks = deployment.section.engine.data_parallel_size;
  const std::int64_t engines = instances == ranks ? ranks : 1;
  const auto truth = [](bool flag) { return std::string(flag ? "True" : "False"); };
  const auto& engine = deployment.section.engine;
  return {
      .model_name = settings.model_names.front(),
      .version = settings.version,
      .created = created,
      .max_model_len = deployment.engine.max_model_len.value(),
      .kv_blocks = (blocks - kNull) * instances / engines,
      .engines = engines,
      .cache_config = {{"block_size", fmt::format("{}", deployment.engine.block_size.value())},
                       {"cache_dtype", engine.kv_cache_dtype},
                       {"enable_prefix_caching", truth(deployment.engine.enable_prefix_caching)},
                       {"gpu_memory_utilization",
                        fmt::format("{}", engine.gpu_memory_utilization.value_or(0.9))},
                       {"num_gpu_blocks", fmt::format("{}", blocks)},
                       {"sliding_window", "None"}},
      .speed = settings.speed};
}

}  // namespace

Emulator::Emulator(const scenario::Resolved& resolved, Settings settings, net::EventLoop& loop)
    : resolved_(resolved),
      settings_(std::move(settings)),
      created_(live::unix_seconds()),
      clock_(settings_.speed),
      metrics_(metrics_facts(resolved, settings_, created_)),
      loop_(loop) {}

Emulator::~Emulator() = default;

core::Result<std::unique_ptr<Emulator>> Emulator::make(const scenario::Resolved& resolved,
                                                       Settings settings,
                                                       net::EventLoop& loop) {
  std::unique_ptr<Emulator> emulator(new Emulator(resolved, std::move(settings), loop));
  if (auto opened = emulator->open(); !opened) {
    return core::fail(opened.error());
  }
  return emulator;
}

core::Result<void> Emulator::open() {
  auto listener = net::Listener::open(settings_.address);
  if (!listener) {
    return core::fail(listener.error());
  }
  listener_ = std::make_unique<net::Listener>(std::move(*listener));
  if (settings_.admin_port) {
    auto admin = net::Listener::open({.port = *settings_.admin_port});
    if (!admin) {
      return core::fail(admin.error());
    }
    admin_listener_ = std::make_unique<net::Listener>(std::move(*admin));
    admin_ = std::make_unique<AdminRoutes>(*this);
  }
  std::unique_ptr<live::ArrivalLog> log;
  if (settings_.arrival_log) {
    auto file = live::open_log_file(*settings_.arrival_log);
    if (!file) {
      return core::fail(file.error());
    }
    log = std::make_unique<live::ArrivalLog>(std::move(*file));
  }
  generations_ = std::make_unique<Generations>(
      settings_,
      resolved_.deployment->path,
      clock_,
      metrics_,
      [loop = &loop_](const net::Connection& connection) { loop->touch(connection); });
  if (auto opened = open_kv_events(); !opened) {
    return opened;
  }
  auto session = live::Session::open(
      resolved_, clock_, *generations_, std::move(log), {.kv_events = kv_events_.get()});
  if (!session) {
    return core::fail(session.error());
  }
  session_ = std::move(*session);
  session_->flush_log();
  ready_at_ = clock_.due(core::SimTime::at(settings_.startup_time.value_or(core::Duration())));
  loop_.listen(*listener_, *this);
  if (admin_) {
    loop_.listen(*admin_listener_, *admin_);
  }
  return {};
}

core::Result<void> Emulator::open_kv_events() {
  if (!settings_.kv_events) {
    return {};
  }
  auto events = KvEvents::open(
      *settings_.kv_events,
      {.block_size = resolved_.deployment->engine.block_size, .version = settings_.version},
      settings_.first_instance,
      std::max<std::int64_t>(sim::num_places(resolved_), 1),
      settings_.address.host,
      [this](core::SimTime time) {
        return live::unix_seconds() +
               std::chrono::duration<double>(clock_.due(time) - live::wall_now()).count();
      });
  if (!events) {
    return core::fail(events.error());
  }
  kv_events_ = std::move(*events);
  generations_->tell(*kv_events_);
  return {};
}

void Emulator::pump() {
  session_->advance();
  next_write_ = generations_->write_due();
  settle_pause();
}

net::EventLoop::Wish Emulator::run() {
  pump();
  // What a step gives is due some time after its end: that way is slack.
  return {.exact = clock_.due(next_write_), .rough = clock_.due(session_->next_instant())};
}

bool Emulator::tick() {
  die_if_due();
  if (kv_events_) {
    kv_events_->answer_replays();
  }
  watch_log();
  if (!drain_until_) {
    if (!interrupt_->load(std::memory_order_relaxed) && !is_drain_wanted_ && !session_->is_over()) {
      return true;
    }
    begin_drain();
  }
  if (generations_->num_open() == 0) {
    return loop_.num_connections(*this) > 0 && live::wall_now() < *drain_until_;
  }
  if (live::wall_now() < *drain_until_ && !session_->is_over()) {
    return true;
  }
  was_cut_ = true;
  generations_->cut_all(*session_, shutting_down());
  loop_.drain(*this);
  // Once more round the loop, so that what was written leaves.
  drain_until_ = live::wall_now();
  return true;
}

/// No new connection, and no new request on an old one.
void Emulator::begin_drain() {
  const std::chrono::duration<double> wait(settings_.shutdown_timeout.to_seconds());
  drain_until_ =
      live::wall_now() + std::chrono::duration_cast<live::WallClock::Wall::duration>(wait);
  clock_.resume();  // What was halted may end.
  for (Held& held : std::exchange(held_, {})) {
    answer_error(*held.connection, shutting_down(), {}, held.wanted.api);
  }
  loop_.stop_listening(*this);
  loop_.drain(*this);
}

core::Result<ServeOutcome> Emulator::finish() {
  ServeOutcome outcome;
  outcome.num_requests = session_->num_requests();
  outcome.merged_events = metrics_.merged_events();
  outcome.estimated_prompts = metrics_.estimated_prompts();
  outcome.turned_away = loop_.turned_away();
  outcome.responses.assign(metrics_.responses().begin(), metrics_.responses().end());
  constexpr double kHalf = 0.5;
  constexpr double kNearlyAll = 0.99;
  outcome.lateness_p50 = metrics_.lateness().quantile_bound(kHalf);
  outcome.lateness_p99 = metrics_.lateness().quantile_bound(kNearlyAll);
  outcome.least_lateness_p99 = metrics_.lateness().quantile_floor(kNearlyAll);
  outcome.clock_jumps = clock_.jumps();
  outcome.are_steps_short = metrics_.are_steps_short();
  outcome.was_cut = was_cut_;
  auto run = session_->finish();
  if (!run) {
    return core::fail(run.error());
  }
  watch_log();
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

bool Emulator::is_ready() {
  return !drain_until_ && live::wall_now() >= ready_at_ && clock_.now() >= dead_until_;
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
  const core::Sha256 hash = core::sha256(given.substr(kBearer.size()));
  bool is_known = false;
  for (const core::Sha256& key : settings_.api_keys) {
    is_known = is_same(hash, key) || is_known;
  }
  return is_known;
}

bool Emulator::has(const Route& route, std::string_view path) const {
  const bool is_ours = route.where == RouteOf::kAll ||
                       (route.where == RouteOf::kDevMode && settings_.has_dev_mode) ||
                       (route.where == RouteOf::kAdapterUpdates && settings_.updates_adapters);
  return is_ours && part_of(route.path, path) && route.since <= settings_.version &&
         settings_.version < route.until;
}

void Emulator::on_request(net::Connection& connection, net::HttpRequest request) {
  within_memory(connection, [&] { take_request(connection, request); });
}

void Emulator::take_request(net::Connection& connection, const net::HttpRequest& request) {
  request_began_ = live::wall_now();
  request_came_ = clock_.at(connection.arrived());
  const bool is_of_page = !request.header("origin").empty();
  if (is_of_page && request.method == "OPTIONS" &&
      !request.header("access-control-request-method").empty()) {
    answer_preflight(connection, request);
    return;
  }
  if (is_of_page) {
    connection.add_headers("access-control-allow-origin: *\r\n");
  }
  if (drain_until_) {
    connection.close_after_answer();
    if (request.path != "/metrics") {
      answer_error(connection, shutting_down());
      return;
    }
  }
  if (!may(request)) {
    answer(connection, 401, net::kJsonType, R"({"error":"Unauthorized"})");
    return;
  }
  // FastAPI answers HEAD where it is asked to; the page of metrics is another application.
  const std::string_view method = request.method == "HEAD" && request.path.starts_with("/metrics")
                                      ? std::string_view("GET")
                                      : std::string_view(request.method);
  std::string allowed;
  for (const Route& route : routes()) {
    if (!has(route, request.path)) {
      continue;
    }
    if (route.method == method) {
      route.answer(*this, connection, request);
      return;
    }
    allowed += (allowed.empty() ? "" : ", ") + std::string(route.method);
  }
  answer_no_route(connection, request, allowed);
}

void Emulator::on_gone(net::Connection& connection) {
  std::erase_if(held_, [&](const Held& held) { return held.connection == &connection; });
  if (pending_ && pending_->connection == &connection) {
    pending_->connection = nullptr;
  }
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
                            const net::HeaderList& headers,
                            openai::Api api) {
  answer(connection,
         error.status,
         net::kJsonType,
         api == openai::Api::kMessages ? openai::message_error(error, settings_.version)
                                       : openai::error_body(error, settings_.version),
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

openai::ApiResult<std::int32_t> Emulator::rank_of(const net::HttpRequest& request) const {
  const auto rank = core::parse_whole<std::int32_t>(request.header("x-data-parallel-rank"));
  if (!rank) {
    return -1;  // As vLLM, which passes over what is no number.
  }
  const std::int64_t ranks = resolved_.deployment->section.engine.data_parallel_size;
  if (*rank < 0 || *rank >= ranks) {
    return tl::unexpected(openai::refused(
        fmt::format("data_parallel_rank {} is out of range [0, {}).", *rank, ranks)));
  }
  return *rank;
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
  if (const auto known = check_model(wanted.model); !known) {
    answer_error(connection, known.error(), {}, wanted.api);
    return;
  }
  if (const auto joined = responses().join(wanted, settings_.version); !joined) {
    answer_error(connection, joined.error(), {}, wanted.api);
    return;
  }
  if (holds_requests()) {
    held_.push_back({.connection = &connection, .request = request, .wanted = std::move(wanted)});
    return;
  }
  ++num_http_requests_;
  std::optional<Fault> fault;
  net::HeaderList headers;
  if (const auto refused = refusal(request, headers, fault)) {
    answer_error(connection, *refused, headers, wanted.api);
    return;
  }
  PlanFacts facts;
  facts.max_model_len = max_model_len();
  facts.vocabulary = resolved_.deployment->network.vocab_size;
  facts.block_size = resolved_.deployment->engine.block_size;
  facts.first_id = session_->num_requests();
  facts.unix_seconds = live::unix_seconds();
  facts.request_id = std::string(request.header("x-request-id"));
  facts.cache_epoch = cache_epoch_;
  facts.random = openai::hash_text(fmt::format("{}/{}", created_, num_http_requests_));
  if (wanted.model &&
      std::ranges::find(settings_.adapters, *wanted.model) != settings_.adapters.end()) {
    facts.adapter = *wanted.model;
  }
  auto plan = make_plan(wanted, settings_, facts, [this](std::string_view text) {
    return generations_->answers().find(text);
  });
  if (!plan) {
    answer_error(connection, plan.error(), {}, wanted.api);
    return;
  }
  const auto rank = rank_of(request);
  if (!rank) {
    answer_error(connection, rank.error(), {}, wanted.api);
    return;
  }
  if (plan->is_estimate) {
    metrics_.on_estimate();
  }
  mark(request, plan->requests);
  for (EngineRequest& one : plan->requests) {
    one.request.rank = *rank;
  }
  plan->generation.fault = fault;
  const std::string id = plan->generation.head.id;
  const bool waits = !wanted.response.is_background;
  if (!waits && !wanted.stream) {
    answer(connection,
           200,
           net::kJsonType,
           openai::ResponseForm(plan->generation.head).without_answer("queued"));
  }
  generations_->begin(*session_,
                      waits ? &connection : nullptr,
                      request_came_,
                      std::move(plan->generation),
                      std::move(plan->requests));
  if (!waits && wanted.stream) {
    generations_->follow(id, connection, 0);
  }
  metrics_.on_injection(std::chrono::duration<double>(live::wall_now() - request_began_).count());
}

std::string Emulator::piece_of(std::int64_t id) const {
  const auto found = pieces_.find(id);
  return found == pieces_.end() ? openai::word_of(id, settings_.tokenizer.get()) : found->second;
}

void Emulator::remember_piece(std::int64_t id, std::string_view piece) {
  if (pieces_.size() < kMostPieces) {
    pieces_.try_emplace(id, piece);
  }
}

}  // namespace ridgeline::serve
