#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
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
#include "cluster/pools.hpp"
#include "cluster/request_story.hpp"
#include "cluster/sent_contents.hpp"
#include "cluster/tickets.hpp"
#include "core/ids.hpp"
#include "core/ring.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "domain/token_sink.hpp"
#include "engine/instance.hpp"
#include "engine/instance_group.hpp"
#include "engine/leg.hpp"
#include "engine/loop/rank_steps.hpp"
#include "engine/server.hpp"
#include "routing/router.hpp"

namespace ridgeline::cluster {

struct ClusterInputs {
  /// What every instance gets; ids count from 0, whatever this one's is.
  engine::InstanceInputs instance;
  std::int64_t num_instances = 1;
  std::unique_ptr<routing::Router> router;
  GatewayTimes times;
  /// Routers of further gateways, made like `router`; `split` says which requests come to which.
  Gateway::Routers more_routers = {};
  GatewaySplit split = GatewaySplit::kRandom;
  /// Connections of requests without a session, for GatewaySplit::kConnection.
  std::int64_t connections = 0;
  /// One per gateway, made alike: every decision is made again on views of age 0. Empty: not.
  Gateway::Routers audit = {};
  Gateway::TargetsOf targets_of = {};  ///< Latency targets of requests, for policies that predict.
  DecisionSink* decisions = nullptr;   ///< Gets every decision, where there is one.
  StorySink* stories = nullptr;        ///< Gets what happened to each request, where there is one.
  std::uint64_t seed = 0;              ///< Seed of the policy's draws.
  /// Advance every instance to every instant at which something happens in the cluster: slower, the
  /// same results. Off: only those of which the gateway may have learned something.
  bool eager = false;
  /// Before each advance() to a limit every request is submitted that arrives before it, and no end
  /// causes an arrival: an open loop. What KV events tell a gateway of a request can then be looked
  /// up when it is true, so that no instance keeps the changes of its prefix cache.
  bool arrivals_are_known = false;
  /// Threads for instances that nothing connects: an open loop under a policy that needs no word
  /// from them. Any other cluster runs on one. The results do not depend on it. The step-time model
  /// is then called from all of them.
  std::int64_t threads = 1;
  std::vector<PartMaker> parts = {};  ///< Made in the order of their kinds.
  /// So many instances, one after the other in the order of their ids, are data-parallel ranks in
  /// lock-step (engine/instance_group.hpp). Divides num_instances; above 1 no instance may stop.
  /// Each pool says its own.
  std::int64_t ranks_in_lock_step = 1;
  /// Instances of several kinds, in the order of their ids; `num_instances` is their sum, and
  /// `instance` says all that a pool does not. Empty: all are like `instance`.
  std::vector<InstancePool> pools = {};
  /// Which of them serve a request; one that none serves ends as kNoSuchModel. Empty: all serve
  /// all.
  PoolGroups groups = {};
  std::vector<routing::Site> sites = {};  ///< By instance, where it stands; empty: not known.
  /// As engine::InstanceInputs::warm_from, by instance; empty: all start cold. Read when the
  /// cluster is made.
  std::span<const std::vector<domain::Request>> warm_from = {};
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
  /// State of all instances together.
  [[nodiscard]] engine::InstanceState state(core::SimTime at) const override;
  [[nodiscard]] core::SimTime next_instant() const override;
  [[nodiscard]] core::SimTime now() const override;
  /// When the last request that has been reported had ended: later than that, how the cluster went
  /// on depends on how it was advanced.
  [[nodiscard]] core::SimTime last_end() const { return last_end_; }
  /// The sums over the instances; the peak of used blocks is the sum of their peaks.
  [[nodiscard]] engine::EngineTotals totals() const override;
  void drop_all() override;

  [[nodiscard]] std::span<const std::unique_ptr<engine::Instance>> instances() const {
    return instances_;
  }
  /// Totals of one instance, in all its lives; the peak of used blocks is the highest of them.
  [[nodiscard]] engine::EngineTotals totals_of(core::InstanceId id) const;
  /// Where instances are ranks in lock-step: what one did besides its totals.
  [[nodiscard]] std::optional<engine::RankSteps> rank_steps_of(core::InstanceId id) const;
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
  /// All of that class, in the order in which they were made.
  template <class Kind>
  [[nodiscard]] std::vector<const Kind*> parts() const {
    std::vector<const Kind*> all;
    for (const OwnPart& own : parts_) {
      if (const auto* const found = dynamic_cast<const Kind*>(own.part.get()); found != nullptr) {
        all.push_back(found);
      }
    }
    return all;
  }
  /// Whether the policy reads gauges, which then have an age.
  [[nodiscard]] bool reads_gauges() const { return gateway_.needs().gauges; }
  [[nodiscard]] const RoutingTotals& routing() const { return gateway_.totals(); }
  /// Results of the audit (ClusterInputs::audit): nothing where there is none, or no decision.
  [[nodiscard]] std::optional<double> regret() const { return gateway_.regret(); }
  [[nodiscard]] core::Tokens hit_lost() const { return gateway_.hit_lost(); }

