#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "cluster/gateway.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "domain/token_sink.hpp"
#include "engine/instance.hpp"
#include "engine/server.hpp"
#include "routing/router.hpp"

namespace ridgeline::cluster {

struct ClusterInputs {
  engine::InstanceInputs instance;  ///< Of each; ids count from 0, whatever this one's is.
  std::int64_t num_instances = 1;
  std::unique_ptr<routing::Router> router;
  GatewayTimes times;
  std::uint64_t seed = 0;  ///< Of the policy's draws.
  /// Advance every instance to every decision: slower, the same results. Off: only those of which
  /// the gateway may have learned something.
  bool eager = false;
};

/// Instances behind a gateway, as one server. Requests arrive at the gateway, which sends each to
/// one instance at once. At one instant: notices, readings of gauges, arrivals, deliveries, then
/// the instances' batches; what ends at that instant is known to an arrival only if it caused it.
class Cluster final : public engine::Server, private domain::RecordSink, private domain::TokenSink {
 public:
  explicit Cluster(ClusterInputs inputs);

  void submit(const domain::Request& request) override;
  void abort(core::RequestId id, core::SimTime at) override;
  engine::Pause advance(core::SimTime limit,
                        bool pause_at_completion,
                        std::int64_t max_segments) override;
  /// Of all instances together.
  [[nodiscard]] engine::InstanceState state(core::SimTime at) const override;
  [[nodiscard]] core::SimTime now() const override;
  /// The sums over the instances; the peak of used blocks is the sum of their peaks.
  [[nodiscard]] engine::EngineTotals totals() const override;
  void drop_all() override;

  [[nodiscard]] std::span<const std::unique_ptr<engine::Instance>> instances() const {
    return instances_;
  }
  /// Whether the policy reads gauges, which then have an age.
  [[nodiscard]] bool reads_gauges() const { return gateway_.needs().gauges; }
  [[nodiscard]] const RoutingTotals& routing() const { return gateway_.totals(); }

 private:
  /// A request that was sent to an instance and has not ended.
  struct Sent {
    Gateway::Counted counted;
    core::SimTime arrival;  ///< At the gateway.
    bool first_token_seen = false;
  };

  void on_request(const domain::RequestRecord& record) override;
  void on_steps(const domain::StepRecord& record) override { sink_.on_steps(record); }
  void on_token_gaps(const domain::TokenGaps& gaps) override { sink_.on_token_gaps(gaps); }
  void on_tokens(core::SimTime end, std::span<const domain::TokenEvent> events) override;

  [[nodiscard]] core::SimTime next_arrival() const;
  [[nodiscard]] core::SimTime next_visible() const;
  engine::Pause run_to(core::SimTime goal, bool pause_at_completion, std::int64_t max_segments);
  engine::Pause run_each_to(core::SimTime goal, bool lazily, std::int64_t max_segments);
  engine::Pause end_at(core::SimTime instant, std::int64_t max_segments);
  void read_gauges(std::int64_t max_segments);
  void route_arrivals(core::SimTime now);
  void report_unserved(const domain::Request& request, domain::Outcome outcome, core::SimTime at);

  domain::RecordSink& sink_;
  domain::TokenSink* tokens_;
  bool eager_;
  Gateway gateway_;
  core::SimTime reached_;
  core::SimTime aborted_at_;
  std::deque<domain::Request> arrivals_;                 ///< Not yet routed, in order of arrival.
  std::unordered_map<core::RequestId::Rep, Sent> sent_;  ///< Looked up, never walked.
  std::vector<std::unique_ptr<engine::Instance>> instances_;
};

}  // namespace ridgeline::cluster
