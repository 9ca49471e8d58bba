#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "openai/api.hpp"
#include "openai/api_error.hpp"
#include "openai/request.hpp"
#include "scenario/resolve.hpp"
#include "serve/generations.hpp"
#include "serve/kv_events.hpp"
#include "serve/net/connection.hpp"
#include "serve/net/event_loop.hpp"
#include "serve/net/http_parser.hpp"
#include "serve/net/listener.hpp"
#include "serve/response_store.hpp"
#include "serve/server_metrics.hpp"
#include "serve/settings.hpp"
#include "sim/live/clock.hpp"
#include "sim/live/session.hpp"
#include "sim/simulation.hpp"

namespace ridgeline::serve {

struct Route;

/// What a server did, when it has ended.
struct ServeOutcome {
  sim::RunOutcome run;
  std::int64_t num_requests = 0;  ///< Requests of the engine.
  std::int64_t merged_events = 0;
  std::int64_t estimated_prompts = 0;
  std::int64_t turned_away = 0;
  std::vector<std::pair<int, std::int64_t>> responses;  ///< By status.
  double lateness_p50 = 0.0;  ///< Upper bounds of the buckets, in seconds.
  double lateness_p99 = 0.0;
  double least_lateness_p99 = 0.0;  ///< The lower bound of its bucket.
  double mean_step = 0.0;           ///< Wall seconds of a step; 0 where there was none.
  std::int64_t clock_jumps = 0;
  bool are_steps_short = false;  ///< Most lasted less than ServerMetrics::kShortStep here.
  bool was_cut = false;          ///< Answers were still under way when the time to drain was over.
};

/// What requests that run do when the server is paused.
enum class PauseMode : std::uint8_t { kAbort, kWait, kKeep };

/// A server that answers as vLLM does, and takes the time that the simulated deployment takes. One
/// thread: sockets, the simulation and what is due take turns.
class Emulator final : public net::Handler, public net::EventLoop::Work {
 public:
  /// Listens from here on. `resolved` and `loop` outlive it. Fails where it cannot listen, and as
  /// live::Session::open() does.
  [[nodiscard]] static core::Result<std::unique_ptr<Emulator>> make(
      const scenario::Resolved& resolved, Settings settings, net::EventLoop& loop);
  ~Emulator() override;

  [[nodiscard]] const net::Listener& listener() const { return *listener_; }
  /// Null where it has no admin port.
  [[nodiscard]] const net::Listener* admin_listener() const { return admin_listener_.get(); }
  /// From here on tick() ends it when `interrupt` is set, and the answers under way have ended or
  /// their time is over.
  void watch(const std::atomic<bool>& interrupt) { interrupt_ = &interrupt; }
  net::EventLoop::Wish run() override;
  bool tick() override;
  /// What it did. Once, after run().
  [[nodiscard]] core::Result<ServeOutcome> finish();

  void on_request(net::Connection& connection, net::HttpRequest request) override;
  void on_gone(net::Connection& connection) override;
  void on_writable(net::Connection& connection) override;

  // For the admin's routes.
  [[nodiscard]] std::string state_json();
  void set_faults(std::vector<Fault> faults) { settings_.faults = std::move(faults); }
  /// As a signal does it.
  void drain() { is_drain_wanted_ = true; }

  /// Null where it has none.
  [[nodiscard]] const KvEvents* kv_events() const { return kv_events_.get(); }

  // For the routes.
  [[nodiscard]] const Settings& settings() const { return settings_; }
  [[nodiscard]] std::int64_t max_model_len() const;
  [[nodiscard]] bool is_ready();
  [[nodiscard]] const scenario::Resolved& resolved() const { return resolved_; }
  /// No request is begun until resume(); the answer to `connection` says when that holds: at once,
  /// or when all that runs has ended (kWait). kAbort ends what runs as far as it is, kKeep halts
  /// it.
  void pause(net::Connection& connection, PauseMode mode, bool loses_cache, std::string_view body);
  void resume();
  [[nodiscard]] bool is_paused() const { return is_paused_; }
  /// vLLM's level: 0 awake, 1 and 2 asleep. Requests wait while it sleeps.
  void sleep(net::Connection& connection, PauseMode mode, int level);
  /// Wakes "weights" and "kv_cache", the two things that sleep.
  void wake_up(bool weights, bool kv_cache);
  [[nodiscard]] bool is_sleeping() const { return sleeps_.weights || sleeps_.kv_cache; }
  /// What was cached before is found by no later prompt.
  void lose_cache();
  [[nodiscard]] std::int64_t num_open() const { return generations_->num_open(); }
  [[nodiscard]] std::string metrics_page();
  [[nodiscard]] const ResponseStore& responses() const { return generations_->responses(); }
  /// As Generations::follow().
  bool follow_response(std::string_view id, net::Connection& connection, std::int64_t skip) {
    return generations_->follow(id, connection, skip);
  }
  /// As Generations::cancel_response().
  std::optional<std::string> cancel_response(std::string_view id) {
    return generations_->cancel_response(*session_, id);
  }
  [[nodiscard]] double created() const { return created_; }
  [[nodiscard]] std::vector<std::string>& adapters() { return settings_.adapters; }
  /// Answers a request for a generation.
  void generate(net::Connection& connection,
                const net::HttpRequest& request,
                openai::GenerationRequest wanted);
  /// Answers without a generation; counted.
  void answer(net::Connection& connection,
              int status,
              std::string_view content_type,
              std::string_view body,
              const net::HeaderList& headers = {});
  void answer_error(net::Connection& connection,
                    const openai::ApiError& error,
                    const net::HeaderList& headers = {},
                    openai::Api api = openai::Api::kChat);
  /// Fails where no model has this name.
  [[nodiscard]] openai::ApiResult<void> check_model(const std::optional<std::string>& model) const;
  /// The text of a token that this server has handed out as this id; empty for others.
  [[nodiscard]] std::string piece_of(std::int64_t id) const;
  void remember_piece(std::int64_t id, std::string_view piece);