 private:
  /// No limit to what one call may simulate.
  static constexpr std::int64_t kAllSegments = std::numeric_limits<std::int64_t>::max();

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
  void send(Ticket& ticket, core::SimTime now) override;
  void deliver(const domain::Request& request,
               core::InstanceId instance,
               core::SimTime at) override;
  void end(Ticket& ticket, domain::Outcome outcome, core::SimTime at) override;
  void submit(const domain::Request& request,
              core::InstanceId instance,
              const engine::Leg& leg) override;
  void finish_load(engine::LoadId id,
                   core::InstanceId instance,
                   core::SimTime at,
                   bool arrived) override;
  void release_blocks(core::RequestId id, core::InstanceId instance, core::SimTime at) override;
  void note_release(core::InstanceId instance, core::SimTime at) override;
  void abort_leg(core::RequestId id, core::InstanceId instance, core::SimTime at) override;
  Gateway& gateway() override { return gateway_; }
  Gateway& gateway_of(core::InstanceId id) override;
  void restart_gateways(Gateway::Routers routers, core::SimTime now) override;
  void set_link(std::optional<std::int64_t> host,
                std::int64_t thousandths,
                core::SimTime now) override;
  domain::RecordSink& sink() override { return sink_; }
  [[nodiscard]] core::SimTime end_of(const domain::RequestRecord& record) const override;
  [[nodiscard]] routing::Gauges gauges(core::InstanceId id, core::SimTime at) override;
  [[nodiscard]] bool is_still(core::InstanceId id) const override {
    return instances_[id.value()]->next_instant() == core::SimTime::never();
  }
  [[nodiscard]] bool is_eager() const override { return eager_; }
  [[nodiscard]] std::uint64_t num_changes() const override { return num_changes_; }
  [[nodiscard]] std::uint64_t last_change(core::InstanceId id) const override {
    return last_changes_[id.value()];
  }
  [[nodiscard]] core::SimTime passed() const override { return passed_; }
  [[nodiscard]] std::size_t num_instances() const override { return instances_.size(); }
  [[nodiscard]] bool is_empty(core::InstanceId id) override;
  [[nodiscard]] bool may_hold(const domain::Request& request, core::InstanceId id) const override {
    return !sent_ || sent_->may_hold(request, id);
  }
  engine::Instance& instance(core::InstanceId id, core::SimTime now) override;
  engine::Instance& advanced(core::InstanceId id, core::SimTime now);
  void note_change(core::InstanceId id) override;
  void stop(core::InstanceId id, core::SimTime now) override;
  void renew(core::InstanceId id) override;
  void serve(core::InstanceId id) override { serves_[id.value()] = true; }
  void cut_all(core::SimTime now) override;

  void on_request(const domain::RequestRecord& record) override;
  void expect(core::RequestId id) override;
  void on_steps(const domain::StepRecord& record) override { sink_.on_steps(record); }
  void on_token_gaps(const domain::TokenGaps& gaps) override { sink_.on_token_gaps(gaps); }
  void on_first_token(core::RequestId id, core::SimTime at) override;
  void on_load_start(const engine::LoadStart& load, core::SimTime at) override;
  void on_prefill_step(const engine::PrefillStep& step, core::SimTime at) override;

