#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.hpp"
#include "core/time.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "domain/token_sink.hpp"
#include "engine/frontend.hpp"
#include "engine/options.hpp"
#include "openai/api_error.hpp"
#include "serve/answer_writer.hpp"
#include "serve/generation.hpp"
#include "serve/known_answers.hpp"
#include "serve/kv_events.hpp"
#include "serve/request_table.hpp"
#include "serve/response_store.hpp"
#include "serve/server_metrics.hpp"
#include "serve/settings.hpp"
#include "sim/live/clock.hpp"
#include "sim/live/session.hpp"

namespace ridgeline::serve {

/// What is asked of the engine for one choice.
struct EngineRequest {
  domain::Request request;
  std::string adapter;
  Finished how = Finished::kLength;  ///< How it is counted when it ends well.
  std::int64_t n = 1;
  std::int64_t visible_tokens = 0;  ///< That the client gets.
  std::int64_t asked_tokens = 0;    ///< max_tokens of its client.
  /// Token ids of its prompt, where KV events list them.
  std::shared_ptr<const std::vector<std::uint32_t>> token_ids = {};
};

/// The answers under way: what the simulation gives, handed to the writer when it is due. A token
/// is due when its step has ended and the way to the client is over (engine::RequestPath), the end
/// of an answer `close` later. Memory follows the answers, not their tokens: of a reader that is
/// slow only a count is kept, and what it missed comes as one event.
class Generations final : public live::Events {
 public:
  /// All outlive it. `touch` gets the connections that were written to.
  Generations(const Settings& settings,
              const engine::RequestPath& path,
              live::WallClock& clock,
              ServerMetrics& metrics,
              std::function<void(const net::Connection&)> touch);

  /// Requests that begin and end are made known to them, which outlive it.
  void tell(KvEvents& events) { kv_events_ = &events; }
  /// Begins an answer to the request of this connection, which was read at `came`. Null: it is a
  /// response that is kept, for which no client waits. `generation.choices` and `requests` belong
  /// together.
  void begin(live::Session& session,
             net::Connection* connection,
             core::SimTime came,
             Generation generation,
             std::vector<EngineRequest> requests);
  /// The client has gone: its requests are cancelled.
  void cancel(live::Session& session, net::Connection& connection);
  /// Ends a response for which no client waits, and says how it looks then; nothing where there is
  /// none of this id.
  std::optional<std::string> cancel_response(live::Session& session, std::string_view id);
  /// Streams to this connection what a response in the background gives, whether it has ended or
  /// not, without its first `events_to_skip` events. False where none of this id was begun as a
  /// stream.
  bool follow(std::string_view id, net::Connection& connection, std::int64_t events_to_skip);
  /// The connection takes bytes again.
  void resume(net::Connection& connection);
  /// Writes what is due. When the next thing is: SimTime::never() where nothing waits.
  core::SimTime write_due();
  /// Ends every answer where it is, and cancels its requests: vLLM's pause.
  void abort_all(live::Session& session);
  /// Ends every answer with an error, and cancels its requests.
  void cut_all(live::Session& session, const openai::ApiError& error);

  [[nodiscard]] std::int64_t num_open() const { return num_open_; }
  [[nodiscard]] std::int64_t num_running_of(std::string_view adapter) const;
  [[nodiscard]] const ResponseStore& responses() const { return responses_; }
  [[nodiscard]] const KnownAnswers& answers() const { return writer_.answers(); }
  /// No prompt finds an earlier answer in the cache any more.
  void forget_answers() { writer_.forget_answers(); }

  void on_tokens(core::SimTime end, std::span<const domain::TokenEvent> events) override;
  void on_end(const domain::RequestRecord& record) override;
  void on_steps(const domain::StepRecord& record) override;
  void on_place(core::RequestId request, core::InstanceId instance) override;

 private:
  /// A choice of a generation that may be gone.
  struct Ref {
    std::uint32_t slot = 0;
    std::uint32_t choice = 0;
    std::uint64_t serial = 0;
  };
  struct Due {
    Ref ref;
    std::int64_t tokens = 0;
  };
  /// What a step gives, by when it is due.
  struct DueStep {
    core::SimTime at;
    std::vector<Due> tokens;
  };
  struct DueEnd {
    core::SimTime at;
    Ref ref;
    bool is_failure = false;
  };
  /// A request of the engine.
  struct Inside {
    Ref ref;
    core::SimTime stamped;  ///< By the server, when it came.
    core::SimTime last = core::SimTime::never();
    std::int64_t visible = 0;  ///< Tokens that the client is still to get.
    std::int64_t given = 0;
    core::InstanceId instance = core::InstanceId(0);
    EngineRequest facts;  ///< Without its prompt.
  };

  Generation* find(const Ref& ref);
  Generation* of(const net::Connection& connection);
  void note_if_whole(Generation& generation, std::uint32_t slot, core::SimTime at);
  [[nodiscard]] static std::vector<core::RequestId> open_requests(const Generation& generation);
  void fail(Generation& generation, const openai::ApiError& error);
  void finish(Generation& generation);
  std::string keep_without_answer(const Generation& generation, std::string_view status);
  void release(Generation& generation);
  void cancel_lost();
  Generation& take_slot(net::Connection* connection, Generation generation);
  Generation* in_background(std::string_view id);
  [[nodiscard]] std::vector<Ref> followers_of(const Generation& generation) const;
  void pass_on(const Generation& source);
  void end_followers(const Generation& source);
  void cut_followers(const Generation& source);

  const Settings& settings_;
  const engine::RequestPath& path_;
  live::WallClock& clock_;
  ServerMetrics& metrics_;
  std::function<void(const net::Connection&)> touch_;
  AnswerWriter writer_;
  ResponseStore responses_;
  engine::Frontend frontend_;
  std::vector<std::unique_ptr<Generation>> slots_;
  std::vector<std::uint32_t> free_slots_;
  std::uint64_t serials_ = 0;
  std::int64_t num_open_ = 0;
  RequestTable<Inside> inside_;
  std::deque<DueStep> due_steps_;
  std::vector<std::vector<Due>> spare_;  ///< Lists of steps that are over.
  std::deque<DueEnd> due_ends_;
  std::deque<DueEnd> failures_;
  KvEvents* kv_events_ = nullptr;
  live::Session* session_ = nullptr;  ///< Session of the answers.
};

}  // namespace ridgeline::serve
