#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "cluster/decision.hpp"
#include "cluster/routing_audit.hpp"
#include "core/ids.hpp"
#include "core/ring.hpp"
#include "core/rng.hpp"
#include "core/time.hpp"
#include "core/time_sum.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "routing/router.hpp"

namespace ridgeline::cluster {

/// The shortest time: what an end causes happens so much later at the earliest, and an advance to
/// an instant and this goes through that instant.
inline constexpr core::Duration kTick = core::Duration::ticks(1);

/// What a gateway's knowledge and decisions cost in time.
struct GatewayTimes {
  core::Duration gateway_latency = {};  ///< From a request at the gateway to the instance's server.
  core::Duration notice_latency = {};   ///< From an event at an instance to the gateway knowing it.
  /// From one reading of an instance's gauges to the next. Above zero.
  core::Duration refresh_interval = core::Duration::milliseconds(50);
  /// From a change of an instance's KV cache to the gateway knowing it.
  core::Duration kv_events_delay = core::Duration::milliseconds(5);
  /// For how long at most a run loses the KV events of an instance, and whether a gateway may then
  /// forget what they had reported (Gateway::end_event_loss()).
  core::Duration longest_event_loss = {};
  bool may_forget_events = false;

  /// How long ago the state of a cache is that a gateway may know.
  [[nodiscard]] core::Duration kv_history() const {
    return core::Duration::saturating_sum(kv_events_delay, longest_event_loss);
  }
};

/// How a gateway decided, in numbers.
struct RoutingTotals {
  std::int64_t decisions = 0;
  std::array<std::int64_t, routing::kNumReasons> by_reason = {};
  std::int64_t ties = 0;  ///< Decisions that were a draw among equals.
  /// Decisions that no instance gets the request.
  [[nodiscard]] std::int64_t refused() const {
    return by_reason[static_cast<std::size_t>(routing::Reason::kFilter)];
  }
  /// Sum over decisions of the age of the chosen instance's gauges; zero where no policy reads
  /// them.
  core::TimeSum gauge_age;
};

/// How requests are split among several gateways.
enum class GatewaySplit : std::uint8_t {
  kRandom,      ///< Each request by itself.
  kConnection,  ///< A connection keeps to one (routing/connection.hpp).
  kSession,     ///< A session keeps to one; a request without a session is one by itself.
};

/// Where a gateway's gauges are read: the cluster behind it.
class GaugeSource {
 public:
  GaugeSource() = default;
  GaugeSource(const GaugeSource&) = delete;
  GaugeSource& operator=(const GaugeSource&) = delete;
  virtual ~GaugeSource() = default;

  /// What an instance's gauges show at `at`, to which it is advanced.
  [[nodiscard]] virtual routing::Gauges gauges(core::InstanceId id, core::SimTime at) = 0;
  /// Whether they stay as they are until something is done to the instance.
  [[nodiscard]] virtual bool is_still(core::InstanceId id) const = 0;
};

/// The gateways in front of a cluster: the views of its instances, kept as old as a real gateway's,
/// and the policy that reads them. Each gateway counts what it sent itself and remembers its own
/// decisions alone; gauges are read for all of them at the same instants. Holds no instance.
class Gateway {
 public:
  /// One policy per gateway, made alike.
  using Routers = std::vector<std::unique_ptr<routing::Router>>;
  struct Instances {
    std::int64_t num_instances = 1;
    bool may_change = false;           ///< Instances may come, go or fail during the run.
    std::vector<double> weights = {};  ///< By instance; empty: all alike.
    /// By instance, where it stands; empty: not known.
    std::vector<routing::Site> sites = {};
    /// By group of those that serve the same, whether each instance is one; empty: all are of one.
    std::vector<std::vector<bool>> groups = {};
  };
  Gateway(Routers routers,
          const Instances& instances,
          const GatewayTimes& times,
          std::uint64_t seed,
          GatewaySplit split = GatewaySplit::kRandom,
          std::int64_t connections = 0);
  /// One gateway.
  Gateway(std::unique_ptr<routing::Router> router,
          const Instances& instances,
          const GatewayTimes& times,
          std::uint64_t seed);