  [[nodiscard]] std::unique_ptr<engine::Instance> new_instance(
      core::InstanceId id, std::span<const domain::Request> warm_from = {});
  [[nodiscard]] core::SimTime next_arrival() const;
  [[nodiscard]] core::SimTime next_event() const;
  [[nodiscard]] bool have_parts_a_duty() const;
  void check_progress(core::SimTime instant, core::SimTime visible);
  [[noreturn]] void end_without_progress(core::SimTime instant) const;
  void watch_ends(bool watched);
  // Instances that are advanced together are a unit: a group of ranks, or one instance.
  struct Unit {
    std::size_t first;  ///< Its first instance.
    std::size_t size;
  };
  void make_units();
  [[nodiscard]] std::int64_t ranks_of(core::InstanceId id) const;
  [[nodiscard]] std::size_t num_units() const { return units_.size(); }
  [[nodiscard]] std::size_t unit_of(core::InstanceId id) const { return unit_of_[id.value()]; }
  [[nodiscard]] engine::InstanceGroup* group(std::size_t unit) const {
    return groups_.empty() ? nullptr : groups_[unit].get();
  }
  void look_at(std::size_t unit);
  engine::Pause advance_one(std::size_t unit,
                            core::SimTime limit,
                            bool pause_at_completion,
                            std::int64_t max_segments);
  engine::Pause advance_all(core::SimTime limit, std::int64_t max_segments);
  engine::Pause advance_apart(core::SimTime limit);
  engine::Pause settle(core::SimTime instant, bool pause_at_completion, std::int64_t max_segments);
  engine::Pause finish(core::SimTime limit, std::int64_t max_segments);
  void check_rest() const;
  void process(core::SimTime now);
  void act(core::SimTime now, PartKind first, PartKind last);
  void find_readers();
  void pass_gauges(core::SimTime until);
  void read_gauges(core::InstanceId id, core::SimTime limit = core::SimTime::never());
  void note_gauges_change(core::InstanceId id);
  [[nodiscard]] core::SimTime next_reading() const;
  [[nodiscard]] core::SimTime known_at(core::SimTime now) const;
  [[nodiscard]] core::SimTime next_look() const;
  void look_ahead(core::SimTime now);
  void pop_arrival();
  void take_arrivals(core::SimTime now);
  void send_at_once(Ticket& ticket,
                    domain::Request& request,
                    std::uint32_t group,
                    core::SimTime now);
  static void note_dispatch(Ticket& ticket);
  void note_end(Ticket& ticket, const domain::RequestRecord& record);
  void hand_over_deliveries(core::SimTime now);
  void submit_to(const domain::Request& request, core::InstanceId id, const engine::Leg& leg);
  void note_sent(const domain::Request& request, core::InstanceId id) {
    if (sent_) {
      sent_->note(request, id);
    }
  }
  void refuse(const domain::Request& request, core::InstanceId id, core::SimTime now);
  void drop_tickets(core::SimTime at);
  void report(const domain::RequestRecord& record, core::SimTime at);

  domain::RecordSink& sink_;
  bool eager_;
  std::int64_t threads_;
  Gateway gateway_;
  core::SimTime reached_;
  core::SimTime passed_;                     ///< As Fleet::passed().
  std::uint64_t num_changes_ = 0;            ///< As Fleet::num_changes().
  std::vector<std::uint64_t> last_changes_;  ///< As Fleet::last_change().
  std::vector<Gateway*> readers_;  ///< Readers of gauges: the gateway, and those of parts.
  core::SimTime last_end_;
  core::SimTime aborted_at_;
  core::Ring<domain::Request> arrivals_;  ///< Not yet taken, in order of arrival.
  bool looks_ahead_;  ///< Into the prefix caches, for requests that will arrive.
  /// For each of the first arrivals_: leading tokens cached at each instance; empty: none anywhere.
  core::Ring<std::vector<core::Tokens>> looks_;
  /// Where prefix caches are looked into; the reference asks every instance.
  std::optional<SentContents> sent_;
  Tickets tickets_;
  std::priority_queue<Delivery, std::vector<Delivery>, std::greater<>> deliveries_;
  std::uint64_t num_deliveries_ = 0;
  std::vector<std::unique_ptr<HeldRecords>> held_;  ///< By instance; empty on one thread.
  std::int64_t ranks_in_lock_step_;
  std::vector<std::unique_ptr<engine::Instance>> instances_;
  std::vector<Unit> units_;
  std::vector<std::size_t> unit_of_;  ///< By instance.
  /// By unit, of those that are ranks; empty where none is.
  std::vector<std::unique_ptr<engine::InstanceGroup>> groups_;
  bool ended_ = false;           ///< A request, at no instance, since this was last put back.
  engine::InstanceInputs like_;  ///< Each of them, but for its id and where it reports.
  std::vector<InstancePool> pools_;
  std::vector<std::size_t> pool_of_;  ///< By instance; empty without pools.
  PoolGroups pool_groups_;
  std::uint64_t seed_;
  std::unique_ptr<Stories> stories_;          ///< Where they are wanted.
  std::vector<bool> serves_;                  ///< By instance: it takes what is delivered to it.
  std::vector<engine::EngineTotals> before_;  ///< By instance: of those that it has replaced.
  bool ends_are_watched_ = false;
  core::SimTime last_round_;      ///< When advance() last made a round ...
  std::int64_t idle_rounds_ = 0;  ///< ... and how many have moved no request.
  Earliest visible_;              ///< By unit; kept while ends are watched.
  std::vector<std::size_t> due_;  ///< Scratch of settle().

  struct OwnPart {
    PartKind kind;
    std::unique_ptr<Part> part;
  };
  std::vector<OwnPart> parts_;  ///< By kind.
};

}  // namespace ridgeline::cluster
