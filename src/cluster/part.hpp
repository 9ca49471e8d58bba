#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "cluster/gateway.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/instance.hpp"
#include "engine/leg.hpp"
#include "routing/router.hpp"

namespace ridgeline::cluster {

/// A request inside the cluster, from its arrival at the gateway to its end. What every request
/// needs is one cache line.
struct alignas(64) Ticket {
  Gateway::Counted counted = {};  ///< Where it was sent last; no instance before that.
  core::SimTime arrival;          ///< At the gateway.
  std::int32_t dispatches = 0;    ///< How often an instance was chosen for it.
  bool is_counted = false;        ///< By the gateway, as in flight there.
  bool is_delivered = false;  ///< It is at that instance; otherwise on its way, or held by a part.
  bool first_token_seen = false;     ///< First token of what was sent last.
  bool is_failing = false;           ///< An abort of what it has at its instance is a failure.
  bool is_refused = false;           ///< It ends as the policy refuses it (Gateway::has_refused()).
  bool has_answer = false;           ///< Its client has a token from another leg.
  core::Duration gateway_wait = {};  ///< From its arrival to its leaving a queue of the gateway.
  /// As the client sent it. Where there are no parts, only of a request that ends at no instance.
  domain::Request request;
  core::Tokens computed_apart;  ///< Tokens of it that another instance computed before.
  std::uint32_t group = 0;      ///< Group of the pools that serve its model; where there are parts.
  std::uint64_t delivery = 0;   ///< Number of the delivery that counts; any other is void.
};

/// What a part may do to the cluster that it belongs to. Every instant is the present one, `now`,
/// or later. What an end causes happens one tick after it at the earliest, so that it makes no
/// difference in which order instances are advanced to one instant.
class Fleet : public GaugeSource {
 public:
  /// The ticket of a request that is in the cluster; null of any other.
  [[nodiscard]] virtual Ticket* find(core::RequestId id) = 0;
  /// Chooses an instance by the routing policy among the ready ones and sends the request there, to
  /// arrive one gateway latency after `now`. False where none is ready: nothing is done. A request
  /// that the policy refuses is ended as rejected, and its ticket is gone.
  virtual bool dispatch(Ticket& ticket, core::SimTime now) = 0;
  /// dispatch(); where no instance gets it, a part holds it until one may, or it ends as rejected.
  virtual void send(Ticket& ticket, core::SimTime now) = 0;
  /// Sends `request` (the ticket's, or a leg of it under the same id) to an instance, where it
  /// arrives at `at`.
  virtual void deliver(const domain::Request& request,
                       core::InstanceId instance,
                       core::SimTime at) = 0;
  /// Ends a request that is at no instance. The ticket is gone afterwards.
  virtual void end(Ticket& ticket, domain::Outcome outcome, core::SimTime at) = 0;

  /// A leg of a request begins at an instance now: `request.arrival`.
  virtual void submit(const domain::Request& request,
                      core::InstanceId instance,
                      const engine::Leg& leg) = 0;
  /// As Engine::finish_load() and Engine::release_blocks(), of an instance.
  virtual void finish_load(engine::LoadId id,
                           core::InstanceId instance,
                           core::SimTime at,
                           bool arrived) = 0;
  virtual void release_blocks(core::RequestId id, core::InstanceId instance, core::SimTime at) = 0;
  /// A part counts less at an instance, or keeps less there, from `at` on: each part is called
  /// (Part::on_release).
  virtual void note_release(core::InstanceId instance, core::SimTime at) = 0;
  /// As Server::abort().
  virtual void abort(core::RequestId id, core::SimTime at) = 0;
  /// Ends a leg that a part says is beside the one that counts (Part::is_beside).
  virtual void abort_leg(core::RequestId id, core::InstanceId instance, core::SimTime at) = 0;

  [[nodiscard]] virtual Gateway& gateway() = 0;
  /// The one that chooses the instance: a part's own, or that.
  [[nodiscard]] virtual Gateway& gateway_of(core::InstanceId id) = 0;
  /// All gateways start again at `now`, the cluster's with these policies (Gateway::restart).
  virtual void restart_gateways(Gateway::Routers routers, core::SimTime now) = 0;
  /// What KV is sent over from host to host, a host's card or the fabric (nothing), has that share
  /// of its rate from `now` on, in thousandths: 0: it is down.
  virtual void set_link(std::optional<std::int64_t> host,
                        std::int64_t thousandths,
                        core::SimTime now) = 0;
  /// Where records of requests go.
  [[nodiscard]] virtual domain::RecordSink& sink() = 0;
  /// When a client or a gateway sees the end that a record reports.
  [[nodiscard]] virtual core::SimTime end_of(const domain::RequestRecord& record) const = 0;
  /// Whether it is the reference (ClusterInputs::eager): parts act at each of their instants,
  /// whether something can have changed or not.
  [[nodiscard]] virtual bool is_eager() const = 0;
  /// How often something was done to the cluster from outside its instances: a request came, a
  /// part acted, an instance was changed. While that is the same and instances are still
  /// (is_still()), all that can be read of them is the same.
  [[nodiscard]] virtual std::uint64_t num_changes() const = 0;
  /// num_changes() as it was when this instance was last changed.
  [[nodiscard]] virtual std::uint64_t last_change(core::InstanceId id) const = 0;
  /// Every instant before this one is done.
  [[nodiscard]] virtual core::SimTime passed() const = 0;
  [[nodiscard]] virtual std::size_t num_instances() const = 0;
  /// Whether no part keeps the instance (Part::is_kept), and nothing that was sent to it is left.
  [[nodiscard]] virtual bool is_empty(core::InstanceId id) = 0;
  /// Whether an instance may hold KV of a request's prompt (SentContents).
  [[nodiscard]] virtual bool may_hold(const domain::Request& request,
                                      core::InstanceId id) const = 0;
  /// An instance, advanced through every instant before `now`.
  [[nodiscard]] virtual engine::Instance& instance(core::InstanceId id, core::SimTime now) = 0;

