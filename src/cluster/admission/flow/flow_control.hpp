#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cluster/admission/admission.hpp"
#include "cluster/admission/flow/fairness.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/tenants.hpp"

namespace ridgeline::admission {

/// What a request's place in its flow goes by.
enum class DispatchOrder : std::uint8_t {
  kFcfs,         ///< First come, first served.
  kEdf,          ///< The one first that expires first.
  kSloDeadline,  ///< By the tenant's target of TTFT; requests without one last.
};

struct FlowOptions {
  DispatchOrder order = DispatchOrder::kFcfs;
  std::unique_ptr<Fairness> (*fairness)() = nullptr;  ///< One per band.
  /// The saturation from which the lowest and the highest band do not send (priority_ceilings()).
  double min_ceiling = 1.0;
  double max_ceiling = 1.0;
  bool ceilings_by_value = false;
  std::int64_t band_requests = 5'000;  ///< That may wait in a band, and their bytes.
  std::int64_t band_bytes = 1'000'000'000;
};

/// Requests that wait in the gateway, as in llm-d's flow control: bands by priority, the highest
/// first; in a band one flow per tenant; in a flow an order. Each is sent, expires, or is removed,
/// once.
class FlowControl {
 public:
  explicit FlowControl(const FlowOptions& options) : options_(options) {}

  /// Nothing, or why the request cannot wait here.
  std::optional<Reason> enqueue(const Claim& claim);
  /// Takes out the next request to send; nothing where none waits or the highest band with a
  /// request is at its ceiling: no lower one may pass it. Requests that have expired stay for
  /// sweep().
  std::optional<Claim> dispatch(double saturation, core::SimTime now);
  /// The priority of the band whose requests dispatch() holds back at this saturation; nothing
  /// where it would send one, or none waits.
  [[nodiscard]] std::optional<std::int64_t> blocked_priority(double saturation,
                                                             core::SimTime now) const;
  /// Takes out those that have expired, in the order in which they did.
  [[nodiscard]] std::vector<Claim> sweep(core::SimTime now);
  /// Takes out a request; nothing where it does not wait here.
  std::optional<Claim> remove(core::RequestId request);
  /// A request that was sent from here has generated so many tokens and ended.
  void note_output(const Claim& claim, core::Tokens output, core::SimTime now);

  [[nodiscard]] bool empty() const { return waiting_.empty(); }
  [[nodiscard]] std::size_t size() const { return waiting_.size(); }
  /// When the first of those that wait expires; never() where none does.
  [[nodiscard]] core::SimTime next_expiry() const {
    return expiries_.empty() ? core::SimTime::never() : expiries_.begin()->first;
  }

 private:
  struct Waiting {
    Claim claim;
    OrderKey key;
  };
  struct Band {
    /// By tenant, its requests in their order; no empty ones.
    std::map<domain::TenantId, std::map<OrderKey, core::RequestId>> flows;
    std::unique_ptr<Fairness> fairness;
    std::int64_t requests = 0;
    std::int64_t bytes = 0;
  };
  using Bands = std::map<std::int64_t, Band, std::greater<>>;

  Band& band_of(std::int64_t priority);
  [[nodiscard]] OrderKey key_of(const Claim& claim);
  [[nodiscard]] std::vector<FlowHead> heads_of(const Band& band, core::SimTime now) const;
  [[nodiscard]] FlowHead head_of(const Waiting& waiting) const;
  std::optional<Claim> take_out(core::RequestId request);

  FlowOptions options_;
  Bands bands_;
  std::vector<double> ceilings_;                               ///< In the order of the bands.
  std::unordered_map<core::RequestId::Rep, Waiting> waiting_;  ///< Looked up, never walked.
  std::set<std::pair<core::SimTime, core::RequestId>> expiries_;
  std::uint64_t next_sequence_ = 0;
};

}  // namespace ridgeline::admission