 private:
  /// A request that came while the server takes none.
  struct Held {
    net::Connection* connection;
    net::HttpRequest request;
    openai::GenerationRequest wanted;
  };
  /// A pause that waits for what runs.
  struct Pending {
    net::Connection* connection;
    bool loses_cache;
    std::string body;
  };
  struct Sleeps {
    int level = 0;
    bool weights = false;
    bool kv_cache = false;
  };

  Emulator(const scenario::Resolved& resolved, Settings settings, net::EventLoop& loop);

  [[nodiscard]] core::Result<void> open();
  [[nodiscard]] core::Result<void> open_kv_events();
  void pump();
  void begin_drain();
  void take_request(net::Connection& connection, const net::HttpRequest& request);
  void within_memory(net::Connection& connection, const std::function<void()>& take);
  void watch_log();
  void die_if_due();
  [[nodiscard]] bool is_dead() { return clock_.now() < dead_until_; }
  [[nodiscard]] bool holds_requests() const { return is_paused_ || is_sleeping(); }
  void settle_pause();
  void take_held();
  void answer_no_route(net::Connection& connection,
                       const net::HttpRequest& request,
                       const std::string& allowed);
  void answer_preflight(net::Connection& connection, const net::HttpRequest& request);
  /// The refusal of a request before any work on it; its fault, where one strikes it later.
  [[nodiscard]] std::optional<openai::ApiError> refusal(const net::HttpRequest& request,
                                                        net::HeaderList& headers,
                                                        std::optional<Fault>& fault);
  /// Whether this server answers at this path as that line of the table says.
  [[nodiscard]] bool has(const Route& route, std::string_view path) const;
  [[nodiscard]] bool may(const net::HttpRequest& request) const;
  /// The fault that strikes the next request.
  [[nodiscard]] std::optional<Fault> draw_fault();
  /// What of the headers the engine's requests carry.
  void mark(const net::HttpRequest& request, std::vector<EngineRequest>& requests);
  /// The rank that X-data-parallel-rank asks for, -1 for none; an error where there is no such one.
  [[nodiscard]] openai::ApiResult<std::int32_t> rank_of(const net::HttpRequest& request) const;

  const scenario::Resolved& resolved_;
  Settings settings_;
  double created_;
  live::WallClock clock_;
  ServerMetrics metrics_;
  net::EventLoop& loop_;
  std::unique_ptr<net::Listener> listener_;
  std::unique_ptr<net::Listener> admin_listener_;
  std::unique_ptr<net::Handler> admin_;
  std::unique_ptr<KvEvents> kv_events_;
  std::unique_ptr<Generations> generations_;
  std::unique_ptr<live::Session> session_;
  const std::atomic<bool>* interrupt_ = nullptr;
  std::optional<live::WallClock::Wall> drain_until_;
  live::WallClock::Wall ready_at_;
  bool was_cut_ = false;
  live::WallClock::Wall request_began_;
  core::SimTime request_came_;
  std::int64_t num_http_requests_ = 0;
  core::SimTime next_write_ = core::SimTime::never();
  bool is_log_broken_ = false;
  std::unordered_map<std::int64_t, std::string> pieces_;
  std::unordered_map<std::string, std::uint32_t> sessions_;  ///< X-Session-ID by number.
  std::uint32_t num_sessions_ = 0;
  std::vector<Held> held_;  ///< In order of arrival.
  std::optional<Pending> pending_;
  Sleeps sleeps_;
  bool is_paused_ = false;
  std::uint64_t cache_epoch_ = 0;
  core::SimTime dead_until_;  ///< End of a `die` fault.
  std::size_t num_deaths_ = 0;
  bool is_drain_wanted_ = false;
  std::unordered_map<std::string, std::uint32_t> adapter_numbers_;
};

}  // namespace ridgeline::serve
