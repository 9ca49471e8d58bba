#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cluster/faults/fault.hpp"
#include "cluster/faults/health_check.hpp"
#include "cluster/faults/plan.hpp"
#include "cluster/faults/retry.hpp"
#include "cluster/lifecycle.hpp"
#include "cluster/part.hpp"
#include "cluster/scaling/cold_start.hpp"
#include "cluster/scaling/rolling_update.hpp"
#include "cluster/scaling/victim.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "domain/record.hpp"
#include "routing/router.hpp"

namespace ridgeline::cluster {

/// Places for instances of one kind, neighbours by id.
struct Places {
  std::size_t first = 0;
  std::size_t count = 0;
  std::int64_t initial = 0;  ///< Ready from the start: those with the lowest ids.
  /// How each starts, where that is not as all do.
  std::optional<scaling::ColdStart> cold_start = {};
  /// By group of the pools that serve a request, whether it may come here; empty: every request.
  std::vector<bool> serves = {};

  [[nodiscard]] bool has(core::InstanceId id) const {
    return id.value() >= first && id.value() < first + count;
  }
  [[nodiscard]] bool serves_group(std::size_t group) const {
    return serves.empty() || serves[group];
  }
};

/// Instances that are to be replaced by new ones, batch by batch.
struct PlannedUpdate {
  core::SimTime at;
  std::size_t places = 0;  ///< Which of Operations::places().
  scaling::UpdateRule rule;
};

struct OperationsInputs {
  std::int64_t initial_instances = 1;  ///< Ready from the start, where all are of one kind.
  std::vector<Places> places = {};     ///< Where they are of several: all places.
  faults::FaultPlan faults = {};
  faults::Retries retries = {};
  faults::HealthCheck health_check = {};
  scaling::ColdStart cold_start = {};
  std::int64_t instances_per_host = 1;  ///< One after the other by id; for faults of hosts.
  core::Duration drain_timeout = core::Duration::max();
  scaling::VictimPolicy victim = scaling::VictimPolicy::kNewest;
  std::vector<PlannedUpdate> updates = {};  ///< One at most of each places.
  std::uint64_t seed = 0;                   ///< Seed of cold starts.
  /// The gateway's policy anew, for its restarts.
  std::function<Gateway::Routers()> new_routers = {};
};

/// A fault as it went.
struct FaultReport {
  faults::Fault fault;
  std::int64_t failed_requests = 0;             ///< Lost with it, retried ones among them.
  core::SimTime over = core::SimTime::never();  ///< The instance is as before.
};

/// An update as it went.
struct UpdateReport {
  std::int64_t update = 0;             ///< Which of OperationsInputs::updates.
  std::int64_t replicas = 0;           ///< As many as there are to be, as scaling has it.
  std::int64_t replaced = 0;           ///< Old instances that were taken out of service.
  std::int64_t starting = 0;           ///< New instances that are not ready yet.
  std::int64_t fewest_ready = 0;       ///< At once, until it was over.
  std::int64_t failed_requests = 0;    ///< Lost by drain timeouts, retried ones among them.
  std::int64_t rerouted_requests = 0;  ///< Lost requests that were sent again.
  core::SimTime over = core::SimTime::never();  ///< All are new and ready, and no old one is left.

  friend bool operator==(const UpdateReport&, const UpdateReport&) = default;
};

/// What operations did, in numbers.
struct OperationsTotals {
  std::vector<FaultReport> faults;    ///< In order of time.
  std::vector<UpdateReport> updates;  ///< Those that began, in order of time.
  std::int64_t retries = 0;           ///< Attempts after the first.
  std::int64_t retried_requests = 0;
  /// Tokens of failed attempts: prompt tokens that were to be computed, if the prompt was begun,
  /// and output tokens.
  core::Tokens wasted_tokens = {};
  std::int64_t held_requests = 0;  ///< Arrived while no instance was ready.
};

/// Instances that come, fail and go: their lifecycle, the faults of a run, and what becomes of the
/// requests that they lose. Scaling (cluster/scaling_part.hpp) starts and drains instances here.
class Operations final : public Part {
 public:
  Operations(Fleet& fleet, OperationsInputs inputs);