  [[nodiscard]] const routing::Needs& needs() const { return needs_; }
  [[nodiscard]] const GatewayTimes& times() const { return times_; }
  /// Views of the first gateway.
  [[nodiscard]] std::span<const routing::InstanceView> views() const {
    return desks_.front().views;
  }
  [[nodiscard]] const RoutingTotals& totals() const { return totals_; }

  /// A request as the gateway has counted it at an instance.
  struct Counted {
    core::RequestId request;
    core::InstanceId instance;
    std::int64_t tokens = 0;          ///< Prompt tokens.
    std::int64_t prefill_tokens = 0;  ///< Prompt tokens believed to be uncached there.
    std::int64_t epoch = 0;           ///< Restarts of the gateway before.
    std::uint32_t gateway = 0;        ///< Which of several.
  };

  /// What the KV events of an instance have reported: the state of its cache when all before an
  /// instant had happened; of that, where some events were lost for good, what came at an instant
  /// or later (zero: everything).
  struct Reported {
    core::SimTime as_of;
    core::SimTime since = {};
  };
  /// Leading tokens of a request's prompt that were reported to be in the KV cache of an instance.
  using CacheLook =
      std::function<core::Tokens(const domain::Request&, core::InstanceId, const Reported&)>;
  /// Called at each decision, where the policy needs it (Needs::cache).
  void look_at_caches(CacheLook look) { look_at_cache_ = std::move(look); }

  /// Tokens that tiers outside an instance's GPUs hold.
  using TierLook =
      std::function<routing::TierTokens(const domain::Request&, core::InstanceId, const Reported&)>;
  /// Called at each decision, where the policy needs it (Needs::tiers).
  void look_at_tiers(TierLook look) { look_at_tier_ = std::move(look); }

  using TargetsOf = std::function<routing::LatencyTargets(const domain::Request&)>;
  /// Called at each decision; without it a request has no targets.
  void set_targets(TargetsOf targets_of) { targets_of_ = std::move(targets_of); }

  /// Gets every decision.
  void watch_decisions(DecisionSink* sink) { decisions_ = sink; }
  /// Every decision is made again on views of age 0, by one more policy per gateway.
  void audit(Routers routers, const RoutingAudit::Look& look);
  [[nodiscard]] bool is_audited() const { return !audits_.empty(); }
  /// The audit's results over all gateways: the share of decisions that would have been otherwise;
  /// and the tokens computed although another instance had them.
  [[nodiscard]] std::optional<double> regret() const;
  [[nodiscard]] core::Tokens hit_lost() const;

  /// Chooses the instance of a request among the ready ones, and counts it there. None where no
  /// instance of the request's group is ready, or its policy refuses it (has_refused()). Where
  /// prefill and decode are apart, `other_leg` is the instance already chosen for the other one.
  std::optional<Counted> route(const domain::Request& request,
                               core::SimTime now,
                               std::uint32_t group = 0,
                               core::InstanceId other_leg = {}) {
    Counted counted;
    return route_to(counted, request, now, group, other_leg) ? std::optional(counted)
                                                             : std::nullopt;
  }
  /// route() with what is counted written where it stays; false for none. A copy of what was just
  /// written, in larger pieces, would stall the processor.
  bool route_to(Counted& counted,
                const domain::Request& request,
                core::SimTime now,
                std::uint32_t group = 0,
                core::InstanceId other_leg = {});
  /// Whether the last route() came to nothing because the policy refused the request.
  [[nodiscard]] bool has_refused() const { return has_refused_; }
  [[nodiscard]] bool is_ready(core::InstanceId instance) const {
    return is_ready_[instance.value()];
  }
  /// The instances that route() would choose among, and by how much the request would meet its
  /// targets at each, as its gateway's policy predicts: empty where that predicts nothing, or the
  /// request has no targets.
  struct Outlook {
    std::span<const routing::InstanceView> instances;
    std::vector<routing::Headroom> headroom;
  };
  [[nodiscard]] Outlook outlook(const domain::Request& request,
                                core::SimTime now,
                                std::uint32_t group = 0);
  /// Whether an instance may be chosen.
  void set_ready(core::InstanceId instance, bool ready, core::SimTime now);
  /// The first gateway's views of those, with what has come in by now, in the order of their ids.
  [[nodiscard]] std::span<const routing::InstanceView> ready_views(core::SimTime now);

