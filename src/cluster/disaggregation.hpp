#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "cluster/disaggregation/decider.hpp"
#include "cluster/disaggregation/registry.hpp"
#include "cluster/gateway.hpp"
#include "cluster/link/kv_link.hpp"
#include "cluster/link/topology.hpp"
#include "cluster/part.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/time_sum.hpp"
#include "core/units.hpp"
#include "domain/record.hpp"
#include "domain/request.hpp"
#include "engine/leg.hpp"
#include "routing/router.hpp"

namespace ridgeline::cluster {

/// What becomes of a request whose KV is lost before it was read (vLLM's
/// kv_load_failure_policy).
enum class LoadFailure : std::uint8_t { kFail, kRecompute };

/// How KV moves from one instance to another.
struct TransferOptions {
  disaggregation::TransferMode mode = disaggregation::TransferMode::kAfterPrefill;
  link::Topology topology = {};
  link::Sharing sharing = link::Sharing::kMaxMin;
  std::int64_t bytes_per_block = 0;
  /// By decode instance, where they are not alike; empty: as above.
  std::vector<std::int64_t> bytes_per_block_of = {};
  core::Tokens block_size = core::Tokens(16);  ///< Tokens of an engine's block; for kLayerWise.
  std::int64_t layers = 1;                     ///< Layers of the network; for kLayerWise.
  core::Duration setup = {};                   ///< Before the first byte of a transfer ...
  core::Duration per_block = {};               ///< ... and for each of its blocks.
  /// How long after a prefill its blocks wait for a transfer to start.
  core::Duration lease = core::Duration::seconds(30);
  LoadFailure failure = LoadFailure::kFail;
};

struct DisaggregationInputs {
  std::int64_t prefill_instances = 1;                    ///< The first ones of the cluster.
  std::unique_ptr<routing::Router> prefill_router = {};  ///< Chooses among them.
  /// That policy anew, for restarts of the gateways; only where instances come, fail or go.
  std::function<std::unique_ptr<routing::Router>()> new_prefill_router = {};
  GatewayTimes times = {};
  std::uint64_t seed = 0;
  std::vector<routing::Site> sites = {};  ///< By instance, where it stands; empty: not known.
  std::unique_ptr<disaggregation::Decider> decider = {};
  disaggregation::LegOrder order = disaggregation::LegOrder::kDecodeFirst;
  disaggregation::FirstToken first_token = disaggregation::FirstToken::kDecode;
  TransferOptions transfer = {};
};

/// What the transfers of a run were, in numbers.
struct TransferTotals {
  std::int64_t disaggregated = 0;    ///< Requests that were sent to a prefill instance.
  std::int64_t count = 0;            ///< Transfers that ended.
  std::int64_t failed = 0;           ///< Loads whose KV was gone ...
  std::int64_t failed_by_crash = 0;  ///< ... with its prefill instance; the others' lease
                                     ///< had ended.
  std::int64_t recomputed = 0;       ///< Failed loads recomputed on the decode instance.
  std::int64_t decode_lost = 0;      ///< Requests lost with their decode instance.
  std::int64_t bytes = 0;            ///< Bytes of the transfers that ended.
  core::TimeSum busy;                ///< Sum of their times, first to last byte.
  core::TimeSum waited;              ///< Part of `busy` beyond what each would have taken alone.
  std::int64_t refused = 0;          ///< Requests that no prefill instance was chosen for.
  std::vector<std::int64_t> prefills = {};  ///< By prefill instance, requests sent there.
  std::int64_t answered = 0;                ///< Requests of the following sums.
  /// Sums over disaggregated requests whose KV arrived and that got their first token, in the order
  /// in which they follow each other from arrival to first token. Their sum is that of the TTFTs,
  /// exactly.
  core::TimeSum gateway;          ///< Arrival to the prefill instance's server.
  core::TimeSum prefill;          ///< To the end of the step that computed the last prompt token.
  core::TimeSum hand_over;        ///< To the decode instance's server.
  core::TimeSum decode_wait;      ///< To blocks on the decode instance.
  core::TimeSum setup;            ///< To the first byte.
  core::TimeSum transfer;         ///< To the last.
  core::TimeSum first_step;       ///< To the first token.
  double link_utilisation = 0.0;  ///< Busiest wire, over the time until its last transfer.

  friend bool operator==(const TransferTotals&, const TransferTotals&) = default;
};

/// Prefill and decode apart: sends a request's prompt to a prefill instance, its KV over the link,
/// and the answer's leg to a decode instance (docs/internals/fleet.md). The cluster's own policy
/// chooses decode instances.
class Disaggregation final : public Part {
 public:
  Disaggregation(DisaggregationInputs inputs, Fleet& fleet);

  [[nodiscard]] core::SimTime next_instant() const override;
  void act(core::SimTime now) override;
  std::optional<bool> on_dispatch(Ticket& ticket, core::SimTime now) override;
  bool on_leg_end(Ticket& ticket, domain::RequestRecord& record) override;
  void on_end(const Ticket& ticket, domain::RequestRecord& record) override;
  void on_load_start(const engine::LoadStart& load, core::SimTime at) override;
  void on_prefill_step(const engine::PrefillStep& step, core::SimTime at) override;
  [[nodiscard]] bool is_beside(core::RequestId id, core::InstanceId instance) const override {
    return beside_.contains({id, instance});
  }
  void on_stop(core::InstanceId id, core::SimTime now) override;
  [[nodiscard]] bool is_kept(core::InstanceId id) const override;
  [[nodiscard]] Gateway* gateway_of(core::InstanceId id) override;
  void on_gateway_restart(core::SimTime now) override;
  void on_link_change(std::optional<std::int64_t> host,
                      std::int64_t thousandths,
                      core::SimTime now) override;

