#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>

#include "core/ids.hpp"
#include "core/ring.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "domain/token_sink.hpp"
#include "engine/engine.hpp"
#include "engine/frontend.hpp"
#include "engine/kv_connector.hpp"
#include "engine/kv_events.hpp"
#include "engine/kv_look.hpp"
#include "engine/leg.hpp"
#include "engine/options.hpp"
#include "engine/server.hpp"
#include "engine/slowed_model.hpp"

namespace ridgeline::engine {

/// Which twin runs.
enum class EngineCore : std::uint8_t { kFast, kReference };

struct InstanceInputs {
  EngineInputs engine;  ///< Its sink gets the records, with the instance's id.
  const RequestPath& path;
  core::InstanceId id;
  EngineCore core = EngineCore::kFast;
  bool jump = true;            ///< Advance equal steps in closed form.
  bool may_slow_down = false;  ///< set_slowdown() may be called.
  bool in_lock_step = false;   ///< A rank of an InstanceGroup, which alone advances it.
  Slowdown pace = {};          ///< Its steps always take so much longer than the model says.
  /// Requests that were here before the run, in the order in which they ended: the prefix cache
  /// begins as they left it. Their ids are no request's of the run. Not with `in_lock_step`.
  std::span<const domain::Request> warm_from = {};
  /// Have the sink of this instance's KV events; null: there are none. With them it starts cold.
  KvEventSinks* kv_events = nullptr;
};

class StepLoop;

/// One serving instance: the API server's frontend, the engine and its KV cache. Requests pass the
/// frontend one after the other and reach the engine's queue when it is done with them.
class Instance final : public Server, private domain::RecordSink, private domain::FirstTokenSink {
  friend class InstanceGroup;

 public:
  explicit Instance(const InstanceInputs& inputs);

  void submit(const domain::Request& request) override { submit_leg(request, {}); }
  /// As submit(), of a request of which this instance computes a part.
  void submit_leg(const domain::Request& request, const Leg& leg);
  /// As Engine::finish_load() and Engine::release_blocks().
  void finish_load(LoadId id, core::SimTime at, bool arrived);
  void release_blocks(core::RequestId id, core::SimTime at);
  /// As Engine::connect().
  void connect(KvConnector& connector) { engine_->connect(connector); }
  void abort(core::RequestId id, core::SimTime at) override;
  Pause advance(core::SimTime limit, bool pause_at_completion, std::int64_t max_segments) override;
  [[nodiscard]] InstanceState state(core::SimTime at) const override;
  [[nodiscard]] core::SimTime now() const override { return std::max(engine_->now(), reached_); }
  [[nodiscard]] EngineTotals totals() const override;
  void drop_all() override { drop_all(now()); }
  /// drop_all() with what arrives at `last` at the latest: a gateway's requests are on their way
  /// before they arrive, and an instance may not have come to an instant that its fleet is past.
  void drop_all(core::SimTime last);

  /// The instance dies at `at` (every instant before it is done): every request that it has got and
  /// not ended is reported as failed. It serves no more; its totals stay.
  void fail(core::SimTime at);
  /// From `at` on (every instant before it is done) no step ends and none is formed, and no request
  /// leaves the frontend, until it goes on.
  void hang(core::SimTime at);
  void go_on(core::SimTime at);
  /// Steps formed from now on take so much longer than at its own pace.
  void set_slowdown(Slowdown slowdown);

  [[nodiscard]] core::InstanceId id() const { return id_; }
  /// As Engine::next_instant() and Engine::next_visible(), with the requests in the frontend.
  [[nodiscard]] core::SimTime next_instant() const override;
  [[nodiscard]] core::SimTime next_visible() const;
  /// As Engine::cached_prefix().
  [[nodiscard]] core::Tokens cached_prefix(const domain::Request& request) {
    return engine_->cached_prefix(request);
  }
  [[nodiscard]] core::Tokens cached_prefix_at(const domain::Request& request, const KvLook& look) {
    return engine_->cached_prefix_at(request, look);
  }

 private:
  /// A request in the frontend.
  struct InFrontend {
    domain::Request request;
    core::SimTime done;  ///< never() where that lies after the horizon.
    Leg leg;
  };

  void hang_until(core::SimTime at);
  void on_request(const domain::RequestRecord& record) override;
  void expect(core::RequestId id) override { sink_.expect(id); }
  void on_steps(const domain::StepRecord& record) override;
  void on_token_gaps(const domain::TokenGaps& gaps) override {
    if (!is_warming_) {
      sink_.on_token_gaps(gaps);
    }
  }
  void on_first_token(core::RequestId id, core::SimTime at) override {
    if (!is_warming_) {
      first_tokens_->on_first_token(id, at);
    }
  }
  void warm(std::span<const domain::Request> requests, const HostTime& host);

  [[nodiscard]] core::SimTime next_handover() const {
    return in_frontend_.empty() ? core::SimTime::never() : in_frontend_.front().done;
  }
  void hand_over();
  [[nodiscard]] bool hangs() const { return hangs_since_ != core::SimTime::never(); }
  void report_unserved(const InFrontend& entry,
                       domain::Outcome outcome,
                       core::SimTime at,
                       core::SimTime failed = core::SimTime::never());

  domain::RecordSink& sink_;
  core::InstanceId id_;
  core::SimTime horizon_;
  Frontend frontend_;
  core::Ring<InFrontend> in_frontend_;  ///< In order of arrival.
  core::SimTime reached_;               ///< The last instant at which a request reached the queue.
  std::int64_t num_ended_ = 0;
  core::SimTime hangs_since_ = core::SimTime::never();
  HostTime host_;             ///< None while it warms.
  bool is_warming_ = false;   ///< The requests inside are from before the run.
  EngineTotals before_ = {};  ///< What those added.
  domain::FirstTokenSink* first_tokens_;
  Slowdown pace_;                        ///< When nothing slows it down.
  std::unique_ptr<SlowedModel> slowed_;  ///< Where it may slow down, or has a pace of its own.
  std::unique_ptr<Engine> engine_;
  StepLoop* rank_ = nullptr;  ///< The engine, where it is in lock-step.
};

}  // namespace ridgeline::engine