  /// Keeps also these parts of the views: something besides the router reads them, and asks for
  /// their changes. Before the first request, once.
  void keep(const routing::Needs& needs);
  /// How often what keep() asked for changed, or instances became ready or unready, and when that
  /// was last seen.
  [[nodiscard]] std::int64_t num_changes() const { return num_changes_; }
  [[nodiscard]] core::SimTime last_change() const { return last_change_; }
  /// When the next notice on its way comes in; never() without one.
  [[nodiscard]] core::SimTime next_notice() const {
    return notices_.empty() ? core::SimTime::never() : notices_.front().at;
  }
  /// Whether its gauges can be read; otherwise what was read last grows old.
  void set_readable(core::InstanceId instance, bool readable);
  /// The KV events of an instance do not come in: what they had reported before `now` stays known.
  void begin_event_loss(core::InstanceId instance, core::SimTime now);
  /// They come in again, and their numbers tell that some are missing: those are sent again
  /// (`replays`), or all that was known of the instance is dropped.
  void end_event_loss(core::InstanceId instance, core::SimTime now, bool replays);
  /// The instance is gone, and what stands in its place later is another one.
  void forget(core::InstanceId instance);
  /// Starts again at `now` with policies that remember nothing: counts of requests in flight,
  /// gauges and what is on its way are lost.
  void restart(Routers routers, core::SimTime now);

  /// A request's first token came out at `at`, or it ended at `at` (`first_token_seen`: after its
  /// first token was noted). The router sees it one notice latency later.
  void note_first_token(const Counted& counted, core::SimTime at);
  /// As domain::RecordSink::expect(), for the policies.
  void expect(core::RequestId id) {
    if (router_reads_own_) {
      for (Desk& desk : desks_) {
        desk.router->expect(id);
      }
    }
  }
  void note_end(const Counted& counted, bool first_token_seen, core::SimTime at);

  // Gauges are read at every interval, each instance's on its own phase of it. A reading costs
  // nothing until it is asked for: a decision takes the last one of each instance, and that of one
  // is taken before it changes. Gauges that cannot have changed are not looked at.

  /// Where gauges are read, before the first request. `each`: at every instant, as the reference
  /// does, whether something can have changed or not.
  void read_gauges_from(GaugeSource& source, bool each);
  /// Readings before `until` are due.
  void pass(core::SimTime until) { passed_ = std::max(passed_, until); }
  /// The instance is about to be advanced to `limit`, or changed: takes its last due reading, if
  /// that is before `limit`.
  void read_gauges(core::InstanceId instance, core::SimTime limit = core::SimTime::never()) {
    if (next_readings_[instance.value()] < std::min(passed_, limit)) {
      take_reading(instance, limit);
    }
  }
  /// Its gauges may not be those that were read last.
  void note_gauges_change(core::InstanceId instance) { is_known_[instance.value()] = false; }
  /// Takes all that are due.
  void read_all_gauges();
  /// The first reading that is not taken yet; of those alone that may show something new, or of
  /// all. never() where there is none.
  [[nodiscard]] core::SimTime next_reading(bool of_all) const;
  /// When gauges were read last, of any instance.
  [[nodiscard]] core::SimTime last_reading() const { return last_reading_; }
  /// The readings of an instance show the same as the last one did.
  [[nodiscard]] bool knows_gauges(core::InstanceId instance) const {
    return is_known_[instance.value()];
  }

  /// Takes in what is on its way at the end of a run; then every count of its own is zero
  /// (checked), if no request is left.
  void settle_counts();

 private:
  struct Notice {
    core::SimTime at = {};
    core::InstanceId instance = {};
    routing::OwnCounters change = {};  ///< To be subtracted.
    core::RequestId ended = {};        ///< Nothing for a first token.
    std::uint32_t gateway = 0;         ///< The one that sent it.

    /// By instant, then instance, then request.
    friend bool operator>(const Notice& a, const Notice& b) {
      return std::tuple(a.at, a.instance, a.ended) > std::tuple(b.at, b.instance, b.ended);
    }
  };