  [[nodiscard]] core::SimTime next_instant() const override;
  void act(core::SimTime now) override;
  void on_release(core::InstanceId id, core::SimTime now) override;
  bool on_arrival(Ticket& ticket, core::SimTime now) override;
  bool on_no_instance(Ticket& ticket, core::SimTime now) override;
  bool on_leg_end(Ticket& ticket, domain::RequestRecord& record) override;
  void on_end(const Ticket& ticket, domain::RequestRecord& record) override;
  void on_abort(const Ticket& ticket) override;

  // For scaling, of the instances of one kind.
  [[nodiscard]] const std::vector<Places>& places() const { return inputs_.places; }
  /// So many instances more, or fewer: see start() and retire(). During an update that many more or
  /// fewer there are to be, and the update sees to it.
  void scale(std::int64_t change, core::SimTime now, const Places& places);
  /// Ready or on their way to be; during an update as many as there are to be.
  [[nodiscard]] std::int64_t num_replicas(const Places& places) const;
  [[nodiscard]] std::int64_t num_ready(const Places& places) const;
  [[nodiscard]] std::int64_t num_gone(const Places& places) const;
  /// Requests for those places that have arrived, and that wait for an instance.
  [[nodiscard]] std::int64_t num_arrivals(const Places& places) const;
  [[nodiscard]] std::int64_t num_held(const Places& places) const;
  [[nodiscard]] Lifecycle state(core::InstanceId id) const { return life(id).state; }

  // For results.
  [[nodiscard]] const OperationsTotals& totals() const { return totals_; }
  [[nodiscard]] const std::vector<PlannedUpdate>& updates() const { return inputs_.updates; }
  /// Listed faults that were to strike after `end`.
  [[nodiscard]] std::int64_t faults_after(core::SimTime end) const;
  /// Whether there ever was an instance of that number.
  [[nodiscard]] bool was_used(core::InstanceId id) const { return life(id).was_used; }
  /// Whether a rolling update started it, and not an autoscaler.
  [[nodiscard]] bool is_of_update(core::InstanceId id) const { return life(id).of_update; }
  /// How long an instance existed until `end`, and how long of that it was ready.
  [[nodiscard]] core::Duration existed(core::InstanceId id, core::SimTime end) const;
  [[nodiscard]] core::Duration was_ready(core::InstanceId id, core::SimTime end) const;

 private:
  struct Life {
    Lifecycle state = Lifecycle::kGone;
    core::SimTime created;
    core::SimTime ready_since;
    core::Duration existed;  ///< In earlier lives.
    core::Duration ready;    ///< In earlier times in service.
    scaling::StartTimes start;
    std::int64_t starts = 0;
    std::int64_t services = 0;
    std::uint64_t life = 0;  ///< Events of an earlier one are void.
    bool was_used = false;   ///< Its engine is not as new.
    bool hangs = false;
    bool is_updated = false;  ///< It started after its places' update began.
    bool of_update = false;   ///< That update started it, and no autoscaler after it.
    // The reports of the faults that it is under; -1: none.
    std::int64_t down = -1;  ///< A crash or a hang.
    std::int64_t slow = -1;
    std::int64_t unread = -1;
    std::int64_t unheard = -1;  ///< A loss of its KV events.
  };
  enum class Step : std::uint8_t {
    kLifecycle,  ///< The next state.
    kFault,
    kHostFault,
    kFaultEnd,
    kHealthCheck,
    kDrained,
    kDrainTimeout,
    kUpdate,
    kRetry,
  };
  struct Event {
    core::SimTime at;
    Step step;
    core::InstanceId instance;
    std::uint64_t sequence;
    std::uint64_t life = 0;
    /// Number of the fault, its report, the host's fault, the update, or the request.
    std::int64_t number = 0;

    friend bool operator>(const Event& a, const Event& b) {
      return std::tuple(a.at, a.step, a.instance, a.sequence) >
             std::tuple(b.at, b.step, b.instance, b.sequence);
    }
  };

  /// What comes to a host by chance, time after time.
  struct HostFault {
    std::size_t which = 0;  ///< Index in faults::FaultPlan::of_hosts().
    std::int64_t nth = 0;
    faults::Fault next;
  };

