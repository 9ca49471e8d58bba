#include <cstddef>
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

routing::Concurrency mode_of(const Settings& settings) {
  return settings.concurrency_mode == "requests" ? routing::Concurrency::kRequests
         : settings.concurrency_mode == "tokens" ? routing::Concurrency::kTokens
                                                 : routing::Concurrency::kHybrid;
}

/// What the gateway has in flight, by its own count, against what the instances may have.
class ConcurrencyDetector final : public SaturationDetector {
 public:
  explicit ConcurrencyDetector(const Settings& settings)
      : limits_({.mode = mode_of(settings),
                 .requests = settings.max_concurrency,
                 .tokens = settings.max_token_concurrency}) {}

  [[nodiscard]] routing::Needs needs() const override { return {.own = true}; }

  [[nodiscard]] double saturation(std::span<const routing::InstanceView> instances,
                                  core::SimTime /*now*/) override {
    candidates_.resize(instances.size());
    for (std::size_t i = 0; i < instances.size(); ++i) {
      candidates_[i].inflight_requests = instances[i].own.requests;
      candidates_[i].inflight_tokens = instances[i].own.tokens;
    }
    return routing::concurrency_saturation(candidates_, limits_);
  }

 private:
  routing::ConcurrencyLimits limits_;
  std::vector<routing::Candidate> candidates_;  ///< Scratch.
};

}  // namespace

std::unique_ptr<SaturationDetector> make_concurrency_detector(const Settings& settings) {
  return std::make_unique<ConcurrencyDetector>(settings);
}

}  // namespace ridgeline::admission