  /// KV events of an instance that are lost, the last time.
  struct EventLoss {
    core::SimTime begin = core::SimTime::never();
    core::SimTime end = core::SimTime::never();
    core::SimTime dropped = {};  ///< What had come before was forgotten then ...
    core::SimTime before = {};   ///< ... and at the time before that.
  };
  [[nodiscard]] Reported reported(core::InstanceId instance, core::SimTime now) const;

  /// One gateway: its policy, and what it knows.
  struct Desk {
    std::unique_ptr<routing::Router> router;
    std::vector<routing::InstanceView> views;
  };

  [[nodiscard]] std::size_t gateway_of(const domain::Request& request) const;
  [[nodiscard]] bool may_get(core::InstanceId instance, std::uint32_t group) const {
    return is_ready_[instance.value()] && (groups_.empty() || groups_[group][instance.value()]);
  }
  [[nodiscard]] std::span<const routing::InstanceView> candidates(const Desk& desk,
                                                                  std::uint32_t group);
  void look_at_caches(Desk& desk,
                      const domain::Request& request,
                      core::SimTime now,
                      std::uint32_t group);
  void look_at_tiers(std::span<const routing::InstanceView> views,
                     const domain::Request& request,
                     core::SimTime now);
  [[nodiscard]] routing::LatencyTargets targets_of(const domain::Request& request) const;
  void report(const routing::RouteInput& input, const routing::Pick& pick, std::size_t gateway);
  Notice& new_notice(const Counted& counted, core::SimTime at);
  void send(const Counted& counted, Notice& notice);
  void take_reading(core::InstanceId instance, core::SimTime limit);
  void note_change(core::SimTime at);
  void read_notices(core::SimTime now);

  std::vector<Desk> desks_;
  routing::Needs needs_;    ///< The router's, and what keep() added.
  routing::Needs watched_;  ///< What keep() asked for: its changes are counted.
  bool router_reads_own_ = false;
  bool has_refused_ = false;
  GatewaySplit split_;
  std::int64_t connections_ = 0;
  bool is_weighted_ = false;          ///< Instances differ in weight.
  std::vector<routing::Site> sites_;  ///< By instance; empty: not known.
  bool counts_ =
      false;  ///< Requests are counted: the policy reads counters, or a part of the cluster may.
  GatewayTimes times_;
  std::uint64_t seed_;
  CacheLook look_at_cache_;
  core::RequestId::Rep next_id_ = 0;  ///< No request from this one on was looked up.
  TierLook look_at_tier_;
  TargetsOf targets_of_;
  std::vector<routing::TierTokens> tiers_;  ///< Scratch of the decision at hand.
  DecisionSink* decisions_ = nullptr;
  std::vector<double> scores_;             ///< Scratch of the decision at hand.
  std::vector<RoutingAudit> audits_;       ///< By gateway; empty where there is no audit.
  std::vector<bool> is_ready_;             ///< By instance.
  std::vector<std::vector<bool>> groups_;  ///< By group and instance; empty: all are of one.
  std::vector<bool> is_readable_;          ///< By instance.
  std::vector<EventLoss> event_losses_;    ///< By instance.
  std::int64_t epoch_ = 0;                 ///< Restarts.
  std::size_t num_ready_ = 0;
  std::vector<routing::InstanceView> candidates_;  ///< Scratch: the ready ones, if not all are.
  GaugeSource* source_ = nullptr;
  bool reads_each_ = false;  ///< As read_gauges_from() says.
  core::SimTime passed_;     ///< Readings before it are due.
  core::SimTime last_reading_;
  std::vector<core::SimTime> next_readings_;  ///< By instance: the first that is not taken.
  std::vector<bool> is_known_;  ///< By instance, whether its gauges are those that were read last.
  /// The instance whose turn it is, in the order of their phases, round after round, and when.
  std::size_t turn_ = 0;
  core::SimTime turn_at_;
  core::Ring<Notice> notices_;  ///< On their way, in order.
  std::int64_t num_changes_ = 0;
  core::SimTime last_change_;
  RoutingTotals totals_;
};

}  // namespace ridgeline::cluster
