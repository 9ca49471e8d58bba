#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <span>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "cluster/admission/admission.hpp"
#include "cluster/admission/flow/flow_control.hpp"
#include "cluster/admission/rate_limit.hpp"
#include "cluster/admission/saturation/detector.hpp"
#include "cluster/admission/settings.hpp"
#include "core/ids.hpp"
#include "core/time.hpp"
#include "core/units.hpp"
#include "domain/request.hpp"
#include "domain/tenants.hpp"
#include "routing/router.hpp"

namespace ridgeline::admission {

/// How admission decided, in numbers.
struct Totals {
  std::int64_t admitted = 0;  ///< Let through, at once or from a queue.
  std::array<std::int64_t, kNumReasons> rejected{};
  std::int64_t evicted = 0;  ///< Admitted requests that were cut off to make room.

  [[nodiscard]] std::int64_t count(Reason why) const {
    return rejected[static_cast<std::size_t>(why)];
  }
};

/// A gateway's admission: the rate limits of tenants, a policy, and flow control behind it.
class Control {
 public:
  using Views = std::span<const routing::InstanceView>;

  /// `settings` name entries of registry.hpp; `tenants` outlives it.
  Control(const Settings& settings, domain::Tenants& tenants, std::uint64_t seed);

  /// Which parts of the views it reads. Ends are to be noted where `own` is set.
  [[nodiscard]] const routing::Needs& needs() const { return needs_; }
  /// Whether arrive() reads what the routing policy predicts.
  [[nodiscard]] bool needs_headroom() const { return policy_->needs_headroom(); }
  /// Whether requests can wait here.
  [[nodiscard]] bool queues() const { return flow_.has_value(); }

  /// Decides on a request that arrives now. One that is to wait does so from now on: take it, or
  /// those before it, with next(). `headroom` as AdmissionInput has it.
  Decision arrive(const domain::Request& request,
                  Views instances,
                  core::SimTime now,
                  std::span<const routing::Headroom> headroom = {});
  /// The request to send now of those that wait, if there is one and the instances have room. Call
  /// it again after it was sent.
  std::optional<core::RequestId> next(Views instances, core::SimTime now);
  /// Those to cut off now, where a request of a priority from zero on is held back: at most two
  /// that were sent and have a priority below zero, the lowest first, of one the newest first. They
  /// are not named again.
  [[nodiscard]] std::vector<core::RequestId> evict(Views instances, core::SimTime now);
  /// Whether there is a request that evict() may name.
  [[nodiscard]] bool may_evict() const { return !sheddable_.empty(); }
  void note_evicted() { ++totals_.evicted; }
  /// Those that have waited too long, in order; none before next_sweep().
  [[nodiscard]] std::vector<core::RequestId> sweep(core::SimTime now);
  /// A request that was let through at once found no instance that is ready.
  void note_no_endpoint();
  /// The client of a request gave up; whether it waited here.
  bool remove(core::RequestId request);
  /// The gateway will know at `known` that a request has ended after so many tokens.
  void note_end(core::RequestId request, core::Tokens output, core::SimTime known);

  [[nodiscard]] bool empty() const { return !flow_ || flow_->empty(); }
  /// When requests are taken out next that have waited too long; never() where none waits.
  [[nodiscard]] core::SimTime next_sweep() const;
  /// The instant at which to try next() again after a change at `changed` of what saturation reads:
  /// the first tick at or after it.
  [[nodiscard]] core::SimTime tick_after(core::SimTime changed) const;
  /// When the passing of time alone changes the saturation.
  [[nodiscard]] core::SimTime next_change(Views instances, core::SimTime now) const;

  [[nodiscard]] const Totals& totals() const { return totals_; }

 private:
  struct Ended {
    core::SimTime known;
    core::RequestId request;
    core::Tokens output;

    friend bool operator>(const Ended& a, const Ended& b) {
      return std::tuple(a.known, a.request) > std::tuple(b.known, b.request);
    }
  };

  /// A request below zero that was sent from here. The first to give way is the least.
  struct Sheddable {
    std::int64_t priority = 0;
    std::int64_t newest_first = 0;  ///< Falls with every request sent.
    core::RequestId request;

    friend auto operator<=>(const Sheddable&, const Sheddable&) = default;
  };

  [[nodiscard]] Claim claim_of(const domain::Request& request, core::SimTime now);
  Decision decide(const Claim& claim,
                  Views instances,
                  core::SimTime now,
                  std::span<const routing::Headroom> headroom);
  double saturation(Views instances, core::SimTime now);
  void read_ends(core::SimTime now);

  Settings settings_;
  domain::Tenants& tenants_;
  std::uint64_t seed_;
  RateLimits limits_;
  std::unique_ptr<Admission> policy_;
  std::unique_ptr<SaturationDetector> detector_;
  std::optional<FlowControl> flow_;
  bool counts_output_ = false;
  routing::Needs needs_;
  /// Sent and not known to have ended, where output is counted. Looked up, never walked.
  std::unordered_map<core::RequestId::Rep, Claim> sent_;
  std::priority_queue<Ended, std::vector<Ended>, std::greater<>> ends_;
  std::set<Sheddable> sheddable_;  ///< Where there is eviction.
  std::int64_t newest_first_ = 0;
  Totals totals_;
};

}  // namespace ridgeline::admission
