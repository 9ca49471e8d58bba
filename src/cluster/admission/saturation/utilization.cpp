#include <algorithm>
#include <memory>
#include <span>
#include <vector>

#include "cluster/admission/saturation/detector.hpp"
#include "cluster/admission/saturation/detectors.hpp"
#include "cluster/admission/settings.hpp"
#include "core/time.hpp"
#include "routing/filters.hpp"
#include "routing/router.hpp"
#include "routing/scorers/candidate.hpp"

namespace ridgeline::admission {
namespace {

/// The instances' gauges: waiting requests and used KV blocks, each against a threshold.
class UtilizationDetector final : public SaturationDetector {
 public:
  explicit UtilizationDetector(const Settings& settings)
      : thresholds_({.queue_depth = settings.queue_depth_threshold,
                     .kv_usage = settings.kv_cache_util_threshold}),
        staleness_(settings.metrics_staleness_threshold) {}

  [[nodiscard]] routing::Needs needs() const override { return {.gauges = true}; }

  [[nodiscard]] double saturation(std::span<const routing::InstanceView> instances,
                                  core::SimTime now) override {
    candidates_.resize(instances.size());
    stale_.resize(instances.size());
    for (std::size_t i = 0; i < instances.size(); ++i) {
      candidates_[i].gauges = instances[i].gauges;
      stale_[i] = now - instances[i].gauges_as_of > staleness_;
    }
    return routing::utilization_saturation(candidates_, stale_, thresholds_);
  }

  /// The next instance whose gauges are too old.
  [[nodiscard]] core::SimTime next_change(std::span<const routing::InstanceView> instances,
                                          core::SimTime now) const override {
    core::SimTime next = core::SimTime::never();
    for (const routing::InstanceView& view : instances) {
      const auto stale =
          core::SimTime::saturating_sum(view.gauges_as_of, staleness_ + core::Duration::ticks(1));
      next = stale > now ? std::min(next, stale) : next;
    }
    return next;
  }

 private:
  routing::UtilizationThresholds thresholds_;
  core::Duration staleness_;
  std::vector<routing::Candidate> candidates_;  ///< Scratch, like the next.
  std::vector<bool> stale_;
};

}  // namespace

std::unique_ptr<SaturationDetector> make_utilization_detector(const Settings& settings) {
  return std::make_unique<UtilizationDetector>(settings);
}

}  // namespace ridgeline::admission
