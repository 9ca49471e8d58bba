#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "cluster/admission/control.hpp"
#include "cluster/admission/settings.hpp"
#include "cluster/part.hpp"
#include "core/time.hpp"
#include "domain/record.hpp"
#include "domain/tenants.hpp"

namespace ridgeline::cluster {

/// A gateway's admission and flow control: requests that arrive are let through, refused, or wait
/// here until the instances have room. The queue is tried when a request comes, and at the first
/// tick after each change of what saturation reads: between such changes a tick could do nothing,
/// so that it is no event.
class AdmissionPart final : public Part {
 public:
  /// `tenants` outlives it.
  AdmissionPart(Fleet& fleet,
                const admission::Settings& settings,
                domain::Tenants& tenants,
                std::uint64_t seed);

  [[nodiscard]] core::SimTime next_instant() const override;
  void act(core::SimTime now) override;
  bool on_arrival(Ticket& ticket, core::SimTime now) override;
  void on_end(const Ticket& ticket, domain::RequestRecord& record) override;
  void on_abort(const Ticket& ticket) override;

  [[nodiscard]] const admission::Totals& totals() const { return control_.totals(); }
  [[nodiscard]] bool queues() const { return control_.queues(); }

 private:
  [[nodiscard]] core::Duration after_an_end() const;
  [[nodiscard]] bool counts_all_readings() const {
    return control_.needs().gauges && (grows_stale_ || control_.may_evict());
  }
  [[nodiscard]] core::SimTime unseen_news() const;
  [[nodiscard]] core::SimTime next_news() const;
  void send_waiting(core::SimTime now);
  void make_room(core::SimTime now);

  Fleet& fleet_;
  admission::Control control_;
  bool grows_stale_ = false;       ///< Gauges, between two readings.
  core::RequestId evicting_;       ///< The request that is cut off now.
  bool is_refusing_ = false;       ///< The request that ends now is refused here.
  core::SimTime tried_;            ///< When the queue was last tried,
  std::int64_t changes_seen_ = 0;  ///< how many changes the gateway had seen by then,
  core::SimTime reading_seen_;     ///< and when it had read gauges.
};

}  // namespace ridgeline::cluster