  /// A part has changed when the instance next shows something.
  virtual void note_change(core::InstanceId id) = 0;
  /// The instance dies at `now`: every request there fails, and so does what arrives there until it
  /// serves again.
  virtual void stop(core::InstanceId id, core::SimTime now) = 0;
  /// An instance that was stopped is replaced by one that has done nothing yet.
  virtual void renew(core::InstanceId id) = 0;
  virtual void serve(core::InstanceId id) = 0;
  /// The connection of every client breaks: all requests end, in the order of their ids.
  virtual void cut_all(core::SimTime now) = 0;
};

/// A part of a cluster that acts at instants of its own: flow control, links, faults, scaling. At
/// one instant parts act in the order of PartKind.
class Part {
 public:
  Part() = default;
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  virtual ~Part() = default;

  /// When it next has something to do; never() where nothing is due.
  [[nodiscard]] virtual core::SimTime next_instant() const = 0;
  /// next_instant() without what it repeats for ever, such as reading gauges.
  [[nodiscard]] virtual core::SimTime next_duty() const { return next_instant(); }
  /// Does all that is due at `now`, its next instant.
  virtual void act(core::SimTime now) = 0;

  /// A request arrived at the gateway. True if this part keeps it, to dispatch or to end it now or
  /// later; otherwise the next part is asked, and at last it is dispatched.
  virtual bool on_arrival(Ticket& ticket, core::SimTime now) {
    static_cast<void>(ticket);
    static_cast<void>(now);
    return false;
  }
  /// A request is to be dispatched. Nothing if this part leaves that to others; otherwise whether
  /// it has sent the request, or no instance is ready.
  virtual std::optional<bool> on_dispatch(Ticket& ticket, core::SimTime now) {
    static_cast<void>(ticket);
    static_cast<void>(now);
    return std::nullopt;
  }
  /// An instance has blocks for KV from elsewhere.
  virtual void on_load_start(const engine::LoadStart& load, core::SimTime at) {
    static_cast<void>(load);
    static_cast<void>(at);
  }
  /// An instance has formed a step that computes some of a prompt whose leg reports its steps.
  virtual void on_prefill_step(const engine::PrefillStep& step, core::SimTime at) {
    static_cast<void>(step);
    static_cast<void>(at);
  }
  /// Whether what a request has at an instance is a leg beside the one that counts: its end is none
  /// of the request's.
  [[nodiscard]] virtual bool is_beside(core::RequestId id, core::InstanceId instance) const {
    static_cast<void>(id);
    static_cast<void>(instance);
    return false;
  }
  /// No instance is ready for the request. True if this part keeps it, to dispatch it later;
  /// otherwise the next part is asked, and at last it is rejected.
  virtual bool on_no_instance(Ticket& ticket, core::SimTime now) {
    static_cast<void>(ticket);
    static_cast<void>(now);
    return false;
  }
  /// What the ticket had at an instance ended, as its record says. True if the request goes on, so
  /// that no record is reported. Every part is asked, those of the last kind first.
  virtual bool on_leg_end(Ticket& ticket, domain::RequestRecord& record) {
    static_cast<void>(ticket);
    static_cast<void>(record);
    return false;
  }
  /// A request has ended for good; its record is about to be reported and may be completed here.
  virtual void on_end(const Ticket& ticket, domain::RequestRecord& record) {
    static_cast<void>(ticket);
    static_cast<void>(record);
  }
  /// What a request left at an instance is gone from it at `now`.
  virtual void on_release(core::InstanceId id, core::SimTime now) {
    static_cast<void>(id);
    static_cast<void>(now);
  }
  /// Whether an instance keeps something of a request that has left it.
  [[nodiscard]] virtual bool is_kept(core::InstanceId id) const {
    static_cast<void>(id);
    return false;
  }
  /// An instance dies at `now`; what it has ends as failed after this.
  virtual void on_stop(core::InstanceId id, core::SimTime now) {
    static_cast<void>(id);
    static_cast<void>(now);
  }
  /// Another instance, which has done nothing yet, stands in the place of one that was stopped.
  virtual void on_renew(core::InstanceId id) { static_cast<void>(id); }
  /// A gateway of this part, where that one chooses the instance.
  [[nodiscard]] virtual Gateway* gateway_of(core::InstanceId id) {
    static_cast<void>(id);
    return nullptr;
  }
  /// The gateways of this part start again.
  virtual void on_gateway_restart(core::SimTime now) { static_cast<void>(now); }
  /// As Fleet::set_link(), of this part's wires.
  virtual void on_link_change(std::optional<std::int64_t> host,
                              std::int64_t thousandths,
                              core::SimTime now) {
    static_cast<void>(host);
    static_cast<void>(thousandths);
    static_cast<void>(now);
  }
  /// The client gave up a request that is at no instance: a part that keeps it lets go of it.
  virtual void on_abort(const Ticket& ticket) { static_cast<void>(ticket); }
};

/// The order in which parts act at one instant, and in which they are asked.
enum class PartKind : std::uint8_t { kFaults, kLinks, kAdmission, kFlowControl, kScaling };

/// Makes a part of a cluster once its instances stand.
struct PartMaker {
  PartKind kind = PartKind::kFaults;
  std::function<std::unique_ptr<Part>(Fleet&)> make;
};

}  // namespace ridgeline::cluster