  [[nodiscard]] TransferTotals totals() const;

 private:
  /// One attempt to serve a request on two instances.
  struct HandOver {
    core::RequestId request;
    Gateway::Counted at_prefill;
    std::optional<Gateway::Counted> at_decode = {};  ///< As counted by the cluster's gateway.
    domain::RequestRecord prefill = {};  ///< Record of the prefill leg, once it has ended.
    bool counts_prefill = true;          ///< By this part's gateway, as in flight.
    /// By the cluster's gateway, while the ticket has nothing at the decode instance.
    bool counts_decode = false;
    bool is_at_decode = false;  ///< What the ticket has is there, or on its way there.
    /// Pushed: the decode instance has blocks and waits, while the ticket has the prefill.
    bool is_beside = false;
    bool is_gone = false;       ///< The request has ended, or is tried anew.
    bool holds_blocks = false;  ///< On the prefill instance.
    /// The lease ended before the transfer started, or the prefill instance died before it ended.
    bool is_lost = false;
    bool is_lost_by_crash = false;
    bool is_decode_lost = false;  ///< The decode instance died: the lease alone frees the blocks.
    bool awaits_setup = false;    ///< The decode instance has blocks; the transfer is to start.
    bool is_transferring = false;
    link::TransferId transfer = {};
    core::SimTime lease_end = core::SimTime::never();
    core::SimTime delivered = core::SimTime::never();  ///< To the prefill instance.
    core::SimTime decode_delivered = core::SimTime::never();
    core::SimTime load_start = core::SimTime::never();
    core::SimTime transfer_start = core::SimTime::never();
    core::SimTime transfer_end = core::SimTime::never();
    core::Blocks blocks = {};
    // Bytes of those: computed, and given to the link.
    std::int64_t computed = 0;
    std::int64_t sent = 0;
    // The transfer under way, and the sums of those before it.
    core::SimTime flow_start = {};
    std::int64_t flow_bytes = 0;
    core::Duration busy = {};
    core::Duration waited = {};
  };
  using Serial = std::uint64_t;
  enum class Action : std::uint8_t {
    kDeliverPrefill,
    kHandOver,
    kDeliverDecode,
    kSendLayers,
    kStartTransfer,
    kRelease,
    kEndLease,
    kLeaveDecode,
  };
  struct Event {
    core::SimTime at;
    Serial serial;
    Action action;
    std::int64_t bytes = 0;  ///< Computed by then.

    friend bool operator>(const Event& a, const Event& b) {
      return std::tuple(a.at, a.serial, a.action) > std::tuple(b.at, b.serial, b.action);
    }
  };

  [[nodiscard]] static core::SimTime after(core::SimTime at, core::Duration duration);
  void plan(core::SimTime at, Serial serial, Action action, std::int64_t bytes = 0);
  [[nodiscard]] bool pushes() const {
    return inputs_.transfer.mode != disaggregation::TransferMode::kAfterPrefill;
  }
  [[nodiscard]] std::optional<Serial> serial_of(core::RequestId request) const;
  bool end_if_refused(Ticket& ticket, const Gateway& gateway, core::SimTime now);
  void send_whole(Ticket& ticket, const Gateway::Counted& counted, core::SimTime now);
  void perform(const Event& event);
  [[nodiscard]] bool end_setup(Serial serial, core::SimTime now);
  void deliver_prefill(Serial serial, core::SimTime now);
  void hand_over(Serial serial, core::SimTime now);
  void deliver_decode(Serial serial, core::SimTime now);
  void start_prefill(Serial serial);
  void end_prefill(Serial serial, Ticket& ticket, core::SimTime end);
  void send_layers(Serial serial, std::int64_t computed, core::SimTime now);
  void start_transfer(Serial serial, core::SimTime now);
  void send_computed(Serial serial, core::SimTime now);
  void end_transfers(core::SimTime now);
  void finish_transfer(Serial serial, core::SimTime now);
  [[nodiscard]] core::Duration block_time(const HandOver& part) const;
  [[nodiscard]] std::int64_t bytes_of(const HandOver& part, std::int64_t blocks) const;
  [[nodiscard]] std::int64_t bytes_of(const HandOver& part) const {
    return bytes_of(part, part.blocks.value());
  }
  void stop_counting(HandOver& part, core::SimTime at);
  void leave_decode(Serial serial, core::SimTime now);
  void lose_both(Serial serial, core::SimTime now);
  void end_lease(Serial serial, core::SimTime now);
  void release(Serial serial, core::SimTime now);
  void fail_load(HandOver& part, core::SimTime now);
  void count_failure(const HandOver& part);
  void lose_prefill(Serial serial, core::SimTime now);
  void lose_decode(Serial serial, core::SimTime now);
  void stop_transfer(HandOver& part, core::SimTime now);
  void let_go(Serial serial, core::SimTime at);
  void forget_if_over(Serial serial);
  void complete(const HandOver& part, const Ticket& ticket, domain::RequestRecord& record);

  DisaggregationInputs inputs_;
  Fleet& fleet_;
  Gateway prefill_gateway_;
  link::KvLink link_;
  std::map<Serial, HandOver> parts_;
  std::map<core::RequestId, Serial> serials_;  ///< The requests in two legs.
  std::map<link::TransferId, Serial> transfers_;
  std::set<std::pair<core::RequestId, core::InstanceId>> beside_;  ///< As Part::is_beside().
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  Serial num_parts_ = 0;
  core::SimTime last_end_;  ///< When a transfer last ended.
  TransferTotals totals_;
};

}  // namespace ridgeline::cluster
