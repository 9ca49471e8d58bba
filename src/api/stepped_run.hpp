#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/call.hpp"
#include "api/policies.hpp"
#include "api/tables.hpp"
#include "core/result.hpp"
#include "core/time.hpp"
#include "document/document.hpp"
#include "domain/record.hpp"
#include "domain/token_sink.hpp"
#include "metrics/listeners.hpp"
#include "metrics/request_metrics.hpp"
#include "ridgeline/ridgeline.hpp"
#include "scenario/resolve.hpp"
#include "sim/live/clock.hpp"
#include "sim/live/session.hpp"
#include "verbs/request.hpp"
#include "verbs/run.hpp"

namespace ridgeline::api {

/// A deployment whose host says what comes and how far time goes (rl_session of ridgeline.h): a
/// live session under a clock that stands still between calls.
class SteppedRun final : private live::Events {
 public:
  /// The keys of `run`, without a workload. The hooks must be the same in all calls.
  [[nodiscard]] static core::Result<std::unique_ptr<SteppedRun>> open(verbs::Request& request,
                                                                      const Hooks& hooks,
                                                                      const rl_hooks* policies);

  /// One verb with its keys.
  [[nodiscard]] core::Result<Answer> call(std::string_view verb, verbs::Request& request);

 private:
  using Outcome = core::Result<Answer>;
  struct Verb;
  /// Gathers the requests that have ended since the last answer.
  class Ended final : public metrics::Listener {
   public:
    void on_request(const domain::RequestRecord& record,
                    const metrics::RequestMetrics& metrics) override;
    std::vector<document::Node> rows;
    std::int64_t count = 0;  ///< Requests that have ended in the whole run.
  };

  explicit SteppedRun(const Hooks& hooks,
                      const rl_hooks* policies,
                      verbs::Kept kept,
                      document::Node said);

  void on_tokens(core::SimTime end, std::span<const domain::TokenEvent> events) override;
  void on_end(const domain::RequestRecord& record) override;
  void on_steps(const domain::StepRecord& record) override;

  Outcome submit(verbs::Request& request);
  Outcome abort(verbs::Request& request);
  Outcome step(verbs::Request& request);
  Outcome run_until(verbs::Request& request);
  Outcome observe(verbs::Request& request);
  Outcome trace(verbs::Request& request);
  Outcome finish(verbs::Request& request);

  void go_to(core::SimTime time);
  [[nodiscard]] core::SimTime now();
  [[nodiscard]] bool is_stopped();
  /// What has happened since the last answer; fails where a policy of the host has.
  [[nodiscard]] Outcome happened();

  const Hooks hooks_;
  verbs::Kept kept_;
  document::Node said_;  ///< What the host says of its policies.
  std::optional<HostPolicies> policies_;
  std::shared_ptr<KeptTables> tables_;
  Ended ended_;
  metrics::Listeners listeners_;
  std::optional<scenario::Resolved> resolved_;
  std::string trace_;
  live::ManualClock clock_;
  std::unique_ptr<live::Session> session_;
  std::int64_t steps_ = 0;  ///< Since the last answer, as the tokens.
  std::int64_t tokens_ = 0;
  bool is_finished_ = false;
};

}  // namespace ridgeline::api
