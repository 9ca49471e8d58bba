#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/tenants.hpp"

namespace ridgeline::admission {

/// Where a request stands in its flow: the least goes first.
struct OrderKey {
  core::SimTime instant;       ///< A deadline; zero first come, first served.
  std::uint64_t sequence = 0;  ///< Order of arrival.

  friend auto operator<=>(const OrderKey&, const OrderKey&) = default;
};

/// A flow that has a request waiting, with the first of them.
struct FlowHead {
  domain::TenantId flow;
  double share = 1.0;  ///< The tenant's.
  OrderKey key;
  core::SimTime since;  ///< When that request came.
  core::Tokens prompt_tokens;
};

/// Chooses between the flows of one band.
class Fairness {
 public:
  Fairness() = default;
  Fairness(const Fairness&) = delete;
  Fairness& operator=(const Fairness&) = delete;
  virtual ~Fairness() = default;

  /// Whether it counts output tokens: on_output() is called then.
  [[nodiscard]] virtual bool needs_output() const { return false; }
  /// The place of the flow to serve next. The heads stand in the order of their flows; at least
  /// one.
  [[nodiscard]] virtual std::size_t choose(std::span<const FlowHead> heads, core::SimTime now) = 0;
  /// A flow without a waiting request got one. `others`: those that have one.
  virtual void on_backlogged(const FlowHead& flow, std::span<const FlowHead> others) {
    static_cast<void>(flow);
    static_cast<void>(others);
  }
  /// The head of a flow is sent.
  virtual void on_dispatch(const FlowHead& head, core::SimTime now) {
    static_cast<void>(head);
    static_cast<void>(now);
  }
  /// The gateway learns, when a request ends, how many tokens it has generated.
  virtual void on_output(domain::TenantId flow,
                         double share,
                         core::Tokens output,
                         core::SimTime now) {
    static_cast<void>(flow);
    static_cast<void>(share);
    static_cast<void>(output);
    static_cast<void>(now);
  }
};

}  // namespace ridgeline::admission
