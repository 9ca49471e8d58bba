#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <span>
#include <tuple>
#include <vector>

#include "cluster/decision.hpp"
#include "cluster/earliest.hpp"
#include "cluster/gateway.hpp"
#include "cluster/held_records.hpp"
#include "cluster/part.hpp"
#include "cluster/tickets.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "domain/token_sink.hpp"
#include "engine/instance.hpp"
#include "engine/leg.hpp"
#include "engine/server.hpp"
#include "routing/router.hpp"

namespace ridgeline::cluster {

struct ClusterInputs {
  engine::InstanceInputs instance;  ///< Of each; ids count from 0, whatever this one's is.
  std::int64_t num_instances = 1;
  std::unique_ptr<routing::Router> router;
  GatewayTimes times;
  /// Of further gateways, made like `router`; `split` says which requests come to which.
  Gateway::Routers more_routers = {};
  GatewaySplit split = GatewaySplit::kRandom;
  /// One per gateway, made alike: every decision is made again on views of age 0. Empty: not.
  Gateway::Routers audit = {};
  DecisionSink* decisions = nullptr;  ///< Gets every decision, where there is one.
  std::uint64_t seed = 0;             ///< Of the policy's draws.
  /// Advance every instance to every instant at which something happens in the cluster: slower, the
  /// same results. Off: only those of which the gateway may have learned something.
  bool eager = false;
  /// Threads for instances that nothing connects: an open loop under a policy that needs no word
  /// from them. Any other cluster runs on one. The results do not depend on it. The step-time model
  /// is then called from all of them.
  std::int64_t threads = 1;
  std::vector<PartMaker> parts = {};  ///< Made in the order of their kinds.
};

/// Instances behind a gateway, as one server: one loop over instants. The next instant is the
/// earlier of the next event (a part's, a reading of gauges, an arrival, a delivery) and the next
/// visible instant of an instance (a first token or an end), which is settled before any later
/// event. At one instant: faults, links, readings of gauges, arrivals, queues of the gateway,
/// deliveries, scaling, then the instances' batches; what ends at that instant is known to an
/// arrival only if it caused it.
class Cluster final : public engine::Server,
                      private Fleet,
                      private domain::RecordSink,
                      private domain::FirstTokenSink,
                      private engine::LoadSink {
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
  /// Of one instance, in all its lives; the peak of used blocks is the highest of them.
  [[nodiscard]] engine::EngineTotals totals_of(core::InstanceId id) const;
  /// The cluster's part of that class; null where it has none.
  template <class Kind>
  [[nodiscard]] const Kind* part() const {
    for (const OwnPart& own : parts_) {
      if (const auto* const found = dynamic_cast<const Kind*>(own.part.get()); found != nullptr) {
        return found;
      }
    }
    return nullptr;
  }
  /// Whether the policy reads gauges, which then have an age.
  [[nodiscard]] bool reads_gauges() const { return gateway_.needs().gauges; }
  [[nodiscard]] const RoutingTotals& routing() const { return gateway_.totals(); }
  /// Of the audit (ClusterInputs::audit): nothing where there is none, or no decision.
  [[nodiscard]] std::optional<double> regret() const { return gateway_.regret(); }
  [[nodiscard]] core::Tokens hit_lost() const { return gateway_.hit_lost(); }

 private:
  /// A request, or a leg of one, between the gateway and an instance.
  struct Delivery {
    core::SimTime at;
    core::InstanceId instance;
    std::uint64_t sequence;
    domain::Request request;

    friend bool operator>(const Delivery& a, const Delivery& b) {
      return std::tuple(a.at, a.instance, a.sequence) > std::tuple(b.at, b.instance, b.sequence);
    }
  };

  // What parts may do.
  Ticket* find(core::RequestId id) override { return tickets_.find(id); }
  bool dispatch(Ticket& ticket, core::SimTime now) override;
  void deliver(const domain::Request& request,
               core::InstanceId instance,
               core::SimTime at) override;
  void end(Ticket& ticket, domain::Outcome outcome, core::SimTime at) override;
  void submit(const domain::Request& request,
              core::InstanceId instance,
              const engine::Leg& leg) override;
  void finish_load(core::RequestId id,
                   core::InstanceId instance,
                   core::SimTime at,
                   bool arrived) override;
  void release_blocks(core::RequestId id, core::InstanceId instance, core::SimTime at) override;
  Gateway& gateway() override { return gateway_; }
  domain::RecordSink& sink() override { return sink_; }
  [[nodiscard]] core::SimTime end_of(const domain::RequestRecord& record) const override;
  [[nodiscard]] routing::Gauges gauges(core::InstanceId id, core::SimTime at) override;
  [[nodiscard]] std::size_t num_instances() const override { return instances_.size(); }
  engine::Instance& instance(core::InstanceId id, core::SimTime now) override;
  void note_change(core::InstanceId id) override;
  void stop(core::InstanceId id, core::SimTime now) override;
  void renew(core::InstanceId id) override;
  void serve(core::InstanceId id) override { serves_[id.value()] = true; }
  void cut_all(core::SimTime now) override;

  void on_request(const domain::RequestRecord& record) override;
  void on_steps(const domain::StepRecord& record) override { sink_.on_steps(record); }
  void on_token_gaps(const domain::TokenGaps& gaps) override { sink_.on_token_gaps(gaps); }
  void on_first_token(core::RequestId id, core::SimTime at) override;
  void on_load_start(const engine::LoadStart& load, core::SimTime at) override;

  [[nodiscard]] std::unique_ptr<engine::Instance> new_instance(core::InstanceId id);
  [[nodiscard]] core::SimTime next_arrival() const;
  [[nodiscard]] core::SimTime next_event() const;
  void watch_ends(bool watched);
  engine::Pause advance_one(std::size_t place,
                            core::SimTime limit,
                            bool pause_at_completion,
                            std::int64_t max_segments);
  engine::Pause advance_all(core::SimTime limit, std::int64_t max_segments);
  engine::Pause advance_apart(core::SimTime limit);
  engine::Pause settle(core::SimTime instant, bool pause_at_completion, std::int64_t max_segments);
  engine::Pause finish(core::SimTime limit, std::int64_t max_segments);
  void process(core::SimTime now);
  void act(core::SimTime now, PartKind first, PartKind last);
  void read_gauges(core::SimTime now);
  void take_arrivals(core::SimTime now);
  void hand_over_deliveries(core::SimTime now);
  void submit_to(const domain::Request& request, core::InstanceId id, const engine::Leg& leg);
  void refuse(const domain::Request& request, core::InstanceId id, core::SimTime now);
  void drop_tickets(core::SimTime at);

  domain::RecordSink& sink_;
  bool eager_;
  std::int64_t threads_;
  Gateway gateway_;
  core::SimTime reached_;
  core::SimTime aborted_at_;
  std::deque<domain::Request> arrivals_;  ///< Not yet taken, in order of arrival.
  Tickets tickets_;
  std::priority_queue<Delivery, std::vector<Delivery>, std::greater<>> deliveries_;
  std::uint64_t num_deliveries_ = 0;
  std::vector<std::unique_ptr<HeldRecords>> held_;  ///< By instance; empty on one thread.
  std::vector<std::unique_ptr<engine::Instance>> instances_;
  bool ended_ = false;           ///< A request, at no instance, since this was last put back.
  engine::InstanceInputs like_;  ///< Each of them, but for its id and where it reports.
  std::vector<bool> serves_;     ///< By instance: it takes what is delivered to it.
  std::vector<engine::EngineTotals> before_;  ///< By instance: of those that it has replaced.
  bool ends_are_watched_ = false;
  Earliest visible_;              ///< By instance; kept while ends are watched.
  std::vector<std::size_t> due_;  ///< Scratch of settle().

  struct OwnPart {
    PartKind kind;
    std::unique_ptr<Part> part;
  };
  std::vector<OwnPart> parts_;  ///< By kind.
};

}  // namespace ridgeline::cluster