  [[nodiscard]] Life& life(core::InstanceId id) { return lives_[id.value()]; }
  [[nodiscard]] const Life& life(core::InstanceId id) const { return lives_[id.value()]; }
  void push(core::SimTime at, Step step, core::InstanceId instance, std::int64_t number = 0);
  void handle(const Event& event, core::SimTime now);

  /// Starts so many new instances: the lowest ids that are gone.
  void start(std::int64_t count, core::SimTime now, const Places& places);
  /// Takes so many away: those that have not started at once, the others when they are empty.
  void retire(std::int64_t count, core::SimTime now, const Places& places);
  void begin_start(core::InstanceId id, core::SimTime now);
  void move_on(core::InstanceId id, core::SimTime now);
  void become_ready(core::InstanceId id, core::SimTime now);
  void leave_ready(core::InstanceId id, core::SimTime now);
  void become_gone(core::InstanceId id, core::SimTime now);
  void drain(core::InstanceId id, core::SimTime now);

  /// Retires the instance that the policy says, among those that may go.
  void retire_one(core::SimTime now,
                  const Places& places,
                  const std::function<bool(const Life&)>& may_go);
  void begin_update(std::int64_t number);
  void go_on_with_updates(core::SimTime now);
  [[nodiscard]] bool take_step(UpdateReport& report, core::SimTime now);
  [[nodiscard]] const Places& places_of(const UpdateReport& report) const;
  [[nodiscard]] const UpdateReport* update_under_way(const Places& places) const;
  [[nodiscard]] bool is_updating(const Places& places) const;
  [[nodiscard]] std::int64_t update_of(core::InstanceId id) const;

  void strike(std::int64_t number, core::SimTime now);
  void await_fault(core::InstanceId id, core::SimTime now);
  void await_host_fault(std::int64_t number, std::int64_t host, core::SimTime start);
  void strike_host(std::int64_t number, core::SimTime now);
  void strike_now(const faults::Fault& fault, core::SimTime now);
  void miss_events(core::InstanceId id, std::int64_t report, core::SimTime now);
  void hear_events(core::InstanceId id, core::SimTime now);
  void crash(core::InstanceId id, std::int64_t report, core::SimTime now);
  void hang(core::InstanceId id, std::int64_t report, core::SimTime now);
  void end_fault(core::InstanceId id, std::int64_t report, core::SimTime now);
  void close_report(std::int64_t& report, core::SimTime now);
  void restart_gateway(std::int64_t report, core::SimTime now);
  void weaken_link(std::int64_t report, core::SimTime now);
  void end_link_fault(std::int64_t report, core::SimTime now);
  void lose_requests(core::InstanceId id, std::int64_t report, core::SimTime now);
  [[nodiscard]] bool goes_on(const Ticket& ticket, const domain::RequestRecord& record);
  void count_loss(const Ticket& ticket, const domain::RequestRecord& record);
  [[nodiscard]] std::int64_t num_in(const Places& places, Lifecycle state) const;
  void check_drained(core::InstanceId id, core::SimTime now);
  void retry(core::RequestId id, core::SimTime now);
  void dispatch_held(core::SimTime now);

  Fleet& fleet_;
  OperationsInputs inputs_;
  std::vector<Life> lives_;
  std::vector<faults::Fault> faults_;  ///< Those listed, then those that came by chance.
  std::vector<HostFault> host_faults_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> agenda_;
  std::uint64_t num_events_ = 0;
  std::vector<std::int64_t> arrivals_;  ///< By group of pools.
  core::SimTime seen_;                  ///< The latest instant that it has seen.
  std::deque<core::RequestId> held_;    ///< In the order in which they found no instance.
  std::unordered_map<core::RequestId::Rep, std::int32_t> retries_;  ///< Looked up, never walked.
  bool found_instances_ = false;     ///< Some became ready at this instant.
  std::int64_t losing_ = -1;         ///< The report whose requests are being lost.
  std::int64_t losing_update_ = -1;  ///< The report of the update whose instance loses requests.
  bool cuts_ = false;                ///< The gateway's restart ends all requests.
  /// The report of the fault that a card, or the fabric (nothing), is under; -1: none.
  std::map<std::optional<std::int64_t>, std::int64_t> links_;
  OperationsTotals totals_;
};

}  // namespace ridgeline::cluster
