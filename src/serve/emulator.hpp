#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "live/clock.hpp"
#include "live/session.hpp"
#include "openai/api_error.hpp"
#include "openai/request.hpp"
#include "scenario/resolve.hpp"
#include "serve/generations.hpp"
#include "serve/net/connection.hpp"
#include "serve/net/event_loop.hpp"
#include "serve/net/listener.hpp"
#include "serve/server_metrics.hpp"
#include "serve/settings.hpp"
#include "sim/simulation.hpp"

namespace ridgeline::serve {

/// What a server did, when it has ended.
struct ServeOutcome {
  sim::RunOutcome run;
  std::int64_t num_requests = 0;  ///< Of the engine.
  std::int64_t merged_events = 0;
  std::int64_t estimated_prompts = 0;
  std::int64_t turned_away = 0;
  std::vector<std::pair<int, std::int64_t>> responses;  ///< By status.
  double lateness_p50 = 0.0;  ///< Upper bounds of the buckets, in seconds.
  double lateness_p99 = 0.0;
  double mean_step = 0.0;  ///< Wall seconds of a step; 0 where there was none.
  std::int64_t clock_jumps = 0;
  bool is_log_whole = true;  ///< The arrival log could be written.
  bool was_cut = false;      ///< Answers were still under way when the time to drain was over.
};

/// A server that answers as vLLM does, and takes the time that the simulated deployment takes. One
/// thread: sockets, the simulation and what is due take turns.
class Emulator final : public net::Handler, private net::EventLoop::Work {
 public:
  /// Listens from here on. `resolved` outlives it. Fails where it cannot listen, and as
  /// live::Session::open() does.
  [[nodiscard]] static core::Result<std::unique_ptr<Emulator>> make(
      const scenario::Resolved& resolved, Settings settings);
  ~Emulator() override;

  [[nodiscard]] const net::Listener& listener() const { return *listener_; }
  /// Serves until `interrupt` is set, and the answers under way have ended or their time is over.
  void run(const std::atomic<bool>& interrupt);
  /// What it did. Once, after run().
  [[nodiscard]] core::Result<ServeOutcome> finish();

  void on_request(net::Connection& connection, net::HttpRequest request) override;
  void on_gone(net::Connection& connection) override;
  void on_writable(net::Connection& connection) override;

  // For the routes.
  [[nodiscard]] const Settings& settings() const { return settings_; }
  [[nodiscard]] std::int64_t max_model_len() const;
  [[nodiscard]] bool is_ready() const;
  [[nodiscard]] std::int64_t num_open() const { return generations_->num_open(); }
  [[nodiscard]] std::string metrics_page();
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
                    const net::HeaderList& headers = {});
  /// Fails where no model has this name.
  [[nodiscard]] openai::ApiResult<void> check_model(const std::optional<std::string>& model) const;
  /// The text of a token that this server has handed out as this id; empty for others.
  [[nodiscard]] std::string piece_of(std::int64_t id) const;
  void remember_piece(std::int64_t id, std::string_view piece);

 private:
  Emulator(const scenario::Resolved& resolved, Settings settings);

  live::WallClock::Wall run() override;
  bool tick() override;
  void pump();
  void begin_drain();
  [[nodiscard]] bool may(const net::HttpRequest& request) const;
  /// The fault that strikes the next request.
  [[nodiscard]] std::optional<Fault> draw_fault();
  /// What of the headers the engine's requests carry.
  void mark(const net::HttpRequest& request, std::vector<EngineRequest>& requests);

  const scenario::Resolved& resolved_;
  Settings settings_;
  double created_;
  live::WallClock clock_;
  ServerMetrics metrics_;
  std::unique_ptr<net::Listener> listener_;
  std::unique_ptr<net::EventLoop> loop_;
  std::unique_ptr<Generations> generations_;
  std::unique_ptr<live::Session> session_;
  const std::atomic<bool>* interrupt_ = nullptr;
  std::optional<live::WallClock::Wall> drain_until_;
  live::WallClock::Wall ready_at_;
  bool was_cut_ = false;
  live::WallClock::Wall request_began_;
  std::int64_t num_http_requests_ = 0;
  core::SimTime next_write_ = core::SimTime::never();
  bool is_log_broken_ = false;
  std::unordered_map<std::int64_t, std::string> pieces_;
  std::unordered_map<std::string, std::uint32_t> sessions_;  ///< X-Session-ID by number.
  std::uint32_t num_sessions_ = 0;
  std::unordered_map<std::string, std::uint32_t> adapter_numbers_;
};

}  // namespace ridgeline::serve
